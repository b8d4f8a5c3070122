/**
 * Reading a log for the page: the last lines over rotated files, then what is appended, across
 * rotation. Reads in steps and never holds more than one, so a slow tab costs no memory.
 */
import { watch } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { limits } from '../../base/limits.ts';
import type { Level } from '../../base/closedWords.ts';
import { severity } from '../../base/log.ts';
import { sleep } from '../../base/time.ts';
import { inodeOf, nextLogFile, rotatedFiles } from '../../state/logFiles.ts';

export interface LogFilter {
  /** This severe or worse. */
  level?: Level | undefined;
  component?: string | undefined;
  /** Somewhere in the line, whatever its case. */
  text?: string | undefined;
}

/** A place in a log: everything before it has been seen. */
export interface LogPosition {
  inode: number;
  offset: number;
}

const NEWLINE = 0x0a;
/** A follower looks by itself this often, for file systems that tell nothing. */
const LOOK_MS = 5_000;

export function matches(line: string, { level, component, text }: LogFilter): boolean {
  if (text && !line.toLowerCase().includes(text.toLowerCase())) return false;
  if (level === undefined && component === undefined) return true;
  const record = recordOf(line);
  if (level !== undefined && severity((record.level ?? 'info') as Level) < severity(level)) return false;
  return component === undefined || record.component === component;
}

/** A line of a foreign program is not JSON and passes as `info`. */
function recordOf(line: string): { level?: string; component?: string } {
  try {
    return JSON.parse(line) as { level?: string; component?: string };
  } catch {
    return {};
  }
}

/** The last `count` lines that pass, oldest first, and the place where following goes on. */
export async function tailLog(path: string, count: number, filter: LogFilter): Promise<{ lines: string[]; end: LogPosition }> {
  const newestFirst: string[] = [];
  let end: LogPosition = { inode: 0, offset: 0 };
  for (const [n, name] of rotatedFiles(path).entries()) {
    if (newestFirst.length >= count && n > 0) break;
    const file = await openIfThere(name);
    if (!file) continue;
    try {
      const { ino, size } = await file.stat();
      if (n === 0) end = { inode: ino, offset: size };
      for await (const line of linesBackwards(file, size)) {
        if (newestFirst.length >= count) break;
        if (matches(line, filter)) newestFirst.push(line);
      }
    } finally {
      await file.close();
    }
  }
  return { lines: newestFirst.toReversed(), end };
}

/** Whole lines from the end of the first `size` bytes to the start of the file. */
async function* linesBackwards(file: FileHandle, size: number): AsyncGenerator<string> {
  let rest = Buffer.alloc(0);
  for (let end = size; end > 0;) {
    const start = Math.max(0, end - limits.dashboard.logChunkBytes);
    const chunk = Buffer.alloc(end - start);
    await file.read(chunk, 0, chunk.length, start);
    const bytes = Buffer.concat([chunk, rest]);
    // The first line of a step may begin in the step before it.
    const firstEnd = bytes.indexOf(NEWLINE);
    const cut = start === 0 ? 0 : firstEnd < 0 ? bytes.length : firstEnd + 1;
    rest = bytes.subarray(0, cut);
    yield* textLines(bytes.subarray(cut)).toReversed();
    end = start;
  }
}

/**
 * Hands on what is appended after `from`, waiting for the consumer. Ends with the signal. A file that is
 * rotated is read to its end before the new one is opened.
 */
export async function followLog(
  path: string,
  { from, onLines, signal }: { from: LogPosition; onLines: (lines: string[]) => Promise<void>; signal: AbortSignal },
): Promise<void> {
  using changes = watchFile(path);
  let file = await openAsSeen(path, from.inode);
  let { offset } = from;
  let inode = file ? from.inode : 0;
  let rest = Buffer.alloc(0);
  try {
    while (!signal.aborted) {
      const seen = changes.count;
      // Asked before the last look into this file: what was written to it before its successor came is read.
      const next = nextLogFile(path, file && { inode, isLinked: (await file.stat()).nlink > 0 });
      const chunk = file ? await readFrom(file, offset) : Buffer.alloc(0);
      if (chunk.length > 0) {
        offset += chunk.length;
        const bytes = Buffer.concat([rest, chunk]);
        const cut = bytes.lastIndexOf(NEWLINE) + 1;
        rest = bytes.subarray(cut);
        if (cut > 0) await onLines(textLines(bytes.subarray(0, cut)));
      } else if (next) {
        const opened = await openIfThere(next.file);
        // Renamed between the two: the next round asks anew.
        if (opened && (await opened.stat()).ino !== next.inode) await opened.close();
        else if (opened) {
          await file?.close();
          [file, inode, offset, rest] = [opened, next.inode, 0, Buffer.alloc(0)];
        }
      } else {
        await changes.after(seen, signal);
      }
    }
  } finally {
    await file?.close();
  }
}

/** The file with that inode, under whatever name it has by now. */
async function openAsSeen(path: string, inode: number): Promise<FileHandle | undefined> {
  const name = rotatedFiles(path).find((file) => inodeOf(file) === inode);
  return name === undefined ? undefined : openIfThere(name);
}

async function readFrom(file: FileHandle, offset: number): Promise<Buffer> {
  const chunk = Buffer.alloc(limits.dashboard.logChunkBytes);
  const { bytesRead } = await file.read(chunk, 0, chunk.length, offset);
  return chunk.subarray(0, bytesRead);
}

const textLines = (bytes: Buffer): string[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch {
    return undefined;
  }
}

interface Changes extends Disposable {
  count: number;
  /** Resolves when something happened since `seen`, when the signal aborts, or after LOOK_MS. */
  after(seen: number, signal: AbortSignal): Promise<void>;
}

function watchFile(path: string): Changes {
  let wake = Promise.withResolvers<void>();
  const changes: Changes = {
    count: 0,
    async after(seen, signal) {
      if (changes.count !== seen) return;
      const late = new AbortController();
      await Promise.race([wake.promise, sleep(LOOK_MS, AbortSignal.any([signal, late.signal])).catch(() => {})]);
      late.abort();
    },
    [Symbol.dispose]: () => watcher?.close(),
  };
  const name = basename(path);
  let watcher: ReturnType<typeof watch> | undefined;
  try {
    watcher = watch(dirname(path), { persistent: false }, (_event, changed) => {
      if (changed !== null && !changed.startsWith(name)) return;
      changes.count++;
      wake.resolve();
      wake = Promise.withResolvers<void>();
    });
    watcher.on('error', () => {});
  } catch {
    // the look every few seconds remains
  }
  return changes;
}
