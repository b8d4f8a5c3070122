/** The text that is being written, and where: moves by graphemes, words and lines, with undo. Knows no terminal. */
import { graphemes } from '../width.ts';

interface State {
  text: string;
  cursor: number;
}

const UNDO_MAX = 100;

export class Editor {
  text = '';
  /** UTF-16 offset, always between two graphemes. */
  cursor = 0;
  /** What was cut last, for yank and put. */
  cut = '';
  #undo: State[] = [];

  set(text: string, cursor = text.length): void {
    this.text = text;
    this.cursor = cursor;
  }

  /** Remembers how it is now, before a change. */
  mark(): void {
    if (this.#undo.at(-1)?.text === this.text) return;
    this.#undo.push({ text: this.text, cursor: this.cursor });
    if (this.#undo.length > UNDO_MAX) this.#undo.shift();
  }

  undo(): void {
    for (let state = this.#undo.pop(); state; state = this.#undo.pop()) {
      if (state.text === this.text) continue;
      return this.set(state.text, state.cursor);
    }
  }

  forget(): void {
    this.#undo = [];
  }

  insert(text: string): void {
    this.mark();
    this.text = this.text.slice(0, this.cursor) + text + this.text.slice(this.cursor);
    this.cursor += text.length;
  }

  /** Cuts a range out; the cursor stands at its start. */
  remove(from: number, to: number, { keep = false }: { keep?: boolean } = {}): void {
    if (from >= to) return;
    this.mark();
    if (keep) this.cut = this.text.slice(from, to);
    this.text = this.text.slice(0, from) + this.text.slice(to);
    this.cursor = from;
  }

  // --- places ---

  left(): number {
    return this.cursor - (graphemes(this.text.slice(0, this.cursor)).at(-1)?.length ?? 0);
  }

  right(): number {
    return this.cursor + (graphemes(this.text.slice(this.cursor))[0]?.length ?? 0);
  }

  lineStart(at = this.cursor): number {
    return this.text.lastIndexOf('\n', at - 1) + 1;
  }

  lineEnd(at = this.cursor): number {
    const end = this.text.indexOf('\n', at);
    return end < 0 ? this.text.length : end;
  }

  wordLeft(): number {
    const before = this.text.slice(0, this.cursor);
    return before.length - /(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?\s*$/u.exec(before)![0].length;
  }

  /** Start of the next word. */
  wordRight(): number {
    return this.cursor + /^(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?\s*/u.exec(this.text.slice(this.cursor))![0].length;
  }

  /** Behind the end of this or the next word. */
  wordEnd(): number {
    return this.cursor + /^\s*(?:[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s]+)?/u.exec(this.text.slice(this.cursor))![0].length;
  }

  /** The same column a line up (-1) or down (1); undefined at the edge. */
  vertical(direction: -1 | 1): number | undefined {
    const start = this.lineStart();
    const column = this.cursor - start;
    if (direction < 0) {
      if (start === 0) return undefined;
      const above = this.lineStart(start - 1);
      return Math.min(above + column, start - 1);
    }
    const end = this.lineEnd();
    if (end === this.text.length) return undefined;
    return Math.min(end + 1 + column, this.lineEnd(end + 1));
  }
}
