/**
 * Replacing a piece of text: exactly, else by lines whose white space differs, and then it says so. A
 * miss names the place that comes nearest, so that the next try can be right.
 */
import { AgentError } from '../../base/errors.ts';

export interface Replaced {
  text: string;
  count: number;
  /** How it matched, when not letter by letter. */
  note: string | null;
}

/** Errors: NOT_FOUND (no match; the message shows the nearest lines), BAD_REQUEST (several matches). */
export function replaceText(text: string, wanted: { old: string; new: string; all: boolean }): Replaced {
  const { old, replacement, note } = inLineEndsOf(text, wanted);
  const count = occurrences(text, old);
  if (count === 1 || (count > 1 && wanted.all)) return { text: text.split(old).join(replacement), count, note };
  if (count > 1) {
    throw new AgentError('BAD_REQUEST', `old_string occurs ${count} times (lines ${linesOf(text, old).join(', ')})`, {
      fix: 'take in more lines around it so that it is unique, or set replace_all',
    });
  }
  return looselyReplaced(text, old, replacement) ?? miss(text, old);
}

/** A file with Windows line ends is edited in them. */
function inLineEndsOf(text: string, wanted: { old: string; new: string }): { old: string; replacement: string; note: string | null } {
  const hasLine = (part: string) => part.includes('\n') && !part.includes('\r\n');
  // One line that becomes several takes on the line ends of the file, where it has but one kind.
  const grows = !wanted.old.includes('\n') && hasLine(wanted.new) && !/(?<!\r)\n/.test(text);
  if (!text.includes('\r\n') || !(hasLine(wanted.old) || grows)) return { old: wanted.old, replacement: wanted.new, note: null };
  const converted = (part: string) => part.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n');
  return { old: converted(wanted.old), replacement: converted(wanted.new), note: 'the file has Windows line ends; they are kept' };
}

function occurrences(text: string, part: string): number {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) count++;
  return count;
}

const LINES_SHOWN = 8;

function linesOf(text: string, part: string): string[] {
  const lines: string[] = [];
  for (let at = text.indexOf(part); at !== -1 && lines.length <= LINES_SHOWN; at = text.indexOf(part, at + part.length)) {
    lines.push(String(text.slice(0, at).split('\n').length));
  }
  return lines.length > LINES_SHOWN ? [...lines.slice(0, LINES_SHOWN), '…'] : lines;
}

// --- white space that differs ---

const squeezed = (line: string): string => line.trim().replace(/\s+/g, ' ');
const indentOf = (line: string): string => /^[ \t]*/.exec(line)![0];

/** Whole lines that are the same but for their white space, at exactly one place; the new lines take on its indentation. */
function looselyReplaced(text: string, old: string, replacement: string): Replaced | undefined {
  const lines = text.split('\n');
  const wanted = old.replace(/^\n+|\n+$/g, '').split('\n');
  if (wanted.every((line) => squeezed(line) === '')) return undefined;
  const keys = wanted.map(squeezed);
  const starts = lines.flatMap((_, at) => (keys.every((key, offset) => squeezed(lines[at + offset] ?? '\0') === key) ? [at] : []));
  if (starts.length !== 1) return undefined;
  const at = starts[0]!;
  const first = keys.findIndex((key) => key !== '');
  const there = indentOf(lines[at + first]!);
  const given = indentOf(wanted[first]!);
  const carriage = lines[at]!.endsWith('\r') ? '\r' : '';
  const fresh = replacement
    .replace(/^\n+|\n+$/g, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))
    .map((line) => (line.startsWith(given) && line.trim() ? there + line.slice(given.length) : line) + carriage);
  const removed = replacement === '' ? [] : fresh;
  return {
    text: [...lines.slice(0, at), ...removed, ...lines.slice(at + wanted.length)].join('\n'),
    count: 1,
    note: `white space of old_string differed from line ${at + 1}; matched without regard to it`,
  };
}

// --- a helpful miss ---

/** Longer files are not searched for something similar. */
const SIMILAR_LINES_MAX = 20_000;

function miss(text: string, old: string): never {
  const near = nearest(text, old);
  throw new AgentError('NOT_FOUND', `old_string is not in the file${near ? `. Nearest, from line ${near.line}:\n${near.shown}` : ''}`, {
    fix: near ? 'copy the text exactly as it stands there' : 'read the file again: it may have changed',
  });
}

/** The place where most of the wanted lines stand as they do in the piece of text. */
function nearest(text: string, old: string): { line: number; shown: string } | undefined {
  const lines = text.split('\n');
  const wanted = old.trim().split('\n').map(squeezed);
  if (lines.length > SIMILAR_LINES_MAX || wanted[0] === '') return undefined;
  // A bracket alone stands everywhere.
  const offsets = new Map(wanted.map((line, offset) => [line, offset] as const).filter(([line]) => line.length > 2));
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    const offset = offsets.get(squeezed(line));
    if (offset !== undefined && index >= offset) votes.set(index - offset, (votes.get(index - offset) ?? 0) + 1);
  }
  const best = [...votes].reduce<[number, number] | undefined>((most, vote) => (most && most[1] >= vote[1] ? most : vote), undefined);
  const at = best?.[0] ?? similarLine(lines, wanted[0]!);
  if (at === undefined) return undefined;
  const shown = lines.slice(at, at + Math.min(wanted.length + 1, 12)).map((line) => line.slice(0, 200));
  return { line: at + 1, shown: shown.join('\n') };
}

/** The line with most words in common, when it is at least half of them. */
function similarLine(lines: string[], wanted: string): number | undefined {
  const words = new Set(wanted.match(/\w+/g) ?? []);
  if (words.size < 2) return undefined;
  let best = { at: -1, share: 0.5 };
  for (const [at, line] of lines.entries()) {
    const found = new Set(line.match(/\w+/g) ?? []);
    const share = [...words].filter((word) => found.has(word)).length / Math.max(words.size, found.size);
    if (share > best.share) best = { at, share };
  }
  return best.at >= 0 ? best.at : undefined;
}
