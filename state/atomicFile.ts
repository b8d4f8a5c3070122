/** Whole files written so that a reader, a crash or a full disk sees the old content or the new, never half. */
import { closeSync, fsyncSync, lstatSync, openSync, readdirSync, readlinkSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import { AgentError, errnoOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';

export interface WriteOptions {
  /** Permission bits; default 0600. */
  mode?: number;
  /** False skips fsync: for snapshots that are worth nothing after a power cut. */
  durable?: boolean;
}

/** Sibling, fsync, rename; a link to a file elsewhere stays a link. Errors: DISK_FULL, HOME_UNUSABLE; the old file is untouched then. */
export function writeFileAtomic(name: string, content: string | Uint8Array, { mode = 0o600, durable = true }: WriteOptions = {}): void {
  const path = behindLink(name);
  const sibling = `${path}.${hexId(8)}.tmp`;
  let fd: number | undefined;
  try {
    fd = openSync(sibling, 'wx', mode);
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    let offset = 0;
    while (offset < bytes.length) offset += writeSync(fd, bytes, offset);
    if (durable) fsyncSync(fd);
    closeSync(fd);
    fd = undefined;
    renameSync(sibling, path);
    if (durable) syncDirectory(dirname(path));
  } catch (cause) {
    if (fd !== undefined) closeSync(fd);
    rmSync(sibling, { force: true });
    throw writeError(path, cause);
  }
}

/** Removes what a writer that was killed left in a folder. A writer that lives needs its file for far less long. */
export function sweepTempFiles(dir: string): void {
  for (const name of readdirSync(dir)) {
    if (!TEMP_NAME.test(name)) continue;
    const path = join(dir, name);
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat?.isFile() && Date.now() - stat.mtimeMs > limits.state.leftoverMs) rmSync(path, { force: true });
  }
}

/** As `writeFileAtomic` and the copies of stores name them. */
export const TEMP_NAME = /\.[0-9a-f]{8,16}\.tmp(?:-wal|-shm|-journal)?$/;

/** Where a symbolic link leads, existing or not; any other path as it is. */
function behindLink(path: string): string {
  try {
    return lstatSync(path).isSymbolicLink() ? resolve(dirname(path), readlinkSync(path)) : path;
  } catch {
    return path;
  }
}

export const writeJsonAtomic = (path: string, value: unknown, options?: WriteOptions): void =>
  writeFileAtomic(path, `${JSON.stringify(value, null, 2)}\n`, options);

/** A failed write in the words of the error table. */
export function writeError(path: string, cause: unknown): AgentError {
  const errno = errnoOf(cause);
  if (errno === 'ENOSPC' || errno === 'EDQUOT' || errno === 'EFBIG') {
    return new AgentError('DISK_FULL', `no room to write ${path}; it keeps its old content`, {
      cause,
      fix: 'free some disk space, then repeat',
    });
  }
  return new AgentError('HOME_UNUSABLE', `cannot write ${path} (${errno ?? String(cause)})`, {
    cause,
    fix: 'check the owner and the permissions of the directory',
  });
}

/** Parsed content, `undefined` when the file is absent. Throws SyntaxError or a system error otherwise. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readRegularText(path);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  return JSON.parse(text);
}

/** The content of a file that another program wrote is on disk. */
export function syncFile(path: string): void {
  const fd = openSync(path, 'r+');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Makes a rename durable; file systems that cannot sync a directory order renames themselves. */
function syncDirectory(dir: string): void {
  try {
    const fd = openSync(dir, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // the rename itself has happened
  }
}
