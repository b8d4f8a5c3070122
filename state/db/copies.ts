/** Daily copies of the stores: `backups/stores/<store>-<UTC date>.db` below the folder of the profile. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '../../base/errors.ts';
import type { StoreName } from './stores.ts';

export const copiesDir = (dir: string): string => join(dir, 'backups', 'stores');

/** Newest first. */
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
