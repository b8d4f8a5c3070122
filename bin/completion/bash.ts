/** The completion script of bash: static, no call of the program while typing but for ids of sessions. */
import type { Place, Values } from './words.ts';

export function bashScript(places: readonly Place[]): string {
  const nodes = places.filter(({ path }) => path).map(({ path }) => `" ${path}"`);
  return `# bash completion of agent. Load it with: source <(agent completion bash)
${PLACES}
_agent() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= word i
  local -a named=()
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      -p | --profile) ((i + 1 < COMP_CWORD)) && named=(-p "\${COMP_WORDS[++i]}"); continue ;;
      -*) continue ;;
    esac
    case "$path $word" in
      ${nodes.join(' | ')}) path="$path $word" ;;
    esac
  done
  case "$path $prev" in
${places.flatMap(optionCases).join('\n')}
  esac
  case $path in
${places.map(placeCase).join('\n')}
  esac
}
complete -F _agent agent`;
}

/** Names of strangers: quoted for the shell, never expanded by it. */
const PLACES = `_agent_places() {
  local typed=\${cur//\\\\/} dir= all= line quoted
  [[ $typed == */* ]] && dir=\${typed%/*}/
  [[ \${typed##*/} == .* ]] && all=--all
  while IFS= read -r line; do
    printf -v quoted %q "$line"
    [[ $line == "$typed"* || $quoted == "$cur"* ]] && COMPREPLY+=("$quoted")
  done < <(agent files ls --names $all -- "$dir" 2>/dev/null)
  if [[ \${#COMPREPLY[@]} -eq 1 && \${COMPREPLY[0]} == */ ]]; then compopt -o nospace 2>/dev/null; fi
}`;

function optionCases({ path, optionValues }: Place): string[] {
  return optionValues.map(
    ({ options, values }) => `    ${options.map((option) => `"${path && ` ${path}`} ${option}"`).join(' | ')}) ${reply(values)}; return ;;`,
  );
}

function placeCase({ path, commands, options, argument }: Place): string {
  const dashes = options.map(({ word }) => word).join(' ');
  const plain: Values = { ...argument, words: [...commands.map(({ word }) => word), ...argument.words] };
  return `    "${path && ` ${path}`}") if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W '${dashes}' -- "$cur")); else ${reply(plain)}; fi ;;`;
}

function reply({ placed, ...values }: Values): string {
  return placed ? `${plainReply(values)}; _agent_places` : plainReply(values);
}

function plainReply({ words, files, printed }: Values): string {
  if (words.length === 0 && !files && !printed) return 'COMPREPLY=()';
  if (printed) return `COMPREPLY=($(compgen -W "${words.join(' ')} $(${printed})" -- "$cur"))`;
  const file = files ? 'compgen -f -- "$cur"; ' : '';
  return `COMPREPLY=($(${file}compgen -W '${words.join(' ')}' -- "$cur"))`;
}
