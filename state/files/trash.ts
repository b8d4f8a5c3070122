/**
 * What was deleted: moved into the trash of the root, kept for a month, put back on request. Beside it stands where it
 * came from. What lies on another file system, and what lies in the trash already, is only deleted for good.
 */
import { lstat, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { visibleText } from '../../base/visibleText.ts';
import { pinFolder } from './pinned.ts';
import { checkName, fileError, isBelow, type FilePlaces } from './places.ts';

const { trashKeepMs, trashMax, trashNameMaxBytes } = limits.files;

/** Of the root. */
export const TRASH = '.agent-trash';
/** Of the trash: a file for each entry, by the same name, that holds where it came from. */
const ORIGINS = '.origins';

export interface TrashEntry {
  /** In the trash: the time of the deletion, then what it was called. */
  name: string;
  path: string;
  /** Where it lay, from the root on; null where nobody wrote it down. */
  origin: string | null;
  deleted_at: string;
  is_directory: boolean;
  /** Bytes; 0 for a folder. */
  size: number;
}

/**
 * Answers where it lies now; null = it is gone for good. A folder that holds something needs `recursive`.
 * Errors: FILE_EXISTS, NOT_FOUND, PATH_REFUSED, FILE_FAILED.
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
    await using pinned = await pinFolder(places, dirname(entry));
    const held = pinned.at(basename(entry));
    const found = await lstat(held);
    if (found.isDirectory() && !recursive && (await readdir(held)).length > 0) {
      throw Object.assign(new Error('not empty'), { code: 'ENOTEMPTY' });
    }
    if (permanent || isBelow(join(root, TRASH), entry)) {
      // Links inside are removed, not followed.
      await rm(held, { recursive: found.isDirectory() });
      if (dirname(entry) === join(root, TRASH)) await rm(originFile(root, basename(entry)), { force: true });
      return null;
    }
    return await putAway({ root, entry, nowMs: places.confirmedNow() }, held);
  } catch (thrown) {
    throw fileError(entry, thrown);
  }
}

/** What lies in the trash, the latest first. Errors: PATH_REFUSED. */
export async function listTrash(places: FilePlaces): Promise<{ root: string; path: string; entries: TrashEntry[] }> {
  const root = places.root();
  const path = join(root, TRASH);
  await refuseLink(path);
  const names = await readdir(path).catch(() => []);
  const entries: TrashEntry[] = [];
  for (const name of names.filter(isDeleted).toSorted().toReversed()) {
    const found = await lstat(join(path, name)).catch(() => undefined);
    if (!found) continue;
    const [, day, hour, minute, second, millis] = DELETED.exec(name)!;
    entries.push({
      name,
      path: join(path, name),
      origin: await readFile(originFile(root, name), 'utf8').catch(() => null),
      deleted_at: `${day}T${hour}:${minute}:${second}.${millis}Z`,
      is_directory: found.isDirectory(),
      size: found.isDirectory() ? 0 : found.size,
    });
  }
  return { root, path, entries };
}

/**
 * Puts an entry back where it came from, or into `folder`. `wanted`: its name in the trash, or the path it had; of several
 * the one deleted last. Answers where it lies. Errors: NOT_FOUND, FILE_EXISTS, PATH_REFUSED, FILE_FAILED.
 */
export async function restoreEntry(places: FilePlaces, wanted: string, folder?: string): Promise<string> {
  const { root, entries } = await listTrash(places);
  const asked = isBelow(root, wanted) ? relative(root, wanted) : wanted;
  const entry =
    entries.find(({ name }) => name === basename(wanted)) ??
    entries.find(({ origin }) => origin === asked) ??
    entries.find(({ origin }) => origin !== null && basename(origin) === wanted);
  if (!entry)
    throw new AgentError('NOT_FOUND', `${visibleText(wanted)} does not lie in the trash`, { fix: 'look with: agent files trash' });
  const target = targetOf(places, entry, folder);
  try {
    await using pinned = await pinFolder(places, dirname(target));
    const held = pinned.at(basename(target));
    // A moment later it could be taken; then a folder is refused by the system, and nothing else comes here that fast.
    if (await lstat(held).catch(() => undefined)) throw Object.assign(new Error('taken'), { code: 'EEXIST' });
    await rename(entry.path, held);
  } catch (thrown) {
    throw fileError(target, thrown);
  }
  await rm(originFile(root, entry.name), { force: true });
  return target;
}

function targetOf(places: FilePlaces, { origin, name }: TrashEntry, folder: string | undefined): string {
  const named = origin === null ? name.slice(STAMP_LENGTH + 1) : basename(origin);
  if (folder !== undefined) return places.fresh(join(places.existing(folder), named));
  const fix = 'name a folder to put it into';
  if (origin === null) throw new AgentError('NOT_FOUND', `nobody wrote down where ${visibleText(named)} lay`, { fix });
  try {
    return places.fresh(origin);
  } catch (thrown) {
    if (!(thrown instanceof AgentError) || thrown.code !== 'NOT_FOUND') throw thrown;
    throw new AgentError('NOT_FOUND', `the folder of ${visibleText(origin)} is gone`, { cause: thrown, fix });
  }
}

/** `held`: the entry by way of its pinned folder. */
async function putAway({ root, entry, nowMs }: { root: string; entry: string; nowMs: number }, held: string): Promise<string> {
  const trash = join(root, TRASH);
  await mkdir(trash, { mode: 0o700, recursive: true });
  await refuseLink(trash);
  await mkdir(join(trash, ORIGINS), { mode: 0o700, recursive: true });
  await refuseLink(join(trash, ORIGINS));
  const place = await claimPlace(root, entry);
  const origin = originFile(root, basename(place));
  try {
    await rename(held, place);
  } catch (thrown) {
    await rm(origin, { force: true });
    if (errnoOf(thrown) !== 'EXDEV') throw thrown;
    throw new AgentError('FILE_FAILED', `${visibleText(basename(entry))} lies on another file system, where there is no trash`, {
      cause: thrown,
      fix: 'delete it for good',
    });
  }
  await pruneTrash(trash, nowMs);
  return place;
}

const stampOf = (epochMs: number): string => isoTime(epochMs).replaceAll(/[:.]/g, '-');
const STAMP_LENGTH = stampOf(0).length;
const DELETED = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)-(\d{3})Z /;
const isDeleted = (name: string): boolean => DELETED.test(name);
const originFile = (root: string, name: string): string => join(root, TRASH, ORIGINS, name);

/** The origin is written first, by one alone: two of one name at one moment do not end up in one place. */
async function claimPlace(root: string, entry: string): Promise<string> {
  const short = Buffer.from(basename(entry))
    .subarray(0, trashNameMaxBytes)
    .toString()
    .replace(/\ufffd$/, '');
  checkName(short);
  for (let at = Date.now(); ; at++) {
    const name = `${stampOf(at)} ${short}`;
    const place = join(root, TRASH, name);
    if (await lstat(place).catch(() => undefined)) continue;
    try {
      await writeFile(originFile(root, name), relative(root, entry), { flag: 'wx', mode: 0o600 });
      return place;
    } catch (thrown) {
      if (errnoOf(thrown) !== 'EEXIST') throw thrown;
    }
  }
}

async function refuseLink(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (found?.isSymbolicLink()) throw new AgentError('PATH_REFUSED', `${basename(path)} is a link`, { fix: 'remove that link' });
}

/** The names begin with the time of the deletion. What is called otherwise was put there by somebody else, and stays. */
async function pruneTrash(trash: string, nowMs: number): Promise<void> {
  const names = (await readdir(trash)).filter(isDeleted).toSorted();
  const tooOld = stampOf(nowMs - trashKeepMs);
  for (const [n, name] of names.entries()) {
    if (name >= tooOld && names.length - n <= trashMax) break;
    await rm(join(trash, name), { recursive: true, force: true });
    await rm(join(trash, ORIGINS, name), { force: true });
  }
  // Of entries that were taken out with another program.
  for (const name of await readdir(join(trash, ORIGINS))) {
    if (name < tooOld) await rm(join(trash, ORIGINS, name), { force: true });
  }
}
