/** The package as npm installs it, for benches that measure what users get. */
import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../harness/worker.ts';

/** What `npm install` makes of the tarball, without copying node_modules. */
export function layOutPackage(packageRoot: string): void {
  if (!existsSync(join(projectRoot, 'dist/bin/agentd.js'))) throw new Error('there is no dist/: run `npm run build` first');
  mkdirSync(packageRoot, { recursive: true });
  for (const part of ['dist', 'package.json']) cpSync(join(projectRoot, part), join(packageRoot, part), { recursive: true });
  mkdirSync(join(packageRoot, 'bin'));
  cpSync(join(projectRoot, 'bin/agent'), join(packageRoot, 'bin/agent'));
  symlinkSync(join(projectRoot, 'node_modules'), join(packageRoot, 'node_modules'));
}
