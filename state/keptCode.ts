/**
 * The code that workers run: a copy of the installed release in `cache/code/`, of hard links where the file system
 * allows them. A package manager replaces its own folder file by file, and what a process has not loaded yet must
 * still be the code that it started with. Refuses a package that is incomplete.
 */
import {
  accessSync,
  constants,
  copyFileSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { AgentError, errnoOf } from '../base/errors.ts';
import { digest, hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { writeError } from './atomicFile.ts';
import type { Home } from './home.ts';
import { ORIGIN, release, type Release } from './release.ts';
import { installedModule } from './terminalModule.ts';

/** Below `dist/`, written by the build: how much a complete one holds. */
export const CONTENTS = 'contents.json';

export interface Contents {
  files: number;
  bytes: number;
}

/** Modules with compiled parts, which the bundle leaves out. */
const NATIVE = { 'better-sqlite3': true, 'node-pty': false };

/**
 * The folder with `bin/` and `services/` of the installed release, in a copy that nothing changes. Sources of a
 * checkout are run where they are. Errors: PACKAGE_INCOMPLETE, DISK_FULL, HOME_UNUSABLE.
 */
export function keepCode(home: Pick<Home, 'cache'>, { root, built, codeRoot }: Release = release()): string {
  if (!built) return codeRoot;
  try {
    return copyOf(home, root);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT' || thrown instanceof SyntaxError) throw incomplete(root, thrown);
    throw thrown instanceof AgentError ? thrown : writeError(folderOf(home), thrown);
  }
}

function copyOf(home: Pick<Home, 'cache'>, root: string): string {
  const source = join(root, 'dist');
  const code = readFileSync(join(source, 'code-id'), 'utf8').trim();
  const natives = nativeFiles(root);
  // A native module that was compiled later makes another copy, and so does the same release in another folder.
  const stamp = natives.map(({ path }) => [path, statSync(path).size, statSync(path).mtimeMs]);
  const dir = join(folderOf(home), `${code}-${digest(JSON.stringify(stamp), 8)}`);
  const dist = join(dir, 'dist');
  if (statSync(dist, { throwIfNoEntry: false })) return dist;
  const made = `${dir}.${hexId(4)}.tmp`;
  try {
    const files = shippedFiles(source);
    for (const { path, below } of files) copyInto(path, join(made, 'dist', below));
    for (const { path, below } of natives) copyInto(path, join(made, 'node_modules', below));
    copyInto(join(root, 'package.json'), join(made, 'package.json'));
    if (!isComplete(join(made, 'dist'), files)) throw incomplete(root);
    writeFileSync(join(made, ORIGIN), root, { mode: 0o700 });
    // Where nothing may be executed a native module cannot be loaded either.
    accessSync(join(made, ORIGIN), constants.X_OK);
    renameSync(made, dir);
  } catch (thrown) {
    rmSync(made, { recursive: true, force: true });
    // Another process made it at the same time.
    if (!statSync(dist, { throwIfNoEntry: false })) throw thrown;
  }
  return dist;
}

const folderOf = ({ cache }: Pick<Home, 'cache'>): string => join(cache, 'code');

const incomplete = (root: string, cause?: unknown): AgentError =>
  new AgentError('PACKAGE_INCOMPLETE', `the package in ${root} is incomplete`, {
    cause,
    fix: 'wait until its installation has finished, or install it again',
  });

/** Removes the copies that nothing runs: those that are neither this one nor of one of these code ids. */
export function pruneCode(home: Pick<Home, 'cache'>, codeRoot: string, inUse: ReadonlySet<string>): void {
  const folder = folderOf(home);
  for (const name of listed(folder)) {
    const path = join(folder, name);
    const isMade = name.endsWith('.tmp');
    if (path === dirname(codeRoot) || (!isMade && inUse.has(name.split('-')[0]!))) continue;
    // A command may be making it at this moment.
    if (isMade && Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) < limits.state.codeCopyMs) continue;
    rmSync(path, { recursive: true, force: true });
  }
}

/** Files of `dist/` that are run or served: no source maps, nothing that was installed into it later. */
export function shippedFiles(dist: string): { path: string; below: string }[] {
  return listed(dist)
    .filter((name) => name !== 'node_modules' && !name.startsWith('.'))
    .flatMap((name) => filesBelow(join(dist, name)))
    .filter((path) => !path.endsWith('.map'))
    .map((path) => ({ path, below: path.slice(dist.length + 1) }));
}

export function contentsOf(dist: string, files: readonly { below: string }[] = shippedFiles(dist)): Contents {
  const sizes = files.filter(({ below }) => below !== CONTENTS).map(({ below }) => statSync(join(dist, below)).size);
  return { files: sizes.length, bytes: sizes.reduce((sum, bytes) => sum + bytes, 0) };
}

/** Errors: SyntaxError while the file with the size is half written. */
function isComplete(dist: string, files: readonly { below: string }[]): boolean {
  const wanted = JSON.parse(readFileSync(join(dist, CONTENTS), 'utf8')) as Contents;
  const found = contentsOf(dist, files);
  return found.files === wanted.files && found.bytes === wanted.bytes;
}

/** What is loaded of the native modules on this platform. Errors: PACKAGE_INCOMPLETE. */
function nativeFiles(root: string): { path: string; below: string }[] {
  return Object.entries(NATIVE).flatMap(([name, isNeeded]) => {
    const dir = installedModule(name, root);
    if (dir === undefined && isNeeded) throw incomplete(root);
    if (dir === undefined) return [];
    const prebuilds = listed(join(dir, 'prebuilds')).filter((entry) => entry.startsWith(process.platform));
    return ['package.json', 'lib', 'build/Release', ...prebuilds.map((entry) => join('prebuilds', entry))]
      .flatMap((part) => filesBelow(join(dir, part)))
      .filter((path) => !path.endsWith('.map'))
      .map((path) => ({ path, below: join(name, path.slice(dir.length + 1)) }));
  });
}

/** A hard link; a copy where the package is on another file system or belongs to another user. */
function copyInto(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT' && !statSync(dirname(to), { throwIfNoEntry: false })) {
      mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
      return copyInto(from, to);
    }
    if (errnoOf(thrown) === 'ENOENT') throw thrown;
    copyFileSync(from, to, constants.COPYFILE_FICLONE);
  }
}

function filesBelow(path: string): string[] {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (!stat) return [];
  if (!stat.isDirectory()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Absent = empty. */
const listed = (dir: string): string[] => (statSync(dir, { throwIfNoEntry: false }) ? readdirSync(dir) : []);
