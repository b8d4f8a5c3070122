/** A readable title from the first prompt of a session. */
import { limits } from '../base/limits.ts';

const MARKUP = /^[#>\-\s]+|\*\*|`+/g;

/** One line of at most about `titleMaxChars`, cut between words; undefined when nothing readable is left. */
export function titleOf(prompt: string): string | undefined {
  const line = prompt
    .split('\n')
    .map((text) => text.replaceAll(MARKUP, '').replaceAll(/\s+/g, ' ').trim())
    .find(Boolean);
  if (!line) return undefined;
  const max = limits.turn.titleMaxChars;
  if (line.length <= max) return line;
  const cut = line.slice(0, max);
  const space = cut.lastIndexOf(' ');
  return `${cut.slice(0, space > max / 2 ? space : max).trimEnd()}…`;
}
