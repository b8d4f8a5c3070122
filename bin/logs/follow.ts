/**
 * Following a log over rotations: holds on to the file it reads by inode, reads it to its end after it
 * has been renamed, then the ones between, then the new one. No line is lost, doubled or torn.
 */
import { closeSync, fstatSync, openSync, readSync, statSync, watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { rotatedFiles } from './tail.ts';

/** Some file systems announce no changes: look this often anyway. */
const LOOK_MS = 1_000;
const CHUNK_BYTES = 256 * 1024;
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

/** Where the file's last complete line ends now: what is written from here on will be followed. */
export function endOf(path: string): FollowStart | undefined {
  const file = openAt(path, 0);
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
  /** Renamed a moment ago: a writer that had it open may still add a line. */
  let fading: Open | undefined;
  const look = () => {
    if (fading) {
      readOn(fading, onLine);
      closeSync(fading.fd);
      fading = undefined;
    }
    if (open) readOn(open, onLine);
    const current = statSync(path, { throwIfNoEntry: false });
    if (!current || current.ino === open?.inode) return;
    for (const file of open ? between(path, open.inode) : []) readWhole(file, onLine);
    fading = open;
    open = openAt(path, 0);
    if (open) readOn(open, onLine);
  };
  const done = Promise.withResolvers<void>();
  const watcher = watchDirectory(path, look);
  const timer = setInterval(look, LOOK_MS);
  signal.addEventListener('abort', () => done.resolve(), { once: true });
  look();
  if (!signal.aborted) await done.promise;
  clearInterval(timer);
  watcher?.close();
  for (const file of [open, fading]) if (file) closeSync(file.fd);
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

/** Files rotated since the one with `inode` was current, oldest first. */
function between(path: string, inode: number): string[] {
  const files = rotatedFiles(path);
  const ours = files.findIndex((file) => inodeOf(file) === inode);
  return files.slice(1, ours < 0 ? undefined : ours).toReversed();
}

function openAt(path: string, position: number): Open | undefined {
  try {
    const fd = openSync(path, 'r');
    return { fd, inode: fstatSync(fd).ino, position, partial: Buffer.alloc(0) };
  } catch {
    return undefined;
  }
}

function readOn(file: Open, onLine: (line: string) => void): void {
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

function readWhole(path: string, onLine: (line: string) => void): void {
  const file = openAt(path, 0);
  if (!file) return;
  readOn(file, onLine);
  closeSync(file.fd);
}

const inodeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.ino ?? 0;
