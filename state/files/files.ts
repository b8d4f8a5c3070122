/** What the page and `agent files` do with files: list, read, take in, make. Every path is checked by places.ts first. */
import { constants } from 'node:fs';
import { lstat, mkdir, open, opendir, realpath, stat, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { visibleText } from '../../base/visibleText.ts';
import { mimeOf } from './mediaTypes.ts';
import { pinFolder } from './pinned.ts';
import { checkName, fileError, type FilePlaces } from './places.ts';
import { isAside, sweepAside, writeWhole, type Content } from './wholeFile.ts';

export interface FileEntry {
  name: string;
  path: string;
  is_directory: boolean;
  is_link: boolean;
  size: number;
  mtime: string;
  mime_type: string | null;
}

const { entriesMax, readMaxBytes, uploadMaxBytes } = limits.files;

/** Half-written files are nobody's and not listed; those that nobody writes any more are removed on the way. Errors: NOT_FOUND, PATH_REFUSED, FILE_FAILED. */
export async function listFolder(places: FilePlaces, path: string, showHidden: boolean) {
  const dir = places.existing(path);
  const root = places.root();
  const entries: FileEntry[] = [];
  let truncated = false;
  try {
    await using folder = await pinFolder(places, dir);
    // Bytes: a name that is not UTF-8 is listed too.
    for await (const { name } of await opendir(folder.path, { encoding: 'buffer' as BufferEncoding })) {
      const bytes = name as unknown as Buffer;
      if (bytes[0] === DOT && isAside(bytes.toString())) {
        await sweepAside(folder.at(bytes.toString()));
        continue;
      }
      if (!showHidden && bytes[0] === DOT) continue;
      const entry = await entryOf(places, { dir, opened: folder.path }, bytes);
      if (!entry) continue;
      if (entries.length >= entriesMax) {
        truncated = true;
        break;
      }
      entries.push(entry);
    }
  } catch (thrown) {
    throw fileError(dir, thrown);
  }
  return {
    root,
    path: dir,
    parent: dir === root ? null : dirname(dir),
    locked_root: true as const,
    can_change_path: true,
    entries: entries.toSorted(byKindAndName),
    truncated,
  };
}

const DOT = 0x2e;
const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
const byKindAndName = (a: FileEntry, b: FileEntry): number =>
  Number(b.is_directory) - Number(a.is_directory) || byName.compare(a.name, b.name);

/** Undefined = gone meanwhile, or not to be shown. A link is described by what it leads to, where that may be seen. */
async function entryOf(
  places: FilePlaces,
  { dir, opened }: { dir: string; opened: string },
  bytes: Buffer,
): Promise<FileEntry | undefined> {
  const path = join(dir, bytes.toString());
  if (!places.allows(path)) return undefined;
  const own = await lstat(Buffer.concat([Buffer.from(`${opened}/`), bytes])).catch(() => undefined);
  if (!own) return undefined;
  const target = own.isSymbolicLink() ? await targetOf(places, path) : own;
  const isDirectory = target?.isDirectory() ?? false;
  return {
    name: basename(path),
    path,
    is_directory: isDirectory,
    is_link: own.isSymbolicLink(),
    size: isDirectory ? 0 : (target?.size ?? 0),
    mtime: isoTime(Math.round(own.mtimeMs)),
    mime_type: isDirectory ? null : mimeOf(path),
  };
}

async function targetOf(places: FilePlaces, path: string) {
  try {
    const found = await realpath(path);
    return places.allows(found) ? await stat(found) : undefined;
  } catch {
    return undefined;
  }
}

export interface OpenFile extends AsyncDisposable {
  path: string;
  name: string;
  size: number;
  mtime: string;
  mime_type: string;
  handle: FileHandle;
}

/** A regular file, and the very one that was checked. Errors: NOT_FOUND, PATH_REFUSED, FILE_FAILED. */
export async function openFile(places: FilePlaces, path: string): Promise<OpenFile> {
  const found = places.existing(path);
  // A pipe must not hold us, a link put there since the check must not be followed.
  const handle = await open(found, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((thrown: unknown) => {
    throw fileError(found, thrown);
  });
  try {
    const { size, mtimeMs, ...stats } = await handle.stat().then((all) => ({ size: all.size, mtimeMs: all.mtimeMs, isFile: all.isFile() }));
    if (!stats.isFile)
      throw new AgentError('FILE_FAILED', `${visibleText(basename(found))} is not a file`, { fix: 'only files can be read' });
    // A folder of its way may have become a link since: the kernel says what was opened.
    const opened = process.platform === 'linux' ? await realpath(`/proc/self/fd/${handle.fd}`).catch(() => found) : found;
    if (!places.allows(opened)) throw new AgentError('PATH_REFUSED', `${visibleText(basename(found))} leads out of the root of the files`);
    return {
      path: found,
      name: basename(found),
      size,
      mtime: isoTime(Math.round(mtimeMs)),
      mime_type: mimeOf(found),
      handle,
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Errors: as openFile, and FILE_TOO_LARGE. */
export async function readWhole(places: FilePlaces, path: string) {
  await using file = await openFile(places, path);
  const { name, size, mtime, mime_type } = file;
  if (size > readMaxBytes) {
    throw new AgentError('FILE_TOO_LARGE', `${visibleText(name)} has ${size} bytes; ${readMaxBytes} are shown here`, {
      fix: 'download it',
    });
  }
  const buffer = Buffer.alloc(size);
  const { bytesRead } = await file.handle.read(buffer, 0, size, 0);
  const data_url = `data:${mime_type};base64,${buffer.subarray(0, bytesRead).toString('base64')}`;
  return { path: file.path, name, data_url, size, mime_type, mtime };
}

/** It appears whole or not at all. Errors: FILE_EXISTS, FILE_TOO_LARGE, DISK_FULL, NOT_FOUND, PATH_REFUSED, FILE_FAILED. */
export async function takeIn(
  places: FilePlaces,
  { folder, name, ...rest }: { folder: string; name: string; overwrite: boolean; signal?: AbortSignal },
  content: Content,
): Promise<{ path: string; size: number }> {
  checkName(name);
  const path = places.fresh(join(places.existing(folder), name));
  await using pinned = await pinFolder(places, dirname(path));
  return { path, size: await writeWhole({ target: pinned.at(name), maxBytes: uploadMaxBytes, mode: 0o600, ...rest }, content) };
}

/** Errors: FILE_EXISTS, NOT_FOUND, PATH_REFUSED, DISK_FULL. */
export async function makeFolder(places: FilePlaces, path: string): Promise<string> {
  const made = places.fresh(path);
  await using pinned = await pinFolder(places, dirname(made));
  await mkdir(pinned.at(basename(made)), { mode: 0o755 }).catch((thrown: unknown) => {
    throw fileError(made, thrown);
  });
  return made;
}
