/**
 * Text of strangers (names of files, messages that quote them) for a terminal, a log or the page: what would steer it is
 * spelled out. Imports nothing of Node: the page bundles it.
 */

/** Control characters of both sets, what turns the direction of writing, and line breaks of Unicode. */
const STEERING = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;
// eslint-disable-next-line no-control-regex -- the one sequence that is ours
const BEYOND_STYLES = /\u001b(?!\[[\d;]{0,20}m)|[\p{Cc}--[\n\t\u001b]]|[\u202a-\u202e\u2066-\u2069]/gv;
// eslint-disable-next-line no-control-regex -- the sequences that switch colours
const COLOURS = /\u001b\[[\d;]*m/g;
const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** `\n`, `\x1b`, `\u202e` stand for what they name; everything else is as it was. One line always. */
export const visibleText = (text: string): string => text.toWellFormed().replaceAll(STEERING, spelled);

/** The same for a text of several lines: line breaks and tabs stay. */
export const visibleLines = (text: string): string =>
  text.toWellFormed().replaceAll(STEERING, (sign) => (sign === '\n' || sign === '\t' ? sign : spelled(sign)));

/**
 * For the last step before a terminal, where styles of ours (base/paint.ts) and words of strangers are mixed: colours and
 * line breaks stay, everything else that steers a terminal (its title, its clipboard, the cursor) is spelled out.
 * The direction marks of Arabic and Hebrew text stay; what reorders other text is spelled out.
 */
export const steadyText = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(BEYOND_STYLES, spelled);

/** JSON that means the same and steers nothing. */
export const visibleJson = (json: string): string =>
  json.replaceAll(STEERING, (sign) => (sign === '\n' ? sign : `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`));

/** A line that a program printed: its colours are taken off, the rest as `visibleText`, but tabs stay. */
export const printedLine = (text: string): string => visibleLines(text.replaceAll(COLOURS, '')).replaceAll('\n', '\\n');

/** One sign by its number. */
export function spelled(sign: string): string {
  const code = sign.codePointAt(0)!;
  return SHORT[sign] ?? (code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`);
}
