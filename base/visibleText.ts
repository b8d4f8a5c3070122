/** Text of strangers (names of files, messages that quote them) for a terminal or a log: what would steer it is spelled out. */
import { stripVTControlCharacters } from 'node:util';

/** Control characters of both sets, what turns the direction of writing, and line breaks of Unicode. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const CONTROL = /[\p{Cc}--[\n\t]]/v;
const CONTROLS = /[\p{Cc}--[\n\t]]/gv;
// eslint-disable-next-line no-control-regex -- the one sequence that is ours
const BEYOND_STYLES = /\u001b(?!\[[\d;]{0,20}m)|[\p{Cc}--[\n\t\u001b]]/gv;
// eslint-disable-next-line no-control-regex -- the sequences that switch colours
const COLOURS = /\u001b\[[\d;]*m/g;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `\n`, `\x1b`, `\u202e` stand for what they name; everything else is as it was. One line always. */
export const visibleText = (text: string): string => text.toWellFormed().replaceAll(STEERING, spelled);

/** The same for a text of several lines: line breaks and tabs stay. */
export const visibleLines = (text: string): string =>
  text.toWellFormed().replaceAll(STEERING, (sign) => (sign === '\n' || sign === '\t' ? sign : spelled(sign)));

/**
 * What a model or a program said: its escape sequences and carriage returns are left out, other control characters
 * spelled out. Marks for the direction of writing stay: Arabic and Hebrew need them.
 */
export const spokenLines = (text: string): string =>
  CONTROL.test(text)
    ? stripVTControlCharacters(text)
        .replaceAll(/\r(?=\n|$)/g, '')
        .replaceAll(CONTROLS, spelled)
    : text;

/**
 * For the last step before a terminal, where styles of ours (base/paint.ts) and words of strangers are mixed: colours and
 * line breaks stay, everything else that steers a terminal (its title, its clipboard, the cursor) is spelled out.
 * Directions of writing stay: answers have them.
 */
export const steadyText = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(BEYOND_STYLES, spelled);

/** A line that a program printed: its colours are taken off, the rest as `visibleText`, but tabs stay. */
export const printedLine = (text: string): string => visibleLines(text.replaceAll(COLOURS, '')).replaceAll('\n', '\\n');

function spelled(sign: string): string {
  const code = sign.codePointAt(0)!;
  return SHORT[sign] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`);
}
