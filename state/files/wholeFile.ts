/**
 * A file that appears whole or not at all: written aside in the folder where it belongs, then put in place in one step.
 * Uploads of the page and `agent files put` and `get` go through here.
 */
import { constants } from 'node:fs';
import { link, lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { visibleText } from '../../base/visibleText.ts';
import { fileError } from './places.ts';

/** `truncated`: whoever delivers it has cut it off. */
export type Content = AsyncIterable<Buffer> & { truncated?: boolean };

export interface WholeFile {
  /** Its folder is there; a pinned one where others could replace it meanwhile. */
  target: string;
  overwrite: boolean;
  /** Bytes; more is refused. */
  maxBytes?: number;
  /** Permission bits before the umask. */
  mode: number;
  signal?: AbortSignal | undefined;
}

/** Answers its size. Errors: FILE_EXISTS, FILE_TOO_LARGE, DISK_FULL, FILE_FAILED, NOT_FOUND; nothing is left behind then. */
export async function writeWhole({ target, overwrite, maxBytes = Infinity, mode, signal }: WholeFile, content: Content): Promise<number> {
  const aside = join(dirname(target), asideName());
  const handle = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, mode).catch(
    (thrown: unknown) => {
      throw fileError(target, thrown);
    },
  );
  // Content may be long in coming: from a pipe, over a slow line.
  const alive = setInterval(() => void handle.utimes(new Date(), new Date()).catch(() => {}), asideMs / 4).unref();
  try {
    const size = await writeAll(handle, content, { name: basename(target), maxBytes, signal });
    await handle.sync();
    signal?.throwIfAborted();
    if (overwrite) await rename(aside, target);
    else await placeNew(aside, target);
    return size;
  } catch (thrown) {
    signal?.throwIfAborted();
    throw fileError(target, thrown);
  } finally {
    clearInterval(alive);
    await handle.close();
    await unlink(aside).catch(() => {});
  }
}

const { asideMs } = limits.files;
const asideName = (): string => `.${hexId(16)}.upload`;

/** What is being written here, or was when its process was killed: nobody's file yet. */
export const isAside = (name: string): boolean => /^\.[0-9a-f]{16}\.upload$/.test(name);

/** Removes what a killed process left; `path` is of a name that `isAside`. Never throws. */
export async function sweepAside(path: string, nowMs: number = Date.now()): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isFile() && nowMs - found.mtimeMs > asideMs) await unlink(path).catch(() => {});
}

interface Writing {
  name: string;
  maxBytes: number;
  signal: AbortSignal | undefined;
}

async function writeAll(handle: FileHandle, content: Content, { name, maxBytes, signal }: Writing): Promise<number> {
  let size = 0;
  for await (const chunk of content) {
    signal?.throwIfAborted();
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(name, maxBytes);
    // A disk that becomes full takes a part without a word; the next write says so.
    for (let offset = 0; offset < chunk.length;) offset += (await handle.write(chunk, offset)).bytesWritten;
  }
  if (content.truncated) throw tooLarge(name, maxBytes);
  return size;
}

export const tooLarge = (name: string, maxBytes: number): AgentError =>
  new AgentError('FILE_TOO_LARGE', `${visibleText(name)} is larger than the ${maxBytes} bytes that are taken here`, {
    fix: 'copy it with another program',
  });

/** A link fails where the name is taken, whoever was faster. Errors: EEXIST. */
async function placeNew(aside: string, target: string): Promise<void> {
  try {
    await link(aside, target);
  } catch (thrown) {
    if (!NO_LINKS.has(errnoOf(thrown) ?? '')) throw thrown;
    if (await lstat(target).catch(() => undefined)) throw Object.assign(new Error('taken'), { code: 'EEXIST', cause: thrown });
    await rename(aside, target);
  }
}

/** What file systems without hard links say: FAT, some network shares. */
const NO_LINKS: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']);
