/** Text of strangers (names of files, messages that quote them) for a terminal or a log: what would steer it is spelled out. */

/** Control characters of both sets, what turns the direction of writing, and line breaks of Unicode. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `\n`, `\x1b`, `\u202e` stand for what they name; everything else is as it was. One line always. */
export const visibleText = (text: string): string => text.toWellFormed().replaceAll(STEERING, spelled);

/** The same for a text of several lines: line breaks and tabs stay. */
export const visibleLines = (text: string): string =>
  text.toWellFormed().replaceAll(STEERING, (sign) => (sign === '\n' || sign === '\t' ? sign : spelled(sign)));

// eslint-disable-next-line no-control-regex -- the sequences that switch colours
const COLOURS = /\u001b\[[\d;]*m/g;

/** A line that a program printed: its colours are taken off, the rest as `visibleText`, but tabs stay. */
export const printedLine = (text: string): string => visibleLines(text.replaceAll(COLOURS, '')).replaceAll('\n', '\\n');

function spelled(sign: string): string {
  const code = sign.codePointAt(0)!;
  return SHORT[sign] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`);
}
