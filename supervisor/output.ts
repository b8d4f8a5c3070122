/**
 * What a child prints, kept through everything: a named pipe whose both ends are open for reading and
 * writing, so neither the child's end nor ours breaks it. While no supervisor reads, the keeper holds the
 * pipe open (keeper.ts), and the next supervisor reads what is in it. A chunk is read, noted in the journal and written to the
 * slot's log within one turn of the loop; what a killed supervisor had in its hands the next one finds there.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { LogFile } from '../base/logFile.ts';
import type { Redactor } from '../base/redact.ts';
import { CaptureBuffer } from './captureBuffer.ts';
import { LineWriter, type LeftOut } from './lineWriter.ts';
import { TailBuffer } from './tailBuffer.ts';
import { journalHeadBytes, OutputJournal, type Noted } from './outputJournal.ts';

export interface Output extends Disposable {
  /** Descriptor for the child's stdout and stderr; open until disposed. */
  readonly writeFd: number;
  /** Lines of a declared flood that were not kept. */
  readonly dropped: number;
  /** The last lines of the current incarnation, oldest first, whatever is still in the pipe included. Redacted. */
  tail(): string[];
  /** Starts a new tail: called at each spawn. An unfinished line of the last incarnation is written as it is. */
  reset(): void;
  /** Lines from now on are this process's. */
  from(pid: number): void;
  /** Tells every line from now on; answers how to stop. Only while somebody waits for one: it costs. */
  onLine(listener: (line: string) => void): () => void;
}

export interface OutputOptions {
  /** The slot's log; `shared` when others write there too. */
  file: LogFile;
  shared: boolean;
  slot: string;
  redact: Redactor;
  onFlood?: (msg: string, fields: { dropped?: number }) => void;
  /** Called before the descriptor for the child is closed. */
  onClose?: (writeFd: number) => void;
}

const NEWLINE = 0x0a;
const NO_PLACE = { inode: 0, sizeBytes: 0 };
/** Before a chunk in the buffer: the journal's head and an unfinished line. */
const CHUNK_AT = journalHeadBytes + limits.logs.captureLineMaxBytes;
/** Reads of one look into the pipe: a child that writes without end must not hold the loop. */
const READS_MAX = 64;

/** Reads the output of all slots through the same two buffers; each chunk is dealt with before the next is read. */
export class OutputDesk {
  readonly #buffer: CaptureBuffer;
  readonly #leaveOut: LeftOut | undefined;
  /** Made here and not opened yet: nobody has written to them. */
  readonly #fresh = new Set<string>();
  /** What is to be closed later; undefined = everything is closed when it is let go. */
  #late: (() => void)[] | undefined;

  constructor(leaveOut?: LeftOut) {
    this.#leaveOut = leaveOut;
    this.#buffer = new CaptureBuffer(CHUNK_AT + limits.logs.captureChunkBytes, leaveOut?.letters);
  }

  /** Makes the pipes that are missing, all with one process; none of them may be opened meanwhile. Errors: HOME_UNUSABLE. */
  async prepare(paths: readonly string[]): Promise<void> {
    const missing = paths.filter((path) => !isPipe(path));
    if (missing.length === 0) return;
    await makePipes(missing);
    for (const path of missing) this.#fresh.add(path);
  }

  /** Opens (and makes, if need be) the pipe of a slot. Errors: HOME_UNUSABLE. */
  open(path: string, options: OutputOptions): Output {
    let isFresh = this.#fresh.delete(path);
    if (!isFresh && !isPipe(path)) {
      makePipe(path);
      isFresh = true;
    }
    const closing = (close: () => void) => (this.#late ? void this.#late.push(close) : close());
    return new SlotOutput(path, { ...options, buffer: this.#buffer, leaveOut: this.#leaveOut, isFresh, closing });
  }

  /**
   * What is let go from now on is on disk at once but keeps its descriptors until the answer is called: before
   * the end of a process, which closes 400 of them in less than the 3 ms that it takes one by one.
   */
  closeLate(): () => void {
    const late: (() => void)[] = (this.#late = []);
    return () => late.forEach((close) => close());
  }
}

interface OpenOptions extends OutputOptions {
  buffer: CaptureBuffer;
  leaveOut: LeftOut | undefined;
  isFresh: boolean;
  closing: (close: () => void) => void;
}

class SlotOutput implements Output {
  readonly writeFd: number;
  readonly #readFd: number;
  #reader: Socket | undefined;
  #beginning: NodeJS.Immediate | undefined;
  #isOver = false;
  readonly #closing: OpenOptions['closing'];
  readonly #onClose: OpenOptions['onClose'];
  /** Nothing can be in the pipe yet. */
  #isEmpty: boolean;
  readonly #buffer: Buffer;
  readonly #lines: LineWriter;
  readonly #journal: OutputJournal;
  readonly #redact: Redactor;
  readonly #file: LogFile;
  readonly #shared: boolean;
  readonly #listeners = new Set<(line: string) => void>();
  /** The line whose end has not come. */
  #rest: Buffer | undefined;
  readonly #recent = new TailBuffer();

  constructor(path: string, { file, shared, slot, redact, onFlood, buffer, leaveOut, isFresh, closing, onClose }: OpenOptions) {
    this.#onClose = onClose;
    this.#closing = closing;
    this.#isEmpty = isFresh;
    this.#file = file;
    this.#shared = shared;
    this.#buffer = buffer.bytes;
    this.#lines = new LineWriter({
      file,
      slot,
      redact,
      buffer,
      onCounted: () => this.#journal.done(0),
      ...(onFlood ? { onFlood } : {}),
      ...(leaveOut ? { leaveOut } : {}),
    });
    this.#redact = redact;
    this.#journal = new OutputJournal(`${path}.journal`);
    const left = this.#journal.read();
    if (left) this.#takeOver(left);
    this.writeFd = openSync(path, constants.O_RDWR);
    this.#readFd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    // Of many programs that start together all are started first; until then the pipe holds what they say.
    this.#beginning = setImmediate(() => this.#begin(buffer));
  }

  #begin(buffer: CaptureBuffer): void {
    this.#beginning = undefined;
    // Between reading the first chunk and noting it, a kill loses it: both files are opened before.
    this.#journal.open();
    if (!this.#shared) this.#file.place();
    const chunk = buffer.bytes.subarray(CHUNK_AT, buffer.inputBytes);
    this.#reader = new Socket({
      fd: this.#readFd,
      readable: true,
      writable: false,
      onread: {
        buffer: chunk,
        callback: (bytes) => {
          if (!this.#isOver) this.#take(bytes);
          return !this.#isOver;
        },
      },
    });
    this.#reader.unref();
    this.#reader.on('error', () => {});
  }

  get dropped(): number {
    return this.#lines.dropped;
  }

  from(pid: number): void {
    this.#lines.pid = pid;
  }

  tail(): string[] {
    this.#readNow();
    const { tailLinesMax, tailLineMaxChars } = limits.supervisor;
    // Before lines are cut: the beginning of a secret would not be recognised.
    return this.#redact(this.#recent.toString())
      .split('\n')
      .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
      .filter((line) => line !== '')
      .slice(-tailLinesMax)
      .map((line) => (line.length > tailLineMaxChars ? `${line.slice(0, tailLineMaxChars)}…` : line));
  }

  reset(): void {
    if (!this.#isEmpty) this.#readNow();
    this.#isEmpty = false;
    this.#endLine();
    this.#recent.clear();
  }

  onLine(listener: (line: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#beginning);
    this.#isOver = true;
    this.#onClose?.(this.writeFd);
    this.#closing(() => {
      if (this.#reader) this.#reader.destroy();
      else closeSync(this.#readFd);
      closeSync(this.writeFd);
    });
    this.#lines.flush();
    this.#file.close();
    // An unfinished line stays noted: the child may live on, and the next supervisor reads its end.
    if (!this.#rest) return this.#journal.clear();
    this.#journal.done(0);
    this.#journal.close();
  }

  /** What an earlier supervisor had read: its lines if they are not in the log for certain, and the unfinished one. */
  #takeOver({ bytes, pending, repeats }: Noted): void {
    const at = this.#place(bytes);
    if (!pending) {
      const end = bytes.lastIndexOf(NEWLINE);
      if (repeats > 0 && end > 0) this.#lines.resume(bytes.subarray(bytes.lastIndexOf(NEWLINE, end - 1) + 1, end), repeats);
      return this.#hold(at.start + end + 1, at.end);
    }
    // A log of our own goes back to where it stood; with other writers in it a line twice is better than none.
    if (!this.#shared) this.#file.cutBack(pending);
    this.#deal(at.start, this.#note(at.start, at.end), at.end);
  }

  #place(bytes: Buffer): { start: number; end: number } {
    const start = journalHeadBytes;
    return { start, end: start + bytes.copy(this.#buffer, start) };
  }

  /** Deals with so many bytes that were read into the buffer. */
  #take(bytes: number): void {
    const end = CHUNK_AT + bytes;
    const start = CHUNK_AT - (this.#rest?.length ?? 0);
    this.#rest?.copy(this.#buffer, start);
    // First of all: until it is noted, a kill loses it.
    const cut = this.#note(start, end);
    this.#recent.push(this.#buffer.subarray(CHUNK_AT, end));
    this.#deal(start, cut, end);
  }

  /** Answers where the whole lines end. */
  #note(start: number, end: number): number {
    const cut = this.#buffer.lastIndexOf(NEWLINE, end - 1) + 1;
    // A log with other writers is never cut back, so that its place need not be asked for: two system calls.
    const place = this.#shared ? NO_PLACE : this.#file.place();
    this.#journal.note(this.#buffer, { start, length: end - start, place: cut > start ? place : undefined });
    return cut;
  }

  /** Writes the whole lines, which end at `cut`, and holds what is left. */
  #deal(start: number, cut: number, end: number): void {
    const buffer = this.#buffer;
    const whole = cut > start;
    if (whole) {
      this.#lines.write(start, cut);
      if (this.#lines.hid) this.#journal.hide(this.#redact(buffer.toString('utf8', start, end)), end - start, this.#lines.repeats);
      else this.#journal.done(this.#lines.repeats);
    }
    const said = whole && this.#listeners.size > 0 ? buffer.toString('utf8', start, cut) : '';
    this.#hold(whole ? cut : start, end);
    this.#tellListeners(said);
  }

  /** Keeps the line whose end has not come; one that grows too long is passed on in pieces. */
  #hold(start: number, end: number): void {
    this.#rest = end > start ? Buffer.from(this.#buffer.subarray(start, end)) : undefined;
    if (end - start > limits.logs.captureLineMaxBytes) this.#endLine();
  }

  /** Writes the unfinished line as if it had ended. */
  #endLine(): void {
    if (!this.#rest) return;
    const start = journalHeadBytes;
    const end = start + this.#rest.copy(this.#buffer, start) + 1;
    this.#buffer[end - 1] = NEWLINE;
    this.#rest = undefined;
    const line = this.#buffer.toString('utf8', start, end);
    this.#lines.write(start, end);
    this.#journal.note(this.#buffer, { start: journalHeadBytes, length: 0, place: undefined });
    this.#tellListeners(line);
  }

  /** What is in the pipe now, without waiting for the loop to come round. */
  #readNow(): void {
    try {
      for (let reads = 0; reads < READS_MAX; reads++) {
        const bytes = readSync(this.#readFd, this.#buffer, CHUNK_AT, limits.logs.captureChunkBytes, null);
        if (bytes === 0) return;
        this.#take(bytes);
      }
    } catch {
      // empty
    }
  }

  /** Last of all: what they do may come back here, and the buffer is everybody's. */
  #tellListeners(said: string): void {
    if (this.#listeners.size === 0) return;
    for (const line of said.split('\n')) {
      if (line !== '') for (const listener of this.#listeners) listener(line);
    }
  }
}

function isPipe(path: string): boolean {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isFIFO()) return true;
  if (found) rmSync(path, { recursive: true, force: true });
  return false;
}

/** One process for all of them: 200 take 8 ms, in which this one goes on. */
async function makePipes(paths: readonly string[]): Promise<void> {
  try {
    await once(
      forOwnerOnly(() => spawn('mkfifo', [...paths], { stdio: 'ignore' })),
      'exit',
    );
    // A start that was asked for meanwhile may have made one of them.
    const lacking = paths.filter((path) => !lstatSync(path, { throwIfNoEntry: false })?.isFIFO());
    if (lacking.length > 0) throw new Error(`mkfifo did not make ${lacking.join(', ')}`);
    proveIsPipe(paths[0]!);
  } catch (cause) {
    throw cannotMake(paths[0]!, cause);
  }
}

/** For a slot that came later. */
function makePipe(path: string): void {
  try {
    forOwnerOnly(() => execFileSync('mkfifo', [path], { stdio: 'ignore' }));
    proveIsPipe(path);
  } catch (cause) {
    throw cannotMake(path, cause);
  }
}

/** What is started meanwhile makes files of mode 0600: `mkfifo -m` takes five calls of the system for each instead of one. */
function forOwnerOnly<T>(start: () => T): T {
  const before = process.umask(0o177);
  try {
    return start();
  } finally {
    process.umask(before);
  }
}

/** Some file systems take the call and make something else. */
function proveIsPipe(path: string): void {
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  const isFifo = fstatSync(fd).isFIFO();
  closeSync(fd);
  if (!isFifo) throw new Error('it is not a pipe');
}

const cannotMake = (path: string, cause: unknown): AgentError =>
  new AgentError('HOME_UNUSABLE', `cannot make the pipe ${path}`, {
    cause,
    fix: 'have mkfifo (coreutils) in PATH, and use a home on a local file system that allows named pipes',
  });
