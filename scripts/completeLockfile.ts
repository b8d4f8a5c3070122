/**
 * Completes package-lock.json after `npm install`. npm leaves out optional platform builds that the
 * registry at hand does not carry, and then refuses its own lockfile at `npm ci`. What a package names as
 * optional and exact is entered here with the platform that its name tells, so that npm skips it
 * elsewhere. `--check` changes nothing and fails when an entry is missing.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Entry {
  version?: string;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const path = join(import.meta.dirname, '..', 'package-lock.json');
const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, Entry> };
const missing = findMissing(lock.packages);

if (process.argv.includes('--check')) {
  for (const name of Object.keys(missing)) process.stderr.write(`package-lock.json lacks ${name}: run node scripts/completeLockfile.ts\n`);
  process.exit(Object.keys(missing).length ? 1 : 0);
}
lock.packages = Object.fromEntries(Object.entries({ ...lock.packages, ...missing }).toSorted(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`);
process.stdout.write(`package-lock.json: ${Object.keys(missing).length} platform build(s) entered\n`);

function findMissing(packages: Record<string, Entry>): Record<string, Entry> {
  const found: Record<string, Entry> = {};
  for (const [place, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (!/^\d+\.\d+\.\d+/.test(version)) continue;
      const nested = `${place}/node_modules/${name}`;
      const hoisted = `node_modules/${name}`;
      if (nested in packages || (packages[hoisted] ?? found[hoisted])?.version === version) continue;
      // Another version stands in the shared place: this one goes below the package that names it.
      const free = packages[hoisted] === undefined && found[hoisted] === undefined;
      found[free ? hoisted : nested] = { version, ...platformOf(name), ...(entry.dev ? { dev: true } : {}), optional: true };
    }
  }
  return found;
}

/** `…-linux-arm64-musl` → os, cpu and libc, as npm writes them. */
function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[/-]/);
  const os = words.find((word) => ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'sunos', 'win32', 'wasi'].includes(word));
  const cpu = words.find((word) =>
    ['arm', 'arm64', 'ia32', 'loong64', 'mips64el', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64'].includes(word),
  );
  if (!cpu) throw new Error(`cannot tell the platform of ${name}`);
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined;
  return { cpu: [cpu], ...(os && os !== 'wasi' ? { os: [os] } : {}), ...(libc && os === 'linux' ? { libc } : {}) };
}
