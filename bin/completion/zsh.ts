/** The completion script of zsh, with summaries: static, no call of the program while typing but for ids of sessions. */
import type { Candidate, Place, Values } from './words.ts';

export function zshScript(places: readonly Place[]): string {
  const nodes = places.filter(({ path }) => path).map(({ path }) => `" ${path}"`);
  return `#compdef agent
# zsh completion of agent. Load it with: source <(agent completion zsh), or save it as _agent in a folder of $fpath.
${PLACES}
_agent() {
  local cur=\${words[CURRENT]} prev=\${words[CURRENT-1]} at= word i
  local -a candidates named
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    case $word in
      (-p|--profile) ((i + 1 < CURRENT)) && named=(-p "\${words[++i]}"); continue ;;
      (-*) continue ;;
    esac
    case "$at $word" in
      (${nodes.join('|')}) at="$at $word" ;;
    esac
  done
  case "$at $prev" in
${places.flatMap(optionCases).join('\n')}
  esac
  case $at in
${places.map(placeCase).join('\n')}
  esac
}
if [[ \${funcstack[1]} == _agent ]]; then _agent "$@"; elif (( $+functions[compdef] )); then compdef _agent agent; fi`;
}

/** Names of strangers: quoted by the shell, never expanded. A folder is gone into without a space. */
const PLACES = `_agent_places() {
  local typed=\${(Q)cur} dir= line
  local -a all found
  [[ $typed == */* ]] && dir=\${typed%/*}/
  [[ \${typed##*/} == .* ]] && all=(--all)
  found=(\${(f)"$(agent files ls --names $all -- "$dir" 2>/dev/null)"})
  compadd -S '' -- \${(M)found:#*/}
  compadd -- \${found:#*/}
}`;

function optionCases({ path, optionValues }: Place): string[] {
  return optionValues.map(
    ({ options, values }) => `    (${options.map((option) => `"${path && ` ${path}`} ${option}"`).join('|')}) ${offer(values)}; return ;;`,
  );
}

function placeCase({ path, commands, options, argument }: Place): string {
  const plain = [
    ...(commands.length ? [describe('command', commands)] : []),
    ...(commands.length && !argument.placed ? [] : [offer(argument)]),
  ].join('; ');
  return `    ("${path && ` ${path}`}") if [[ $cur == -* ]]; then ${describe('option', options)}; else ${plain}; fi ;;`;
}

const describe = (what: string, list: readonly Candidate[]): string =>
  `candidates=(${list.map(({ word, summary }) => `'${quoted(`${word}:${summary}`)}'`).join(' ')}); _describe '${what}' candidates`;

function offer({ words, files, placed, printed }: Values): string {
  const parts = [
    ...(words.length ? [`compadd -- ${words.join(' ')}`] : []),
    ...(printed ? [`compadd -- \${(f)"$(${printed})"}`] : []),
    ...(files ? ['_files'] : []),
    ...(placed ? ['_agent_places'] : []),
  ];
  return parts.length ? parts.join('; ') : ':';
}

const quoted = (text: string): string => text.replaceAll("'", `'\\''`);
