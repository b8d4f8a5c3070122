/** How many cells of a terminal a text takes: graphemes, wide characters, emoji, and none for styles. */

const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
// eslint-disable-next-line no-control-regex -- styles as base/paint.ts writes them
const STYLE = /\u001b\[[\d;]*m/g;
const ZERO = /^[\p{Mark}\p{Default_Ignorable_Code_Point}\p{Cc}]+$/u;
const EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\u{FE0F}/u;
/** East Asian Wide and Fullwidth, by block. */
const WIDE =
  /^[\u{1100}-\u{115F}\u{2E80}-\u{303E}\u{3041}-\u{33FF}\u{3400}-\u{4DBF}\u{4E00}-\u{9FFF}\u{A000}-\u{A4CF}\u{A960}-\u{A97F}\u{AC00}-\u{D7A3}\u{F900}-\u{FAFF}\u{FE30}-\u{FE6F}\u{FF00}-\u{FF60}\u{FFE0}-\u{FFE6}\u{1F200}-\u{1F2FF}\u{20000}-\u{3FFFD}]/u;
// eslint-disable-next-line no-control-regex -- printable ASCII needs no segmenter
const PLAIN = /^[\u0020-\u007E]*$/;

export const graphemes = (text: string): string[] =>
  PLAIN.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);

/** Cells of one grapheme. */
export function cellsOf(grapheme: string): number {
  if (grapheme.length === 1 && grapheme >= ' ' && grapheme <= '~') return 1;
  if (ZERO.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

/** Cells of a text; styles in it take none. */
export function textWidth(text: string): number {
  const bare = text.replaceAll(STYLE, '');
  return PLAIN.test(bare) ? bare.length : graphemes(bare).reduce((sum, grapheme) => sum + cellsOf(grapheme), 0);
}

/** At most so many cells; the cut is shown, styles are kept and closed. */
export function cutToCells(text: string, cells: number): string {
  if (textWidth(text) <= cells) return text;
  let left = cells - 1;
  let cut = '';
  for (const part of text.split(/(\u001b\[[\d;]*m)/)) {
    if (part.startsWith('\u001b[')) {
      cut += part;
      continue;
    }
    for (const grapheme of graphemes(part)) {
      left -= cellsOf(grapheme);
      if (left < 0) return `${cut}…${cut.includes('\u001b[') ? '\u001b[0m' : ''}`;
      cut += grapheme;
    }
  }
  return cut;
}

/** Rows of at most so many cells, broken anywhere; the text has no styles and no line breaks. */
export function hardWrap(text: string, cells: number): string[] {
  const rows = [''];
  let used = 0;
  for (const grapheme of graphemes(text)) {
    const width = cellsOf(grapheme);
    if (used + width > cells) {
      rows.push('');
      used = 0;
    }
    rows[rows.length - 1] += grapheme;
    used += width;
  }
  return rows;
}
