/** What the page does with files: list, read, take in, make, delete. Every path is checked by filePlaces.ts first. */
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, opendir, readdir, realpath, rename, rm, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { checkName, fileError, isBelow, type FilePlaces } from './filePlaces.ts';

export interface FileEntry {
  name: string;
  path: string;
  is_directory: boolean;
  is_link: boolean;
  size: number;
  mtime: string;
  mime_type: string | null;
}

const { entriesMax, readMaxBytes, uploadMaxBytes, trashKeepMs, trashMax } = limits.files;

/** Of the root; holds what was deleted until it is pruned. */
export const TRASH = '.agent-trash';

export async function listFolder(places: FilePlaces, path: string, showHidden: boolean) {
  const dir = places.existing(path);
  const root = places.root();
  const entries: FileEntry[] = [];
  let truncated = false;
  try {
    for await (const { name } of await opendir(dir)) {
      if (!showHidden && name.startsWith('.')) continue;
      const entry = await entryOf(places, join(dir, name));
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

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
const byKindAndName = (a: FileEntry, b: FileEntry): number =>
  Number(b.is_directory) - Number(a.is_directory) || byName.compare(a.name, b.name);

/** Undefined = gone meanwhile, or not to be shown. A link is described by what it leads to, where that may be seen. */
async function entryOf(places: FilePlaces, path: string): Promise<FileEntry | undefined> {
  if (!places.allows(path)) return undefined;
  const own = await lstat(path).catch(() => undefined);
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
    if (!stats.isFile) throw new AgentError('FILE_FAILED', `${basename(found)} is not a file`, { fix: 'only files can be read' });
    // A folder of its way may have become a link since: the kernel says what was opened.
    const opened = process.platform === 'linux' ? await realpath(`/proc/self/fd/${handle.fd}`).catch(() => found) : found;
    if (!places.allows(opened)) throw new AgentError('PATH_REFUSED', `${basename(found)} leads out of the root of the files`);
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
    throw new AgentError('FILE_TOO_LARGE', `${name} has ${size} bytes; ${readMaxBytes} are shown here`, { fix: 'download it' });
  }
  const buffer = Buffer.alloc(size);
  const { bytesRead } = await file.handle.read(buffer, 0, size, 0);
  const data_url = `data:${mime_type};base64,${buffer.subarray(0, bytesRead).toString('base64')}`;
  return { path: file.path, name, data_url, size, mime_type, mtime };
}

/** Written aside, then put in place in one step: nobody sees half a file. Errors: FILE_EXISTS, FILE_TOO_LARGE, DISK_FULL. */
export async function takeIn(
  places: FilePlaces,
  { folder, name, overwrite }: { folder: string; name: string; overwrite: boolean },
  content: AsyncIterable<Buffer> & { truncated?: boolean },
): Promise<{ path: string; size: number }> {
  checkName(name);
  const dir = places.existing(folder);
  const target = places.fresh(join(dir, name));
  const aside = join(dir, `.${hexId(16)}.upload`);
  const handle = await open(aside, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600).catch(
    (thrown: unknown) => {
      throw fileError(target, thrown);
    },
  );
  try {
    const size = await writeAll(handle, content, name);
    await handle.sync();
    if (overwrite) await rename(aside, target);
    else await link(aside, target);
    return { path: target, size };
  } catch (thrown) {
    throw fileError(target, thrown);
  } finally {
    await handle.close();
    await unlink(aside).catch(() => {});
  }
}

async function writeAll(handle: FileHandle, content: AsyncIterable<Buffer> & { truncated?: boolean }, name: string): Promise<number> {
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    if (size > uploadMaxBytes) throw tooLarge(name);
    await handle.writev([chunk]);
  }
  if (content.truncated) throw tooLarge(name);
  return size;
}

const tooLarge = (name: string): AgentError =>
  new AgentError('FILE_TOO_LARGE', `${name} is larger than the ${uploadMaxBytes} bytes that are taken here`, {
    fix: 'copy it with another program',
  });

/** Errors: FILE_EXISTS, NOT_FOUND, PATH_REFUSED, DISK_FULL. */
export async function makeFolder(places: FilePlaces, path: string): Promise<string> {
  const made = places.fresh(path);
  await mkdir(made, { mode: 0o755 }).catch((thrown: unknown) => {
    throw fileError(made, thrown);
  });
  return made;
}

/**
 * Into the trash of the root, or for good when asked. A folder that holds something needs `recursive`. What lies in the
 * trash already, and what lies on another file system, is only deleted for good. Errors: FILE_EXISTS, NOT_FOUND, PATH_REFUSED.
 */
export async function removeEntry(
  places: FilePlaces,
  path: string,
  { recursive = false, permanent = false }: { recursive?: boolean | undefined; permanent?: boolean | undefined },
): Promise<string | null> {
  const entry = places.entry(path);
  const root = places.root();
  if (entry === root) throw new AgentError('PATH_REFUSED', 'the root of the files cannot be deleted');
  try {
    await places.mayLeave(entry);
    const found = await lstat(entry);
    if (found.isDirectory() && !recursive && (await readdir(entry)).length > 0) {
      throw Object.assign(new Error('not empty'), { code: 'ENOTEMPTY' });
    }
    if (permanent || isBelow(join(root, TRASH), entry)) {
      // Links inside are removed, not followed.
      await rm(entry, { recursive: found.isDirectory() });
      return null;
    }
    return await putAway(root, entry);
  } catch (thrown) {
    throw fileError(entry, thrown);
  }
}

async function putAway(root: string, entry: string): Promise<string> {
  const trash = join(root, TRASH);
  await mkdir(trash, { mode: 0o700, recursive: true });
  if ((await lstat(trash)).isSymbolicLink()) throw new AgentError('PATH_REFUSED', `${TRASH} is a link`, { fix: 'remove that link' });
  const place = join(trash, trashName(basename(entry)));
  try {
    await rename(entry, place);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EXDEV') throw thrown;
    throw new AgentError('FILE_FAILED', `${basename(entry)} lies on another file system, where there is no trash`, {
      cause: thrown,
      fix: 'delete it for good',
    });
  }
  await pruneTrash(trash);
  return place;
}

/** Begins with the time of the deletion; a few letters of chance keep two of the same name and moment apart. */
function trashName(name: string): string {
  const head = `${isoTime(Date.now()).replaceAll(/[:.]/g, '-')} ${hexId(4)} `;
  let kept = name;
  while (Buffer.byteLength(head + kept) > NAME_MAX_BYTES) kept = kept.slice(0, -1);
  return (head + kept).toWellFormed();
}

/** Of Linux and macOS. */
const NAME_MAX_BYTES = 255;

async function pruneTrash(trash: string): Promise<void> {
  const names = (await readdir(trash)).toSorted();
  const tooOld = isoTime(Date.now() - trashKeepMs).replaceAll(/[:.]/g, '-');
  for (const [n, name] of names.entries()) {
    if (name >= tooOld && names.length - n <= trashMax) break;
    await rm(join(trash, name), { recursive: true, force: true });
  }
}

const TYPES: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  svg: 'image/svg+xml',
  pdf: 'application/pdf',
  json: 'application/json',
  md: 'text/markdown',
  markdown: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  xml: 'text/xml',
  css: 'text/css',
  js: 'text/javascript',
  mjs: 'text/javascript',
  zip: 'application/zip',
  gz: 'application/gzip',
  mp3: 'audio/mpeg',
  mp4: 'video/mp4',
  wav: 'audio/wav',
};
const TEXT = new Set(
  'txt log yaml yml toml ini conf cfg env sh bash zsh py rb pl go rs c h cc cpp hpp java kt ts tsx jsx sql lua php swift diff patch lock'.split(
    ' ',
  ),
);

/** By its ending: a hint for the preview, never a reason to run anything. */
export function mimeOf(path: string): string {
  const ending = extname(path).slice(1).toLowerCase();
  return TYPES[ending] ?? (TEXT.has(ending) || ending === '' ? 'text/plain' : 'application/octet-stream');
}
