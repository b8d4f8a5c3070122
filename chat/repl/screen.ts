/**
 * What the REPL writes on: text that flows, whole lines, and one status line below them that never
 * stays. Knows whether the cursor stands at the start of a line; nothing else writes to the terminal.
 */
import { painter, type Paint } from '../../base/paint.ts';
import { formatDuration } from '../../base/time.ts';

const FRAME_MS = 100;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const CLEAR_LINE = '\r\u001b[K';

export class Screen implements Disposable {
  readonly paint: Paint;
  readonly isTerminal: boolean;
  readonly #out: NodeJS.WriteStream;
  #atLineStart = true;
  #status: { text: string; sinceMs: number } | undefined;
  #drawn = false;
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
    this.isTerminal = out.isTTY === true;
    this.paint = painter(out);
  }

  get columns(): number {
    return this.#out.columns || 80;
  }

  /** Text that goes on where the last one ended. */
  write(text: string): void {
    if (text === '') return;
    this.#erase();
    this.#out.write(text);
    this.#atLineStart = text.endsWith('\n');
  }

  /** A line of its own. */
  line(text = ''): void {
    this.endLine();
    this.write(`${text}\n`);
  }

  endLine(): void {
    if (!this.#atLineStart) this.write('\n');
  }

  /** Shows what is being waited for, with the time gone by; undefined takes it away. A terminal only. */
  status(text: string | undefined): void {
    if (text === undefined) {
      this.#erase();
      this.#status = undefined;
      clearInterval(this.#timer);
      this.#timer = undefined;
      return;
    }
    if (!this.isTerminal) return;
    this.#status = { text, sinceMs: this.#status?.text === text ? this.#status.sinceMs : performance.now() };
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS);
  }

  [Symbol.dispose](): void {
    this.status(undefined);
  }

  #draw(): void {
    // In the middle of a line there is no room for it: the flowing text itself shows life.
    if (!this.#status || !this.#atLineStart) return;
    const { text, sinceMs } = this.#status;
    const gone = formatDuration(performance.now() - sinceMs);
    const room = Math.max(10, this.columns - gone.length - 6);
    const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text;
    this.#out.write(`${CLEAR_LINE}${this.paint('cyan', FRAMES[this.#frame++ % FRAMES.length]!)} ${shown} ${this.paint('dim', gone)}`);
    this.#drawn = true;
  }

  #erase(): void {
    if (!this.#drawn) return;
    this.#out.write(CLEAR_LINE);
    this.#drawn = false;
  }
}
