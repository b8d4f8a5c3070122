/** Paths as a model writes them, and where they really lead. */
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

export function absolutePath(path: string, cwd: string): string {
  if (path === '~' || path.startsWith('~/')) return join(homedir(), path.slice(1));
  return isAbsolute(path) ? resolve(path) : resolve(cwd, path);
}

/** Deeper chains of links are loops to the kernel, too. */
const LINKS_MAX = 40;

/** Where a write to the path would end up: links resolved, also where the file, or its folder, does not exist yet. */
export function realTarget(path: string, links = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || links > LINKS_MAX) return path;
    const here = join(realTarget(parent, links + 1), basename(path));
    const target = linkOf(here);
    return target === undefined ? here : realTarget(resolve(dirname(here), target), links + 1);
  }
}

/** A link that leads nowhere yet. */
function linkOf(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}

/** True for the folder itself and for everything below it. */
export const isInside = (dir: string, path: string): boolean => path === dir || path.startsWith(dir.endsWith('/') ? dir : `${dir}/`);
