/** Bounding text while it arrives: the head and the tail are kept, the middle is counted. */

/** Share of the room that goes to the head: the end of an output usually says how it went. */
const HEAD_SHARE = 0.4;

const mark = (chars: number): string => `\n[… ${chars} characters left out …]\n`;

/** Text of at most about `max` characters. */
export function cutMiddle(text: string, max: number): string {
  if (text.length <= max) return text;
  const head = Math.floor(max * HEAD_SHARE);
  const tail = max - head;
  return text.slice(0, head) + mark(text.length - max) + text.slice(-tail);
}

/** Collects a stream in bounded memory. */
export class CappedText {
  #head = '';
  #tail = '';
  #left = 0;
  #headMax: number;
  #tailMax: number;

  constructor(max: number) {
    this.#headMax = Math.floor(max * HEAD_SHARE);
    this.#tailMax = max - this.#headMax;
  }

  push(text: string): void {
    const room = this.#headMax - this.#head.length;
    if (room > 0) this.#head += text.slice(0, room);
    this.#tail += text.slice(Math.max(0, room));
    // Trimmed in large steps, so that many small chunks do not copy the tail each time.
    if (this.#tail.length > 2 * this.#tailMax) this.#trim();
  }

  get isCut(): boolean {
    return this.#left > 0 || this.#tail.length > this.#tailMax;
  }

  toString(): string {
    this.#trim();
    return this.#head + (this.#left > 0 ? mark(this.#left) : '') + this.#tail;
  }

  #trim(): void {
    const over = this.#tail.length - this.#tailMax;
    if (over <= 0) return;
    this.#left += over;
    this.#tail = this.#tail.slice(over);
  }
}
