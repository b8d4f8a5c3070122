/** Which release runs: version and content id of the code. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Release {
  version: string;
  /** Changes whenever the built code changes; `source` when run from a checkout. */
  code: string;
  /** Directory of the package (holds package.json). */
  root: string;
  /** True when running from `dist/`. */
  built: boolean;
  /** Directory that holds `bin/`, `services/` and, when built, `page/`. */
  codeRoot: string;
}

let once: Release | undefined;

/** Found by walking up from the entry file of the process. */
export function release(): Release {
  once ??= findRelease(import.meta.dirname);
  return once;
}

/** Content id of the code on the disk now: another one than this process runs once the package was replaced. */
export function installedCode(): string {
  try {
    return findRelease(import.meta.dirname).code;
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
  return { version, code, root, built, codeRoot: built ? dist : root };
}
