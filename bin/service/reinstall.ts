/** What this installation is, and so what makes it whole again: hints must be true for a clone, a package and an image. */
import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { release, type Release } from '../../state/release.ts';
import { insideContainer } from './managedBy.ts';

export type Installation = 'checkout' | 'npx' | 'global' | 'dependency' | 'image' | 'folder';

/** As README says: from the package that `npm pack` makes. */
export const GLOBAL_INSTALL = 'npm install -g ./agent-service-<version>.tgz';

/** `image`: copied into a container, outside any node_modules. `folder`: the same on a machine. */
export function installationOf({ root, built }: Pick<Release, 'root' | 'built'>, inContainer = insideContainer()): Installation {
  if (!built) return 'checkout';
  if (`${root}/`.includes('/_npx/')) return 'npx';
  const modules = dirname(root);
  if (basename(modules) === 'node_modules') return existsSync(join(dirname(modules), 'package.json')) ? 'dependency' : 'global';
  if (existsSync(join(root, 'package-lock.json'))) return 'checkout';
  return inContainer ? 'image' : 'folder';
}

/** One command or step. */
export function reinstallHint({ root, built }: Pick<Release, 'root' | 'built'> = release(), inContainer = insideContainer()): string {
  switch (installationOf({ root, built }, inContainer)) {
    case 'checkout':
      return `cd ${root} && npm ci`;
    case 'dependency':
      return `cd ${dirname(dirname(root))} && npm ci`;
    case 'npx':
    case 'global':
      return GLOBAL_INSTALL;
    case 'image':
      return 'build the image again (docker compose build), then start a container of it: docs/containers.md';
    case 'folder':
      return `put the whole package into ${root} again`;
  }
}
