/** Cuts a byte stream into lines without growing past a limit. */
import { AgentError } from '../../base/errors.ts';

const NEWLINE = 10;

export class LineReader {
  #parts: Buffer[] = [];
  #sizeBytes = 0;
  #maxBytes: number;
  #cut: boolean;
  /** The rest of a line that was cut is being thrown away. */
  #skipping = false;

  /** Over `maxBytes` a line throws FRAME_TOO_LARGE, or with `cut` is handed out shortened. */
  constructor(maxBytes: number, { cut = false }: { cut?: boolean } = {}) {
    this.#maxBytes = maxBytes;
    this.#cut = cut;
  }

  push(chunk: Buffer): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#add(chunk.subarray(from, end), lines);
      if (!this.#skipping) lines.push(this.#take());
      this.#skipping = false;
      from = end + 1;
    }
    this.#add(chunk.subarray(from), lines);
    return lines;
  }

  #add(part: Buffer, lines: string[]): void {
    if (this.#skipping || part.length === 0) return;
    if (this.#sizeBytes + part.length > this.#maxBytes) {
      if (!this.#cut) throw new AgentError('FRAME_TOO_LARGE', `a line is longer than ${this.#maxBytes} bytes`);
      this.#keep(part.subarray(0, this.#maxBytes - this.#sizeBytes));
      lines.push(this.#take());
      this.#skipping = true;
      return;
    }
    this.#keep(part);
  }

  #keep(part: Buffer): void {
    this.#parts.push(part);
    this.#sizeBytes += part.length;
  }

  #take(): string {
    const line = Buffer.concat(this.#parts, this.#sizeBytes).toString('utf8').replace(/\r$/, '');
    this.#parts = [];
    this.#sizeBytes = 0;
    return line;
  }
}
