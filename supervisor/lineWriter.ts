/**
 * Turns what a child prints into lines of its log (contract §7). Blocks of harmless lines are copied between
 * fixed text, which takes a third of a microsecond a line; a line with something to escape or to hide goes
 * through JSON and the redactor. Identical lines in a row become one and a count (lessons 20); a flood beyond
 * the allowance is declared, cut and counted (lessons 19).
 */
import { isUtf8 } from 'node:buffer';
import { limits } from '../base/limits.ts';
import type { Level } from '../base/closedWords.ts';
import { formatLine } from '../base/log.ts';
import type { LogFile } from '../base/logFile.ts';
import { MARK, type Redactor } from '../base/redact.ts';
import { has, type CaptureBuffer } from './captureBuffer.ts';

const NEWLINE = 0x0a;

export interface LeftOut {
  /** Three letters of each such line, for the look at every byte. */
  letters: readonly string[];
  /** Some part of each such line, for the look at a block that has the letters. */
  part: RegExp;
  is(line: string): boolean;
}

type Hooks = 'onFlood' | 'onCounted' | 'leaveOut';

export interface LineWriterOptions {
  file: LogFile;
  slot: string;
  redact: Redactor;
  /** Where the lines are and records are built; used within one call, so all writers of a process share it. */
  buffer: CaptureBuffer;
  /** Says that a flood began or ended, in words. */
  onFlood?: (msg: string, fields: { dropped?: number }) => void;
  /** Lines that do not belong into the log. */
  leaveOut?: LeftOut;
  /** Counts that were pending stand in the log now. */
  onCounted?: () => void;
  burstBytes?: number;
  sustainedBytesPerSecond?: number;
  repeatMs?: number;
}

export class LineWriter {
  /** Lines of a declared flood that were not written, since the start. */
  dropped = 0;
  /** The last `write` hid something. */
  hid = false;
  /** Process the lines are from. */
  pid: number | undefined;
  readonly #options: Required<Omit<LineWriterOptions, Hooks>> & Pick<LineWriterOptions, Hooks>;
  /** End of the records built so far. */
  #used: number;
  /** A record up to its message, quote included; as text without the quote. */
  #head: Buffer = Buffer.alloc(0);
  #headText = '';
  #headOf = '';
  #last: Buffer | undefined;
  #repeats = 0;
  #tokens: number;
  #tokensAtMs = performance.now();
  /** A declared flood, and its lines dropped since they were last reported. */
  #flood: { dropped: number } | undefined;
  /** Inside a private key: lines left that are hidden. */
  #keyLines = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LineWriterOptions) {
    const { logs } = limits;
    this.#options = {
      burstBytes: logs.burstBytes,
      sustainedBytesPerSecond: logs.sustainedBytesPerSecond,
      repeatMs: logs.repeatMs,
      ...options,
    };
    this.#tokens = this.#options.burstBytes;
    this.#used = options.buffer.inputBytes;
  }

  /** Takes the whole lines that stand there in the buffer, the last newline included. */
  write(start: number, end: number): void {
    const { buffer, redact } = this.#options;
    this.hid = false;
    const found = buffer.scan(start, end, redact);
    if (!this.#admits(buffer.newlineCount)) return;
    this.#newHead();
    const utf8 = (found & has.beyondAscii) === 0 || isUtf8(buffer.bytes.subarray(start, end));
    const marked = (found & has.suspect) !== 0 || this.#keyLines > 0;
    if (!marked && utf8 && (found & has.escape) === 0) this.#copyLines(start);
    else this.#lookCloser(start, end, found);
    this.#writeOut();
  }

  /** How often the last line came again since its count was last written. */
  get repeats(): number {
    return this.#repeats;
  }

  /** Goes on counting where another writer ended. */
  resume(line: Buffer, repeats: number): void {
    this.#remember(line);
    if (!this.#last) return;
    this.#repeats = repeats - 1;
    this.#countRepeat();
  }

  /** Writes out counts that are still pending. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#repeats > 0 || this.#flood) {
      this.#newHead();
      this.#endRepeats();
      this.#reportFlood();
      this.#writeOut();
    }
    this.#last = undefined;
  }

  // --- lines ---

  /** Something in the block is like a secret, or JSON writes it otherwise: which lines, text tells. */
  #lookCloser(start: number, end: number, found: number): void {
    const { buffer, redact, leaveOut } = this.#options;
    const ascii = (found & has.beyondAscii) === 0;
    // Latin-1 is the cheap way to look at ASCII as text.
    const text = buffer.bytes.toString(ascii ? 'latin1' : 'utf8', start, end);
    const suspect = this.#keyLines > 0 || redact.suspects(text);
    const plain = (found & has.escape) === 0 && (ascii || isUtf8(buffer.bytes.subarray(start, end)));
    const out = leaveOut?.part.test(text) ? leaveOut : undefined;
    if (plain && !suspect && !out) this.#copyLines(start);
    else this.#formatLines(text, suspect, out);
  }

  #copyLines(blockStart: number): void {
    const { bytes, newlines, newlineCount } = this.#options.buffer;
    let start = blockStart;
    let previousStart = -1;
    let previousEnd = -1;
    for (let i = 0; i < newlineCount; i++) {
      const end = newlines[i]!;
      const length = end - start;
      if (length > 0) {
        const same =
          previousStart < 0
            ? this.#last?.length === length && sameBytes(this.#last, 0, bytes, start, length)
            : length === previousEnd - previousStart && sameBytes(bytes, previousStart, bytes, start, length);
        if (same) this.#countRepeat();
        else {
          if (this.#repeats > 0) this.#endRepeats(previousStart < 0 ? this.#last : bytes.toString('utf8', previousStart, previousEnd));
          this.#copy(start, end);
          previousStart = start;
          previousEnd = end;
        }
      }
      start = end + 1;
    }
    if (previousStart < 0) return;
    const last = bytes.subarray(previousStart, previousEnd);
    this.#remember(last);
    if (!this.#last) this.#endRepeats(last);
  }

  /** One record out of a line that needs neither escapes nor redaction. */
  #copy(start: number, end: number): void {
    const { bytes } = this.#options.buffer;
    const head = this.#head;
    if (this.#used + head.length + (end - start) + 3 > bytes.length) this.#writeOut();
    let at = this.#used;
    bytes.set(head, at);
    at += head.length;
    bytes.copyWithin(at, start, end);
    at += end - start;
    bytes[at] = 0x22;
    bytes[at + 1] = 0x7d;
    bytes[at + 2] = NEWLINE;
    this.#used = at + 3;
    this.#tokens -= end - start;
  }

  #formatLines(text: string, suspect: boolean, out: LeftOut | undefined): void {
    let previous = this.#last?.toString();
    // Whole, since a value may go over the end of a line.
    const clean = suspect ? this.#options.redact.values(text) : text;
    if (clean !== text) this.hid = true;
    for (const raw of clean.split('\n')) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '' || out?.is(line)) continue;
      if (line === previous) {
        this.#countRepeat();
        continue;
      }
      if (this.#repeats > 0) this.#endRepeats(previous);
      const msg = suspect ? this.#hidden(line) : line;
      if (msg !== line) this.hid = true;
      const record = `${this.#headText}${JSON.stringify(msg)}}`;
      this.#put(record.length * 3 < limits.logs.lineMaxBytes ? record : this.#record(msg));
      this.#tokens -= line.length;
      previous = line;
    }
    if (previous === undefined) return;
    this.#remember(Buffer.from(previous));
    if (!this.#last) this.#endRepeats(previous);
  }

  /** Without what is secret in it; the lines of a private key are hidden up to its end. */
  #hidden(line: string): string {
    if (this.#keyLines > 0) {
      this.#keyLines = /-----END [A-Z ]*PRIVATE KEY/.test(line) ? 0 : this.#keyLines - 1;
      return MARK;
    }
    const { redact } = this.#options;
    if (!redact.suspects(line)) return line;
    if (/-----BEGIN [A-Z ]*PRIVATE KEY-----(?!.*-----END)/.test(line)) this.#keyLines = limits.logs.keyLinesMax;
    return redact(line);
  }

  /** `msg` is clean already. */
  #record(msg: string, more: { level?: Level; repeated?: number; dropped?: number } = {}): string {
    return formatLine({ level: 'info', component: 'stdio', slot: this.#options.slot, ...more, pid: this.pid, msg });
  }

  #put(record: string): void {
    const { buffer, file } = this.#options;
    // Three bytes are the most that one UTF-16 unit takes.
    const room = record.length * 3 + 1;
    if (this.#used + room > buffer.bytes.length) this.#writeOut();
    if (this.#used + room > buffer.bytes.length) return file.append(record);
    this.#used += buffer.bytes.write(record, this.#used);
    buffer.bytes[this.#used++] = NEWLINE;
  }

  #writeOut(): void {
    const { bytes, inputBytes } = this.#options.buffer;
    const used = this.#used;
    if (used === inputBytes) return;
    this.#used = inputBytes;
    this.#options.file.appendBlock(bytes.subarray(inputBytes, used));
  }

  /** Everything of a record up to the message; made anew when the clock's millisecond changes. */
  #newHead(): void {
    const time = new Date().toISOString();
    const key = `${time} ${this.pid}`;
    if (key === this.#headOf) return;
    this.#headOf = key;
    const record = this.#record('');
    this.#headText = record.slice(0, -'""}'.length);
    this.#head = Buffer.from(`${this.#headText}"`);
  }

  // --- repeats ---

  #remember(line: Buffer): void {
    // A copy: the block it stands in is read into again. Long lines are not worth it.
    this.#last = line.length <= limits.supervisor.tailLineMaxChars ? Buffer.from(line) : undefined;
  }

  #countRepeat(): void {
    this.#repeats++;
    this.#timer ??= setTimeout(() => this.#onTimer(), this.#options.repeatMs).unref();
  }

  #endRepeats(line: Buffer | string | undefined = this.#last): void {
    if (this.#repeats === 0 || line === undefined) return;
    const repeated = this.#repeats;
    this.#repeats = 0;
    const { redact } = this.#options;
    this.#put(this.#record(this.#keyLines > 0 ? MARK : redact(line.toString()), { repeated }));
  }

  // --- floods ---

  /** False when the block belongs to a flood and is over the allowance: its lines are counted instead. */
  #admits(lines: number): boolean {
    const { burstBytes, sustainedBytesPerSecond, onFlood } = this.#options;
    const nowMs = performance.now();
    this.#tokens = Math.min(burstBytes, this.#tokens + ((nowMs - this.#tokensAtMs) / 1_000) * sustainedBytesPerSecond);
    this.#tokensAtMs = nowMs;
    if (this.#tokens > 0) return true;
    if (!this.#flood) {
      const msg = `${this.#options.slot} floods its output: more than ${sustainedBytesPerSecond} bytes a second; lines are dropped and counted until it ends`;
      onFlood?.(msg, {});
      this.#put(this.#record(msg, { level: 'warn' }));
      this.#writeOut();
    }
    this.#flood = { dropped: (this.#flood?.dropped ?? 0) + lines };
    this.dropped += lines;
    this.#timer ??= setTimeout(() => this.#onTimer(), this.#options.repeatMs).unref();
    return false;
  }

  #onTimer(): void {
    this.#timer = undefined;
    this.#newHead();
    this.#endRepeats();
    this.#reportFlood();
    this.#writeOut();
    this.#options.onCounted?.();
    if (this.#flood) this.#timer = setTimeout(() => this.#onTimer(), this.#options.repeatMs).unref();
  }

  /** Says how many lines are missing here; the flood is over when none went missing since the last time. */
  #reportFlood(): void {
    if (!this.#flood) return;
    const { dropped } = this.#flood;
    if (dropped > 0) {
      this.#put(this.#record(`${dropped} line(s) of a flood were dropped here`, { level: 'warn', dropped }));
      this.#options.onFlood?.(`${dropped} line(s) of a flood of ${this.#options.slot} were dropped`, { dropped });
      this.#flood.dropped = 0;
    } else this.#flood = undefined;
  }
}

function sameBytes(a: Buffer, aStart: number, b: Buffer, bStart: number, length: number): boolean {
  for (let i = 0; i < length; i++) if (a[aStart + i] !== b[bStart + i]) return false;
  return true;
}
