/**
 * An append-only text file with size rotation that several processes may share. Lines are written
 * whole with O_APPEND, so none is torn; rotation renames under an exclusive claim, so none is lost:
 * a writer that still holds the old file writes into what is now `.1`.
 * This is the only code that appends to anything under `logs/` (lessons 21).
 */
import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errors.ts';

/** A claim older than this was left by a process that died while rotating. */
const CLAIM_STALE_MS = 10_000;
/** A file shared with other writers is checked for having been rotated by them after this many bytes of ours. */
const CHECK_EVERY_BYTES = 64 * 1024;

export interface LogFileOptions {
  maxBytes: number;
  /** Old files kept beside the current one: `.1` is the newest. */
  keep: number;
  /** Other processes write here too: look for their rotation before every write. */
  shared?: boolean;
}

export class LogFile {
  readonly path: string;
  #options: LogFileOptions;
  #fd: number | undefined;
  #inode = 0;
  #sizeBytes = 0;
  #uncheckedBytes = 0;
  /** Lines that could not be written (full disk, lost directory); said in the next line that can. */
  #dropped = 0;
  /** The file may end in half a line of ours. */
  #torn = false;

  constructor(path: string, options: LogFileOptions) {
    this.path = path;
    this.#options = options;
  }

  /** Writes one line; adds the newline. Never throws: a log that cannot be written must not stop a worker. */
  append(line: string): void {
    let offset = 0;
    try {
      this.#ready();
      const dropped = this.#dropped > 0 ? `${droppedLine(this.#dropped)}\n` : '';
      const bytes = Buffer.from(`${this.#torn ? '\n' : ''}${dropped}${line}\n`);
      while (offset < bytes.length) offset += writeSync(this.#fd!, bytes, offset);
      this.#torn = false;
      this.#dropped = 0;
      this.#sizeBytes += bytes.length;
      this.#uncheckedBytes += bytes.length;
    } catch {
      if (offset > 0) this.#takeBack(offset);
      this.#dropped++;
      return this.close();
    }
    try {
      if (this.#sizeBytes >= this.#options.maxBytes) this.#rotate();
    } catch {
      // no room or no right to rotate: the file grows until there is
    }
  }

  /** Half a line was written when the disk filled up: remove it, or see to it that the next one starts afresh. */
  #takeBack(bytes: number): void {
    try {
      // Only if it still is the end of the file: another process may have written behind it.
      const before = this.#sizeBytes;
      if (fstatSync(this.#fd!).size === before + bytes) return ftruncateSync(this.#fd!, before);
    } catch {
      // then it stays, on a line of its own
    }
    this.#torn = true;
  }

  close(): void {
    if (this.#fd === undefined) return;
    const fd = this.#fd;
    this.#fd = undefined;
    try {
      closeSync(fd);
    } catch {
      // already closed by the system; nothing is left to release
    }
  }

  #ready(): void {
    if (this.#fd !== undefined && (this.#options.shared || this.#uncheckedBytes >= CHECK_EVERY_BYTES)) {
      this.#uncheckedBytes = 0;
      if (inodeOf(this.path) !== this.#inode) this.close();
      else this.#sizeBytes = fstatSync(this.#fd).size;
    }
    if (this.#fd !== undefined) return;
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    this.#fd = openSync(this.path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT, 0o600);
    const stat = fstatSync(this.#fd);
    this.#inode = stat.ino;
    this.#sizeBytes = stat.size;
  }

  #rotate(): void {
    const claim = `${this.path}.rotating`;
    if (!claimed(claim)) return;
    try {
      // Another writer may have rotated between our write and our claim.
      if (inodeOf(this.path) === this.#inode) {
        rmSync(`${this.path}.${this.#options.keep}`, { force: true });
        for (let n = this.#options.keep - 1; n >= 1; n--) renameIfThere(`${this.path}.${n}`, `${this.path}.${n + 1}`);
        if (this.#options.keep > 0) renameIfThere(this.path, `${this.path}.1`);
        else rmSync(this.path, { force: true });
      }
    } finally {
      rmSync(claim, { recursive: true, force: true });
    }
    this.close();
  }
}

function droppedLine(count: number): string {
  return JSON.stringify({
    time: new Date().toISOString(),
    level: 'warn',
    component: 'log',
    pid: process.pid,
    msg: `${count} log line(s) could not be written`,
  });
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function renameIfThere(from: string, to: string): void {
  try {
    renameSync(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
  }
}

function claimed(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
    // Gone meanwhile is not stale: removing it now could take away the fresh claim of a third process.
    const madeAt = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
    if (madeAt !== undefined && Date.now() - madeAt > CLAIM_STALE_MS) rmSync(path, { recursive: true, force: true });
    return false;
  }
}
