/** Which release runs: version and content id of the code, and where it was installed. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Release {
  version: string;
  /** Changes whenever the built code changes; `source` when run from a checkout. */
  code: string;
  /** Directory of the package as it was installed (holds package.json). */
  root: string;
  /** True when running from `dist/`. */
  built: boolean;
  /** Directory of the code that runs: holds `bin/`, `services/` and, when built, `page/`. */
  codeRoot: string;
}

/** In a copy of the code (keptCode.ts): names the package that it was made of. */
export const ORIGIN = 'origin';

let once: Release | undefined;

/** Found by walking up from the entry file of the process. */
export function release(): Release {
  once ??= findRelease(import.meta.dirname);
  return once;
}

/** Content id of the code on the disk now: another one than this process runs once the package was replaced. */
export function installedCode(): string {
  try {
    const { root, built } = release();
    return built ? findRelease(join(root, 'dist')).code : 'source';
  } catch {
    // It is being replaced.
    return release().code;
  }
}

function findRelease(from: string): Release {
  let root = from;
  while (!existsSync(join(root, 'package.json'))) {
    const parent = dirname(root);
    if (parent === root) throw new Error(`no package.json above ${from}`);
    root = parent;
  }
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const dist = join(root, 'dist');
  const built = from === dist || from.startsWith(`${dist}/`);
  const idFile = join(dist, 'code-id');
  const code = built && existsSync(idFile) ? readFileSync(idFile, 'utf8').trim() : 'source';
  const origin = join(root, ORIGIN);
  const installedIn = built && existsSync(origin) ? readFileSync(origin, 'utf8') : root;
  return { version, code, root: installedIn, built, codeRoot: built ? dist : root };
}
