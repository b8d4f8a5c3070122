/** The files of one log over its rotations, and which of them comes next: what every reader of logs needs to agree on. */
import { existsSync, statSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';

export interface LogFileSeen {
  file: string;
  inode: number;
}

/** No log keeps more old files than this (`logging.backup_count`). */
const ROTATED_MAX = 9;
/** A rotation takes microseconds; whoever rotates all the time is looked at again in a moment. */
const SETTLE_TRIES_MAX = 10;

/** `name.log`, `name.log.1`, … newest first, as far as they exist; a rotation under way leaves a gap for a moment. */
export function rotatedFiles(path: string): string[] {
  const names = [path, ...Array.from({ length: ROTATED_MAX }, (_, i) => `${path}.${i + 1}`)];
  return names.filter((name) => existsSync(name));
}

export const inodeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.ino ?? 0;

/**
 * The file that came after the one being read; undefined while that is the newest, or while names are just being
 * changed: ask again. `isLinked`: it still has a name somewhere.
 */
export function nextLogFile(path: string, current: { inode: number; isLinked: boolean } | undefined): LogFileSeen | undefined {
  const files = settledFiles(path);
  if (!files) return undefined;
  const ours = current ? files.findIndex(({ inode }) => inode === current.inode) : -1;
  // Not listed and yet there: moved away by hand, and nothing here came after it.
  if (current && ours < 0 && current.isLinked) return undefined;
  return ours < 0 ? files.at(-1) : files[ours - 1];
}

/**
 * The log's files, newest first. A rotation renames one after the other, so a list made meanwhile may lack
 * the very file that comes next: only what two lists in a row agree on counts.
 */
function settledFiles(path: string): LogFileSeen[] | undefined {
  const list = () => rotatedFiles(path).map((file) => ({ file, inode: inodeOf(file) }));
  let before = list();
  for (let tries = 0; tries < SETTLE_TRIES_MAX; tries++) {
    const now = list();
    if (isDeepStrictEqual(now, before)) return now;
    before = now;
  }
  return undefined;
}
