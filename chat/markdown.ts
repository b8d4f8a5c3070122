/**
 * Markdown as it streams, lightly: headings, bold, inline code and code blocks get a style; everything
 * else stays as the model wrote it. Works on any cut of the text; without colour the text is untouched.
 */
import { styleCodes, type Style } from '../base/paint.ts';

export interface MarkdownStream {
  /** The next piece, styled as far as it is decided. */
  push(text: string): string;
  /** What was still undecided, and every open style closed. */
  end(): string;
}

const FENCE = '```';
/** What may still become a heading or a fence. */
const UNDECIDED = /^(?:#{1,6}|`{1,2}|)$/;
const HEADING = /^#{1,6} $/;

export function markdownStream(colour: boolean): MarkdownStream {
  if (!colour) return { push: (text) => text, end: () => '' };
  /** Characters since the start of the line while its kind is undecided; undefined in the middle of a line. */
  let head: string | undefined = '';
  let star = false;
  const open: Style[] = [];
  let block = false;
  let fenceLine = false;
  let heading = false;

  const begin = (style: Style) => (open.push(style), styleCodes(style).on);
  const close = (style: Style) => {
    open.splice(open.lastIndexOf(style), 1);
    return styleCodes(style).off + open.map((other) => styleCodes(other).on).join('');
  };
  const toggle = (style: Style) => (open.includes(style) ? close(style) : begin(style));
  const closeAll = () =>
    open
      .splice(0)
      .toReversed()
      .map((style) => styleCodes(style).off)
      .join('');

  const inline = (char: string): string => {
    if (char === '*' && !open.includes('cyan')) {
      star = !star;
      return star ? '' : toggle('bold');
    }
    const held = star ? '*' : '';
    star = false;
    return held + (char === '`' ? toggle('cyan') : char);
  };

  const newline = (): string => {
    const held = star ? '*' : '';
    star = false;
    head = '';
    if (fenceLine) {
      fenceLine = false;
      block = !block;
      return `\n${block ? begin('cyan') : ''}`;
    }
    if (block) return '\n';
    heading = false;
    // An unclosed mark must not colour the rest of the answer.
    return `${held}${closeAll()}\n`;
  };

  const decide = (text: string): string => {
    if (text === FENCE) {
      fenceLine = true;
      head = undefined;
      return (block ? close('cyan') : '') + styleCodes('dim').on + FENCE + styleCodes('dim').off;
    }
    if (!block && HEADING.test(text)) {
      heading = true;
      head = undefined;
      return begin('bold');
    }
    if (UNDECIDED.test(text)) return '';
    head = undefined;
    return block ? text : [...text].map(inline).join('');
  };

  const feed = (char: string): string => {
    if (char === '\n') {
      const rest = head ? (block ? head : [...head].map(inline).join('')) : '';
      return rest + newline();
    }
    if (head !== undefined) return decide((head += char));
    if (block || fenceLine || heading) return char;
    return inline(char);
  };

  return {
    push: (text) => [...text].map(feed).join(''),
    end() {
      const rest = (head ?? '') + (star ? '*' : '');
      head = '';
      star = block = fenceLine = heading = false;
      return rest + closeAll();
    },
  };
}
