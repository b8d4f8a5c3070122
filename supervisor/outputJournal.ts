/**
 * What has been read from a slot's pipe and may not stand in its log yet: the chunk at hand, and the line whose
 * end has not come. Written before the log is, so that a supervisor killed at any instant in between leaves
 * everything for the next one. What a kill can take is only what the kernel handed over in the few microseconds
 * before the first write here. Not synced: it is for the death of the process, not of the machine.
 */
import { closeSync, constants, existsSync, openSync, rmSync, writeSync } from 'node:fs';
import { readRegularFile } from '../base/regularFile.ts';
import { limits } from '../base/limits.ts';
import type { LogPlace } from '../base/logFile.ts';

/** Room that must stand free before the bytes that are noted. */
export const journalHeadBytes = 32;
const MAGIC = 0x6a726e31;
const SIZE_MAX = journalHeadBytes + 2 * limits.logs.captureChunkBytes + limits.logs.captureLineMaxBytes;

export interface Noted {
  /** Read from the pipe: whole lines, then perhaps the beginning of one. */
  bytes: Buffer;
  /** Where its lines were going to stand; undefined when they all stand there. */
  pending: LogPlace | undefined;
  /** How often its last whole line had come again, not counted in the log yet. */
  repeats: number;
}

export class OutputJournal {
  readonly #path: string;
  #fd: number | undefined;
  /** There is, or may be, a file of that name. */
  #exists = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** What an earlier supervisor left, if it can be read. */
  read(): Noted | undefined {
    // Asked first: an error made and caught costs five times as much.
    this.#exists = existsSync(this.#path);
    if (!this.#exists) return undefined;
    try {
      const file = readRegularFile(this.#path);
      if (file.length < journalHeadBytes || file.length > SIZE_MAX || file.readUInt32LE(0) !== MAGIC) return undefined;
      const length = file.readUInt32LE(12);
      if (journalHeadBytes + length > file.length) return undefined;
      const place = { inode: Number(file.readBigUInt64LE(16)), sizeBytes: Number(file.readBigUInt64LE(24)) };
      return {
        bytes: file.subarray(journalHeadBytes, journalHeadBytes + length),
        pending: file.readUInt32LE(4) === 0 ? place : undefined,
        repeats: file.readUInt32LE(8),
      };
    } catch {
      return undefined;
    }
  }

  /** Before the first note. */
  open(): void {
    this.#write(new Uint8Array(0), 0);
  }

  /** Notes `bytes` of `buffer`, which go to `place`; writes over the room before them. A full disk costs the safety, not the line. */
  note(buffer: Buffer, { start, length, place }: { start: number; length: number; place: LogPlace | undefined }): void {
    const head = start - journalHeadBytes;
    buffer.writeUInt32LE(MAGIC, head);
    buffer.writeUInt32LE(place ? 0 : 1, head + 4);
    buffer.writeUInt32LE(0, head + 8);
    buffer.writeUInt32LE(length, head + 12);
    buffer.writeBigUInt64LE(BigInt(place?.inode ?? 0), head + 16);
    buffer.writeBigUInt64LE(BigInt(place?.sizeBytes ?? 0), head + 24);
    this.#write(buffer.subarray(head, start + length), 0);
  }

  /** The lines of what was noted stand in the log now, but for so many that are only counted. */
  done(repeats: number): void {
    const state = Buffer.alloc(8);
    state.writeUInt32LE(1, 0);
    state.writeUInt32LE(Math.min(repeats, 0xffff_ffff), 4);
    this.#write(state, 4);
  }

  /** The same, where `room` bytes were noted and something of them was hidden in the log: `text` takes their place. */
  hide(text: string, room: number, repeats: number): void {
    const bytes = Buffer.from(text);
    const whole = Buffer.alloc(journalHeadBytes + Math.max(room, bytes.length));
    bytes.copy(whole, journalHeadBytes);
    this.note(whole, { start: journalHeadBytes, length: bytes.length, place: undefined });
    // Over what is left of the former bytes.
    this.#write(whole.subarray(journalHeadBytes), journalHeadBytes);
    this.done(repeats);
  }

  /** Nothing is open any more. */
  clear(): void {
    this.close();
    if (this.#exists) rmSync(this.#path, { force: true });
    this.#exists = false;
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #write(bytes: Uint8Array, position: number): void {
    try {
      this.#exists = true;
      this.#fd ??= openSync(this.#path, constants.O_WRONLY | constants.O_CREAT, 0o600);
      writeSync(this.#fd, bytes, 0, bytes.length, position);
    } catch {
      // then a kill in the next instant may cost this chunk
    }
  }
}
