/**
 * Thoughts that a server without a parser of its own leaves in the text: `<think>…</think>` at the beginning of an answer.
 * The same words further on are text, as the model wrote them.
 */
const OPEN = '<think>';
const CLOSE = '</think>';

export class ThinkTags {
  readonly #say: (kind: 'text' | 'reasoning', text: string) => void;
  #place: 'start' | 'thoughts' | 'gap' | 'text' = 'start';
  /** Could be the beginning of a tag. */
  #held = '';

  constructor(say: (kind: 'text' | 'reasoning', text: string) => void) {
    this.#say = say;
  }

  push(piece: string): void {
    if (this.#place === 'text') return this.#say('text', piece);
    const text = this.#held + piece;
    this.#held = '';
    if (this.#place === 'thoughts') return this.#readThoughts(text);
    if (this.#place === 'gap') return this.#readGap(text);
    const begun = text.trimStart();
    if (begun.startsWith(OPEN)) {
      this.#place = 'thoughts';
      this.#readThoughts(begun.slice(OPEN.length));
    } else if (OPEN.startsWith(begun)) this.#held = text;
    else this.#readText(text);
  }

  /** Nothing else follows: what was held is no tag. */
  end(): void {
    const text = this.#held;
    this.#held = '';
    if (!text) return;
    if (this.#place === 'thoughts') this.#say('reasoning', text);
    else this.#readText(text);
  }

  #readThoughts(text: string): void {
    const at = text.indexOf(CLOSE);
    if (at >= 0) {
      if (at > 0) this.#say('reasoning', text.slice(0, at));
      this.#place = 'gap';
      return this.#readGap(text.slice(at + CLOSE.length));
    }
    const held = partialLength(text);
    this.#held = text.slice(text.length - held);
    if (text.length > held) this.#say('reasoning', text.slice(0, text.length - held));
  }

  /** Blank lines between the thoughts and the answer belong to neither. */
  #readGap(text: string): void {
    const rest = text.trimStart();
    if (rest) this.#readText(rest);
  }

  #readText(text: string): void {
    this.#place = 'text';
    this.#say('text', text);
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function partialLength(text: string): number {
  for (let length = Math.min(CLOSE.length - 1, text.length); length > 0; length--) if (CLOSE.startsWith(text.slice(-length))) return length;
  return 0;
}
