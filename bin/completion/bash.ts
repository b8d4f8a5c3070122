/** The completion script of bash: static, no call of the program while typing but for ids of sessions. */
import type { Place, Values } from './words.ts';

export function bashScript(places: readonly Place[]): string {
  const nodes = places.filter(({ path }) => path).map(({ path }) => `" ${path}"`);
  return `# bash completion of agent. Load it with: source <(agent completion bash)
_agent() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} path= word i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    case $word in
      -p | --profile) ((i++)); continue ;;
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

function reply({ words, files, printed }: Values): string {
  if (words.length === 0 && !files) return 'COMPREPLY=()';
  if (printed) return `COMPREPLY=($(compgen -W "${words.join(' ')} $(${printed})" -- "$cur"))`;
  const file = files ? 'compgen -f -- "$cur"; ' : '';
  return `COMPREPLY=($(${file}compgen -W '${words.join(' ')}' -- "$cur"))`;
}
