/**
 * An append-only text file with size rotation that several processes may share. Lines are written
 * whole with O_APPEND, so none is torn; rotation renames under an exclusive claim, so none is lost:
 * a writer that still holds the old file writes into what is now `.1`.
 * This is the only code that appends to anything under `logs/` (lessons 21).
 */
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errnoOf } from './errors.ts';

/** A claim older than this was left by a process that died while rotating. */
const CLAIM_STALE_MS = 10_000;
/** A file shared with other writers is checked for having been rotated by them after this many bytes of ours. */
const CHECK_EVERY_BYTES = 1024 * 1024;
const NEWLINE = 0x0a;
/** A write of another process is over within these, unless the machine stands still; then a blank line is the worst. */
const TORN_LOOKS = 5;
const TORN_LOOK_MS = 2;

export interface LogFileOptions {
  maxBytes: number;
  /** Old files kept beside the current one: `.1` is the newest. */
  keep: number;
  /** Other processes write here too: look for their rotation before every write. */
  shared?: boolean;
}

/** A file whatever its name is by now, and how much of it was written. */
export interface LogPlace {
  inode: number;
  sizeBytes: number;
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
    this.#put(Buffer.from(`${line}\n`));
  }

  /**
   * Writes a block of whole lines, the last newline included; rotates between two of them where the size is
   * reached. Never throws.
   */
  appendBlock(block: Uint8Array): void {
    for (let rest = block; rest.length > 0;) {
      const cut = this.#fitting(rest);
      this.#put(rest.subarray(0, cut));
      rest = rest.subarray(cut);
      if (rest.length > 0) this.#tryToRotate();
    }
  }

  /** Where the next line will stand; undefined when the file cannot be opened. */
  place(): LogPlace | undefined {
    try {
      this.#ready();
      return { inode: this.#inode, sizeBytes: this.#sizeBytes };
    } catch {
      return undefined;
    }
  }

  /** Removes what was written behind that place, in the current file or the newest rotated one. Only for a file with one writer. */
  cutBack({ inode, sizeBytes }: LogPlace): void {
    this.close();
    for (const path of [this.path, `${this.path}.1`]) {
      const found = statSync(path, { throwIfNoEntry: false });
      if (found?.ino === inode && found.size > sizeBytes) truncateSync(path, sizeBytes);
    }
  }

  /** How much of the block goes into this file: whole lines, all of it when not even one fits. */
  #fitting(block: Uint8Array): number {
    const room = this.#options.maxBytes - (this.place()?.sizeBytes ?? 0);
    if (block.length <= room) return block.length;
    const newline = room > 0 ? block.lastIndexOf(NEWLINE, room - 1) : -1;
    if (newline >= 0) return newline + 1;
    // Not even one line: an almost full file is left as it is, a line longer than a file makes one of its own.
    if (this.#sizeBytes > 0) this.#tryToRotate();
    const first = block.indexOf(NEWLINE) + 1;
    return first === 0 ? block.length : Math.max(first, block.lastIndexOf(NEWLINE, this.#options.maxBytes - 1) + 1);
  }

  #put(bytes: Uint8Array): void {
    let offset = 0;
    let all = bytes;
    try {
      this.#ready();
      const dropped = this.#dropped > 0 ? `${droppedLine(this.#dropped)}\n` : '';
      if (this.#torn || dropped) all = Buffer.concat([Buffer.from(`${this.#torn ? '\n' : ''}${dropped}`), bytes]);
      while (offset < all.length) offset += writeSync(this.#fd!, all, offset);
      this.#torn = false;
      this.#dropped = 0;
      this.#sizeBytes += all.length;
      this.#uncheckedBytes += all.length;
    } catch {
      if (offset > 0) this.#takeBack(offset);
      this.#dropped += linesIn(bytes);
      return this.close();
    }
    if (this.#sizeBytes >= this.#options.maxBytes) this.#tryToRotate();
  }

  #tryToRotate(): void {
    try {
      this.#rotate();
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
    this.#fd = openSync(this.path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600);
    const stat = fstatSync(this.#fd);
    this.#inode = stat.ino;
    this.#sizeBytes = stat.size;
    // A writer that was killed in the middle of a line: ours starts afresh.
    if (stat.size > 0) this.#torn = isTorn(this.#fd, this.#options.shared ?? false);
  }

  #rotate(): void {
    const claim = `${this.path}.rotating`;
    if (!claimed(claim)) return;
    try {
      // Another writer may have rotated between our write and our claim.
      if (inodeOf(this.path) === this.#inode) {
        if (this.#options.keep > 0) removeIfThere(`${this.path}.${this.#options.keep}`);
        for (let n = this.#options.keep - 1; n >= 1; n--) renameIfThere(`${this.path}.${n}`, `${this.path}.${n + 1}`);
        if (this.#options.keep > 0) renameIfThere(this.path, `${this.path}.1`);
        else removeIfThere(this.path);
      }
    } finally {
      rmdirSync(claim);
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
    msg: `${count} log ${count === 1 ? 'line' : 'lines'} could not be written`,
    dropped: count,
  });
}

function linesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE, at + 1)) count++;
  return count;
}

/** Half a line of another writer that lives is whole in a moment; of a dead one it stays half. */
function isTorn(fd: number, shared: boolean): boolean {
  const byte = new Uint8Array(1);
  for (let looks = shared ? TORN_LOOKS : 1; looks > 0; looks--) {
    const { size } = fstatSync(fd);
    if (size === 0 || readSync(fd, byte, 0, 1, size - 1) === 0 || byte[0] === NEWLINE) return false;
    if (looks > 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TORN_LOOK_MS);
  }
  return true;
}

function inodeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
}

function renameIfThere(from: string, to: string): void {
  // Asked first: an error made and caught costs five times as much.
  if (!statSync(from, { throwIfNoEntry: false })) return;
  try {
    renameSync(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'ENOENT') throw thrown;
  }
}

function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
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
