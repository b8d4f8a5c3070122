/**
 * Following a log over rotations: holds on to the file it reads by inode, reads it to its end after it
 * has been renamed, then the ones between, then the new one. No line is lost, doubled or torn.
 */
import { closeSync, fstatSync, openSync, readSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { inodeOf, nextLogFile, rotatedFiles } from '../../state/logFiles.ts';

/** Some file systems announce no changes: look this often anyway. */
const LOOK_MS = 1_000;
const CHUNK_BYTES = 256 * 1024;
/** Files that one look walks over: more than are ever kept. */
const STEPS_MAX = 32;
const NEWLINE = 0x0a;

interface Open {
  fd: number;
  inode: number;
  position: number;
  /** Bytes of a line whose end has not been written yet. */
  partial: Buffer;
}

/** A place in a file, whatever name it has by now. */
export interface FollowStart {
  inode: number;
  position: number;
}

/** Where the log's last complete line ends now: what is written from here on will be followed. */
export function endOf(path: string): FollowStart | undefined {
  // Between a rotation and the next line the newest file is `.1`.
  const newest = rotatedFiles(path)[0];
  const file = newest === undefined ? undefined : openAt(newest, 0);
  if (!file) return undefined;
  const size = fstatSync(file.fd).size;
  const last = Buffer.alloc(Math.min(size, CHUNK_BYTES));
  readSync(file.fd, last, 0, last.length, size - last.length);
  closeSync(file.fd);
  const newline = last.lastIndexOf(NEWLINE);
  return { inode: file.inode, position: newline < 0 ? size : size - last.length + newline + 1 };
}

/** Calls back with each complete line written after `start`, until the signal aborts. */
export async function follow(
  path: string,
  start: FollowStart | undefined,
  onLine: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let open = start ? reopen(path, start) : undefined;
  /** Read to their end and left: a writer that still had one open may have added a line. */
  let left: Open[] = [];
  const look = () => {
    for (const file of left) readToEnd(file, onLine);
    for (const file of left.splice(0)) closeSync(file.fd);
    for (let step = 0; step < STEPS_MAX; step++) {
      if (open) readToEnd(open, onLine);
      const next = successor(path, open);
      if (!next) return;
      if (open) {
        // What came in before it was renamed, and after we had read it.
        readToEnd(open, onLine);
        left.push(open);
      }
      open = next;
    }
  };
  const done = Promise.withResolvers<void>();
  const watcher = watchDirectory(path, look);
  const timer = setInterval(look, LOOK_MS);
  signal.addEventListener('abort', () => done.resolve(), { once: true });
  look();
  if (!signal.aborted) await done.promise;
  clearInterval(timer);
  watcher?.close();
  for (const file of open ? [...left, open] : left) closeSync(file.fd);
}

/** The file that came after this one; undefined while it is the newest, or while names are just being changed. */
function successor(path: string, current: Open | undefined): Open | undefined {
  const next = nextLogFile(path, current && { inode: current.inode, isLinked: fstatSync(current.fd).nlink > 0 });
  const opened = next && openAt(next.file, 0);
  if (!opened || opened.inode === next.inode) return opened;
  closeSync(opened.fd);
  return undefined;
}

function watchDirectory(path: string, onChange: () => void): { close(): void } | undefined {
  try {
    const name = basename(path);
    const watcher = watch(dirname(path), (_event, changed) => {
      if (changed === null || changed.startsWith(name)) onChange();
    });
    watcher.on('error', () => {});
    return watcher;
  } catch {
    return undefined;
  }
}

/** The file with that inode, under whatever name it has by now. */
function reopen(path: string, { inode, position }: FollowStart): Open | undefined {
  const file = rotatedFiles(path).find((candidate) => inodeOf(candidate) === inode);
  return file ? openAt(file, position) : undefined;
}

function openAt(path: string, position: number): Open | undefined {
  try {
    const fd = openSync(path, 'r');
    return { fd, inode: fstatSync(fd).ino, position, partial: Buffer.alloc(0) };
  } catch {
    return undefined;
  }
}

function readToEnd(file: Open, onLine: (line: string) => void): void {
  const buffer = Buffer.alloc(CHUNK_BYTES);
  for (;;) {
    const read = readSync(file.fd, buffer, 0, buffer.length, file.position);
    if (read === 0) return;
    file.position += read;
    let bytes = Buffer.concat([file.partial, buffer.subarray(0, read)]);
    for (let at = bytes.indexOf(NEWLINE); at >= 0; at = bytes.indexOf(NEWLINE)) {
      if (at > 0) onLine(bytes.toString('utf8', 0, at));
      bytes = bytes.subarray(at + 1);
    }
    file.partial = bytes;
  }
}
