/**
 * Cutting a long text into messages a platform takes: at paragraphs, else lines, else words, else
 * anywhere between two characters; a code fence that is open at a cut is closed and opened again.
 */

export interface SplitLimit {
  max: number;
  /** Size of a text in the platform's unit; default UTF-16 units. */
  size?: (text: string) => number;
}

export const utf8Bytes = (text: string): number => Buffer.byteLength(text);

const FENCE_END = '\n```';

/** Parts that are each at most `max`, in order; whitespace at a cut is dropped. Empty text gives no part. */
export function splitMessage(text: string, { max, size = (part) => part.length }: SplitLimit): string[] {
  const parts: string[] = [];
  let rest = text.trimEnd();
  let fence = '';
  while (rest !== '') {
    const opening = fence === '' || size(fence) > max / 4 ? '' : `${fence}\n`;
    if (size(opening + rest) <= max) {
      parts.push(opening + rest);
      break;
    }
    const room = max - size(opening);
    let cut = cutAt(rest, room, size);
    // An open fence has to be closed in the same part; a limit too small for that goes without.
    const closes = openFence(opening + rest.slice(0, cut)) !== '' && room > 2 * FENCE_END.length;
    if (closes) cut = cutAt(rest, room - FENCE_END.length, size);
    const piece = rest.slice(0, cut).trimEnd();
    fence = openFence(opening + piece);
    parts.push(opening + piece + (fence !== '' && closes ? FENCE_END : ''));
    rest = rest.slice(cut).replace(/^(?: *\n)+| +(?=\S)/, '');
  }
  return parts.filter((part) => part.trim() !== '');
}

/** The line that opened the fence which is still open at the end of `text`; empty = none. */
function openFence(text: string): string {
  let open = '';
  for (const line of text.split('\n')) {
    if (!line.trimStart().startsWith('```')) continue;
    open = open === '' ? line.trim() : '';
  }
  return open;
}

/** Where to cut so that the beginning fits: after a paragraph, a line, a word, at least one character. */
function cutAt(text: string, max: number, size: (text: string) => number): number {
  const fits = longestFitting(text, max, size);
  const head = text.slice(0, fits);
  for (const [mark, least] of [
    ['\n\n', 0.3],
    ['\n', 0.3],
    [' ', 0.1],
  ] as const) {
    // The text may break exactly where the room ends.
    if (text.startsWith(mark, fits)) return fits;
    const at = head.lastIndexOf(mark);
    if (at > fits * least) return at;
  }
  return fits;
}

/** Length of the longest beginning that fits and ends between two characters a person sees. */
function longestFitting(text: string, max: number, size: (text: string) => number): number {
  let [low, high] = [0, Math.min(text.length, max)];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (size(text.slice(0, middle)) <= max) low = middle;
    else high = middle - 1;
  }
  const from = Math.max(0, low - GRAPHEME_MAX);
  const near = text.slice(from, low + GRAPHEME_MAX);
  let end = 0;
  for (const { index } of new Intl.Segmenter(undefined, { granularity: 'grapheme' }).segment(near)) {
    if (from + index > low) break;
    end = from + index;
  }
  if (end > 0) return end;
  // One character is larger than the room: cut it between code points, at least one of them.
  const whole = low > 0 && /[\uD800-\uDBFF]/.test(text[low - 1]!) ? low - 1 : low;
  return Math.max(whole, String.fromCodePoint(text.codePointAt(0)!).length);
}

/** UTF-16 units looked at round a cut: the longest emoji sequences have about 30. */
const GRAPHEME_MAX = 64;
