/**
 * Styled text that flows into rows of a terminal: wrapped at words, every finished row closed with the
 * styles that are open in it and the next one opened with them. Works on any cut of the text.
 */
import { cellsOf, graphemes, textWidth } from '../width.ts';

const RESET = '\u001b[0m';
/** Codes of base/paint.ts: what switches off which. */
const offOf: Record<string, string[]> = { '22': ['1', '2'], '23': ['3'], '39': ['31', '32', '33', '34', '35', '36'], '0': [] };

export class Flow {
  #row = '';
  #cells = 0;
  /** Where the row may be broken: after its last space, with the styles open there. */
  #space: { at: number; open: string[] } | undefined;
  #open: string[] = [];
  #escape = '';

  /** Adds text; answers the rows that are complete now. */
  push(text: string, columns: number): string[] {
    const done: string[] = [];
    for (const part of (this.#escape + text).split(/(\u001b\[[\d;]*m|\n)/)) {
      if (part === '\n') done.push(this.#take(this.#row.length));
      else if (part.startsWith('\u001b[')) this.#style(part);
      else this.#text(part, columns, done);
    }
    return done;
  }

  /** The row that has begun; empty at the start of a line. */
  get row(): string {
    return this.#row === '' ? '' : this.#closed(this.#row, this.#open);
  }

  get atLineStart(): boolean {
    return this.#cells === 0 && textWidth(this.#row) === 0;
  }

  #style(code: string): void {
    this.#row += code;
    const number = code.slice(2, -1) || '0';
    const off = offOf[number];
    if (number === '0') this.#open = [];
    else if (off) this.#open = this.#open.filter((open) => !off.includes(open));
    else this.#open = [...this.#open.filter((open) => open !== number), number];
  }

  #text(text: string, columns: number, done: string[]): void {
    for (const grapheme of graphemes(text)) {
      const shown = grapheme === '\t' ? '    ' : grapheme === '\r' ? '' : grapheme;
      const width = shown === '    ' ? 4 : cellsOf(shown);
      // A space that does not fit ends the row.
      if (shown === ' ' && this.#cells + width > columns) {
        done.push(this.#take(this.#row.length));
        continue;
      }
      // Twice where a long word came with the cut at its space: what is left of it may fill the next row already.
      while (this.#cells + width > columns) done.push(this.#take(this.#space && this.#space.at > 0 ? this.#space.at : this.#row.length));
      this.#row += shown;
      this.#cells += width;
      if (shown === ' ') this.#space = { at: this.#row.length, open: [...this.#open] };
    }
  }

  /** Cuts the row there; the rest begins the next one. */
  #take(at: number): string {
    const open = at === this.#row.length ? this.#open : (this.#space?.open ?? this.#open);
    const row = this.#closed(this.#row.slice(0, at).replace(/ +$/, ''), open);
    const rest = this.#row.slice(at);
    this.#row = open.map((code) => `\u001b[${code}m`).join('') + rest;
    this.#cells = textWidth(rest);
    this.#space = undefined;
    return row;
  }

  #closed = (row: string, open: readonly string[]): string => (open.length ? row + RESET : row);
}
