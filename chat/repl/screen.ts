/**
 * What the REPL writes on: text that flows into the scrollback, and below it a live part that is drawn
 * again whenever something changes: the row that is being written, what is waited for, and the footer
 * (cards, status line, composer). Nothing else writes to the terminal, and no text steers it. Without one, text just passes.
 */
import { hasColour, painter, type Paint } from '../../base/paint.ts';
import { formatDuration } from '../../base/time.ts';
import { steadyText, visibleText } from '../../base/visibleText.ts';
import { cutToCells } from '../width.ts';
import { Flow } from './flow.ts';

const SPINNER_MS = 100;
const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
/** Shortest time between two drawings: what comes faster is drawn together. */
const DRAW_MS = 12;
const COLUMNS_MIN = 20;

export interface Footer {
  rows: string[];
  /** Where the cursor stands in them. */
  cursor: { row: number; column: number };
}

export class Screen implements Disposable {
  paint: Paint;
  /** A terminal that can move its cursor. */
  readonly isLive: boolean;
  readonly #out: NodeJS.WriteStream;
  #flow = new Flow();
  #footer: ((columns: number) => Footer) | undefined;
  #done: string[] = [];
  #status: { text: string; sinceMs: number } | undefined;
  #frame = 0;
  #spinner: NodeJS.Timeout | undefined;
  #soon: NodeJS.Timeout | undefined;
  /** Row of the live part in which the cursor stands now; the part begins there. */
  #cursorRow = 0;
  /** Rows of the live part as it stands on the terminal. */
  #drawnRows = 0;
  #suspended = false;
  #plainLineStart = true;
  #onResize = () => {
    // Rows may have been broken anew: what is below the cursor's place goes as a whole.
    if (!this.#suspended) this.#out.write(`${this.#cursorRow > 0 ? `\u001b[${this.#cursorRow}A` : ''}\r\u001b[J`);
    this.#drawnRows = 0;
    this.#cursorRow = 0;
    this.refresh();
  };

  constructor(out: NodeJS.WriteStream, { live = true }: { live?: boolean } = {}) {
    this.#out = out;
    this.isLive = live && out.isTTY === true && process.env.TERM !== 'dumb';
    this.paint = painter(out);
    if (this.isLive) out.on('resize', this.#onResize);
  }

  get columns(): number {
    return Math.max(COLUMNS_MIN, this.#out.columns || 80);
  }

  get rows(): number {
    return this.#out.rows || 24;
  }

  /** Makes one colour of another: the accent of a skin. */
  accent(colour: 'cyan' | 'green' | 'magenta' | 'none'): void {
    const plain = painter(this.#out);
    this.paint = (style, text) => (style !== 'cyan' ? plain(style, text) : colour === 'none' ? text : plain(colour, text));
  }

  get hasColour(): boolean {
    return hasColour(this.#out);
  }

  /** Text that goes on where the last one ended. On a terminal only its colours steer: the rest of it models and tools wrote. */
  write(said: string): void {
    if (said === '') return;
    const text = this.#out.isTTY ? steadyText(said) : said;
    if (!this.isLive) {
      this.#out.write(text);
      this.#plainLineStart = text.endsWith('\n');
      return;
    }
    this.#done.push(...this.#flow.push(text, this.columns));
    this.refresh();
  }

  /** Lines of their own. */
  line(text = ''): void {
    this.endLine();
    this.write(`${text}\n`);
  }

  endLine(): void {
    if (this.isLive ? !this.#flow.atLineStart : !this.#plainLineStart) this.write('\n');
  }

  /** Shows what is being waited for, with the time gone by; undefined takes it away. */
  status(text: string | undefined): void {
    if (text === undefined) {
      this.#status = undefined;
      clearInterval(this.#spinner);
      this.#spinner = undefined;
      return this.refresh();
    }
    if (!this.isLive) return;
    this.#status = { text, sinceMs: this.#status?.sinceMs ?? performance.now() };
    this.#spinner ??= setInterval(() => this.refresh(), SPINNER_MS);
    this.refresh();
  }

  /** The next drawing counts the time from now. */
  restartClock(): void {
    if (this.#status) this.#status.sinceMs = performance.now();
  }

  /** What stands below everything; asked for at each drawing. */
  setFooter(footer: ((columns: number) => Footer) | undefined): void {
    this.#footer = footer;
    this.refresh();
  }

  /** Something changed: draws soon. */
  refresh(): void {
    if (!this.isLive || this.#soon || this.#suspended) return;
    this.#soon = setTimeout(() => this.#draw(), DRAW_MS);
  }

  /** Clears the terminal; the footer is drawn again. */
  clear(): void {
    if (!this.isLive) return;
    this.flush();
    this.#out.write('\u001b[2J\u001b[3J\u001b[H');
    this.#drawnRows = 0;
    this.#cursorRow = 0;
    this.refresh();
  }

  /** Writes what waits and takes the live part away, for a program that has the terminal to itself. */
  suspend(): void {
    this.endLine();
    this.flush();
    this.#suspended = true;
    this.#out.write(this.#erase());
  }

  resume(): void {
    this.#suspended = false;
    this.refresh();
  }

  /** Bytes for the terminal itself (clipboard, modes), not part of the text. */
  control(sequence: string): void {
    if (this.isLive) this.#out.write(sequence);
  }

  flush(): void {
    if (!this.isLive || this.#suspended) return;
    clearTimeout(this.#soon);
    this.#soon = undefined;
    this.#draw();
  }

  [Symbol.dispose](): void {
    this.status(undefined);
    this.#footer = undefined;
    this.endLine();
    this.flush();
    clearTimeout(this.#soon);
    this.#out.off('resize', this.#onResize);
  }

  #draw(): void {
    this.#soon = undefined;
    if (this.#suspended) return;
    const { rows, cursor } = this.#live();
    const text = this.#done
      .splice(0)
      .map((row) => `${row}\n`)
      .join('');
    const back = rows.length - 1 - cursor.row;
    const place = `${back > 0 ? `\u001b[${back}A` : ''}\r${cursor.column > 0 ? `\u001b[${cursor.column}C` : ''}`;
    // Drawn as one: terminals that know the mode show nothing half.
    this.#out.write(`\u001b[?2026h${this.#erase()}${text}${rows.join('\n')}${place}\u001b[?2026l`);
    this.#cursorRow = cursor.row;
    this.#drawnRows = rows.length;
  }

  /** Row by row: a terminal multiplexer keeps what is cleared with the rest of the screen in its history. */
  #erase(): string {
    const rows = this.#drawnRows;
    const up = this.#cursorRow;
    this.#drawnRows = 0;
    this.#cursorRow = 0;
    if (rows === 0) return '\r';
    const others = rows > 1 ? `${'\u001b[B\u001b[2K'.repeat(rows - 1)}\u001b[${rows - 1}A` : '';
    return `${up > 0 ? `\u001b[${up}A` : ''}\r\u001b[2K${others}`;
  }

  /** At most a screen of rows, those around the cursor. */
  #live(): Footer {
    const columns = this.columns;
    const own: string[] = [];
    if (!this.#flow.atLineStart) own.push(this.#flow.row);
    if (this.#status) own.push(this.#statusRow(columns));
    const footer = this.#footer?.(columns);
    if (!footer) {
      const rows = own.length ? own : [''];
      return { rows, cursor: { row: rows.length - 1, column: 0 } };
    }
    const rows = [...own, ...footer.rows.map(steadyText)];
    const cursor = { row: own.length + footer.cursor.row, column: footer.cursor.column };
    const over = rows.length - (this.rows - 1);
    if (over <= 0) return { rows, cursor };
    const from = Math.min(over, cursor.row);
    return { rows: rows.slice(from, from + this.rows - 1), cursor: { row: cursor.row - from, column: cursor.column } };
  }

  #statusRow(columns: number): string {
    const { text, sinceMs } = this.#status!;
    const gone = formatDuration(performance.now() - sinceMs);
    const shown = cutToCells(visibleText(text.replaceAll(/\s+/g, ' ')), Math.max(10, columns - gone.length - 4));
    return `${this.paint('cyan', FRAMES[this.#frame++ % FRAMES.length]!)} ${shown} ${this.paint('dim', gone)}`;
  }
}
