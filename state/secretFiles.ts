/** Which files of a home hold its secrets: no tool reads them, no job watches them. */
import { realpathSync } from 'node:fs';
import { basename, join, sep } from 'node:path';
import { isSecretFileName } from '../base/secretNames.ts';
import type { Home } from './home.ts';

export const inside = (dir: string, path: string): boolean => path === dir || path.startsWith(dir + sep);

/** Files below the home that hold secrets, of every profile. */
export function secretFiles(home: Home): (realPath: string) => boolean {
  const roots = spellings(home.root);
  const runs = spellings(home.run.dir);
  return (path) =>
    runs.some((run) => inside(run, path) && SECRET_OF_RUN.test(basename(path))) ||
    roots.some(
      (root) =>
        inside(root, path) &&
        (isSecretFileName(basename(path)) ||
          path.split(sep).includes('mcp-tokens') ||
          (inside(join(root, 'run'), path) && SECRET_OF_RUN.test(basename(path))) ||
          inside(join(root, 'backups'), path)),
    );
}

/** Token of the home, of the dashboard, and the secret of its cookies; one dashboard may serve one profile alone. */
const SECRET_OF_RUN = /^(?:token|dashboard-token|dashboard-signin\.json)(?:@.*)?$/;

/** A folder as it is named and as it really is: a home may be reached through a link. */
export function spellings(dir: string): string[] {
  try {
    return [...new Set([dir, realpathSync(dir)])];
  } catch {
    return [dir];
  }
}
