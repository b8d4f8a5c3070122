/**
 * Copies of a store by the backup API: `backups/stores/<store>-<UTC date>.db` below the folder of the profile. A copy
 * gets its name only after it was synced and checked.
 */
import { chmodSync, closeSync, mkdirSync, openSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { syncFile } from '../atomicFile.ts';
import { openReadOnly, storeError, type Db } from './open.ts';
import type { StoreName } from './stores.ts';

/** Larger than any store: the copy is of one instant, and no writer makes it begin again. */
const ALL_PAGES = 2 ** 31 - 1;

const copiesDir = (dir: string): string => join(dir, 'backups', 'stores');

export const copyPath = (dir: string, name: StoreName, atMs: number): string =>
  join(copiesDir(dir), `${name}-${new Date(atMs).toISOString().slice(0, 10)}.db`);

/** Of the profile with this folder, newest first. */
export function copiesOf(dir: string, name: StoreName): string[] {
  const folder = copiesDir(dir);
  try {
    return readdirSync(folder)
      .filter((file) => new RegExp(`^${name}-\\d{4}-\\d{2}-\\d{2}\\.db$`).test(file))
      .toSorted()
      .toReversed()
      .map((file) => join(folder, file));
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

export interface CopyOrder {
  /** Folder of the profile. */
  dir: string;
  name: StoreName;
  /** The store itself. */
  path: string;
  /** Names the copy by its UTC date. The confirmed time: with the date of a wrong clock a copy would count as the newest. */
  atMs: number;
}

/** Makes the copy of today, replacing an earlier one, and removes the oldest. Errors: STORE_CORRUPT, DISK_FULL, STORE_BUSY, HOME_UNUSABLE, NOT_FOUND. */
export async function copyStore({ dir, name, path, atMs }: CopyOrder): Promise<string> {
  const final = copyPath(dir, name, atMs);
  const work = `${final}.${hexId(8)}.tmp`;
  mkdirSync(copiesDir(dir), { recursive: true, mode: 0o700 });
  refuseWithoutRoom(dir, path, (statSync(path, { throwIfNoEntry: false })?.size ?? 0) + limits.state.copyReserveBytes);
  const db = openReadOnly(path);
  try {
    closeSync(openSync(work, 'wx', 0o600));
    await db.backup(work, { progress: () => ALL_PAGES });
    finishCopy(work);
    renameSync(work, final);
    for (const old of copiesOf(dir, name)
      .filter((copy) => copy !== final)
      .slice(limits.state.copiesKept - 1))
      rmSync(old);
    return final;
  } catch (thrown) {
    throw storeError(path, thrown);
  } finally {
    db.close();
    for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(work + suffix, { force: true });
  }
}

/**
 * Every row of an open store, also of one whose file was deleted; what is stored meanwhile is included. Copies in steps, so
 * that the loop keeps turning; the last step waits until the others are on the disk, which leaves it little to sync.
 * Errors: DISK_FULL, and those of SQLite and the system.
 */
export async function copyOpenStore(db: Db, to: string): Promise<void> {
  const pages = db.pragma('page_count', { simple: true }) as number;
  refuseWithoutRoom(dirname(to), to, pages * (db.pragma('page_size', { simple: true }) as number));
  closeSync(openSync(to, 'wx', 0o600));
  let isSynced: boolean | undefined;
  const progress = ({ remainingPages }: Database.BackupMetadata): number => {
    if (remainingPages > STEP_PAGES) return STEP_PAGES;
    if (isSynced === undefined) {
      isSynced = false;
      // The last step syncs again and reports what fails.
      void flush(to).finally(() => (isSynced = true));
    }
    return isSynced ? STEP_PAGES : 0;
  };
  await db.backup(to, { progress });
  syncFile(to);
}

/** Some milliseconds of work. */
const STEP_PAGES = 500;

async function flush(path: string): Promise<void> {
  const file = await open(path, 'r+').catch(() => undefined);
  await file?.sync().catch(() => {});
  await file?.close().catch(() => {});
}

/** Checked page by page, private and on disk. */
function finishCopy(work: string): void {
  const copy = new Database(work);
  try {
    // Otherwise a reader of the copy would need to write beside it.
    copy.pragma('journal_mode = DELETE');
    const verdict = copy.pragma('quick_check(1)', { simple: true });
    if (verdict !== 'ok') throw new AgentError('STORE_CORRUPT', `the store is damaged, so no copy was made: ${String(verdict)}`);
  } finally {
    copy.close();
  }
  chmodSync(work, 0o600);
  syncFile(work);
}

function refuseWithoutRoom(dir: string, path: string, neededBytes: number): void {
  const { bavail, bsize } = statfsSync(dir);
  if (bavail * bsize >= neededBytes) return;
  throw new AgentError('DISK_FULL', `a copy of ${path} needs ${Math.ceil(neededBytes / 2 ** 20)} MiB of free space`, {
    fix: 'free some disk space; the copy is tried again within the hour',
  });
}
