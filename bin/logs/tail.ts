/** The last lines of a log over all its rotated files, read from the end; nothing is loaded whole. */
import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { rotatedFiles } from '../../state/logFiles.ts';

const CHUNK_BYTES = 64 * 1024;
const NEWLINE = 0x0a;

/** Complete lines of one file, last first. A torn last line comes too; an empty one never. */
export function* linesBackwards(path: string, endAt?: number): Generator<string> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch {
    return;
  }
  try {
    let end = Math.min(fstatSync(fd).size, endAt ?? Infinity);
    let carry: Buffer = Buffer.alloc(0);
    while (end > 0) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const chunk = Buffer.concat([readAt(fd, start, end - start), carry]);
      let stop = chunk.length;
      for (let at = chunk.lastIndexOf(NEWLINE); at >= 0; at = at === 0 ? -1 : chunk.lastIndexOf(NEWLINE, at - 1)) {
        if (at + 1 < stop) yield chunk.toString('utf8', at + 1, stop);
        stop = at;
      }
      carry = chunk.subarray(0, stop);
      end = start;
    }
    if (carry.length) yield carry.toString('utf8');
  } finally {
    closeSync(fd);
  }
}

export interface TailOptions {
  /** How many lines at most. */
  count: number;
  keep: (line: string) => boolean;
  /** Nothing older can be wanted: stop looking. */
  enough: (line: string) => boolean;
  /** Leave out what stands behind this place. */
  until?: { inode: number; position: number } | undefined;
}

/** The newest lines that `keep` wants, oldest first. */
export function tail(path: string, { count, keep, enough, until }: TailOptions): string[] {
  const found: string[] = [];
  const files = rotatedFiles(path);
  const last = until
    ? Math.max(
        0,
        files.findIndex((file) => statSync(file, { throwIfNoEntry: false })?.ino === until.inode),
      )
    : 0;
  for (const [i, file] of files.slice(last).entries()) {
    for (const line of linesBackwards(file, i === 0 ? until?.position : undefined)) {
      if (found.length >= count || enough(line)) return found.toReversed();
      if (keep(line)) found.push(line);
    }
  }
  return found.toReversed();
}

function readAt(fd: number, position: number, length: number): Buffer {
  const buffer = Buffer.alloc(length);
  let read = 0;
  while (read < length) {
    const n = readSync(fd, buffer, read, length - read, position + read);
    if (n === 0) break;
    read += n;
  }
  return buffer.subarray(0, read);
}
