/**
 * Bundles the product into `dist/`: one entry per process with shared chunks, source maps, the content
 * id of the code, and the dashboard page. `--page-if-needed` builds the page alone, and only when it is
 * missing or older than its sources (npm's `prepare`; a no-op where the build tools are not installed);
 * `--code-only` leaves the page as it is.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { commandTable } from '../bin/commandTable.ts';
import { CONTENTS, contentsOf, shippedFiles } from '../state/keptCode.ts';
import { buildPage, pageIsFresh } from './buildPage.ts';
import { asciiOnly } from './asciiOnly.ts';
import { leanBuiltins } from './leanBuiltins.ts';

const root = join(import.meta.dirname, '..');
const dist = join(root, 'dist');

/** Commands that people and prompts call all day: with what they need they are one file, since each file costs a millisecond. */
const hotCommands = commandTable.filter(({ hot }) => hot).map(({ name }) => `bin/commands/${name}.ts`);

const SUPERVISOR = 'bin/agentd';
/** In fifty files it took a fifth longer to start. */
const DASHBOARD = 'services/dashboard/main';

/**
 * Packages of which a leaner part does the same for us: of yaml its modules (the other form is 70 functions, all run
 * at the start), and for the lock of the home Node's own fs (graceful-fs loads a dozen parts of Node in order to
 * queue calls that are not made here). 6 ms of each start.
 */
const leanPackages = { yaml: join(root, 'node_modules/yaml/browser/dist/index.js'), 'graceful-fs': 'node:fs' };

/** Native modules, found beside their binaries at run time. */
const EXTERNAL = ['better-sqlite3', 'node-pty'];

if (process.argv.includes('--page-if-needed')) await pageIfNeeded();
else await buildAll();

async function pageIfNeeded(): Promise<void> {
  if (pageIsFresh(root)) return;
  if (!canResolve('vite')) return say('the page is not built: its build tools are not installed (npm ci installs them)');
  await pageStep();
  if (existsSync(join(dist, CONTENTS))) noteContents();
}

/** What a complete `dist/` holds: a package that is being replaced holds less. */
function noteContents(): void {
  writeFileSync(join(dist, CONTENTS), JSON.stringify(contentsOf(dist)));
}

async function buildAll(): Promise<void> {
  const startedAt = performance.now();
  if (!process.argv.includes('--code-only') && !pageIsFresh(root)) await pageStep();
  const staging = join(dist, '.building');
  rmSync(staging, { recursive: true, force: true });
  await bundle(staging);
  for (const name of readdirSync(staging)) {
    rmSync(join(dist, name), { recursive: true, force: true });
    renameSync(join(staging, name), join(dist, name));
  }
  rmSync(staging, { recursive: true, force: true });
  rmSync(join(dist, CONTENTS), { force: true });
  const id = contentId();
  writeFileSync(join(dist, 'code-id'), `${id}\n`);
  noteContents();
  say(`dist/ is built, code ${id}, in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
}

async function pageStep(): Promise<void> {
  mkdirSync(dist, { recursive: true });
  const { firstLoadBytes } = await buildPage(root);
  say(`dist/page is built, ${Math.ceil(firstLoadBytes / 1_000)} kB of scripts for the first load (gzipped)`);
}

async function bundle(dir: string): Promise<void> {
  const core = staticImports(['bin/main.ts', ...hotCommands]);
  const { [SUPERVISOR]: supervisor, [DASHBOARD]: dashboard, ...others } = entries();
  // With what it needs at once the supervisor is one file, shared with nobody: what it reads before the first program starts delays all of them.
  const files = [
    ...(await write(dir, others, [{ name: 'core', test: (id) => core.has(id) }])),
    ...(await write(dir, { [SUPERVISOR]: supervisor! }, [])),
    ...(await write(dir, { [DASHBOARD]: dashboard! }, [])),
  ];
  refuseMissingEntries(files);
}

/** Bundles these entries; answers the names of the files that were written. */
async function write(
  dir: string,
  input: Record<string, string>,
  groups: { name: string; test: (id: string) => boolean }[],
): Promise<string[]> {
  const { rolldown } = await import('rolldown');
  const build = await rolldown({
    cwd: root,
    input,
    platform: 'node',
    external: [/^node:/, ...EXTERNAL],
    plugins: [leanBuiltins(root), asciiOnly()],
    resolve: { alias: leanPackages },
    onLog(level, log) {
      if (level === 'warn') say(`warning: ${log.message}`);
    },
  });
  const { output } = await build.write({
    dir,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    sourcemap: true,
    sourcemapExcludeSources: true,
    // Comments are in the sources; here they would be read at each start. Notices of licences stay.
    comments: { legal: true, annotation: false, jsdoc: false },
    codeSplitting: { groups },
  });
  await build.close();
  return output.map(({ fileName }) => fileName);
}

/** Everything of ours that these files need at once. */
function staticImports(files: string[]): Set<string> {
  const found = new Set<string>();
  const visit = (file: string) => {
    if (found.has(file)) return;
    found.add(file);
    const source = readFileSync(file, 'utf8');
    for (const [, path] of source.matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+)';$/gm)) visit(join(dirname(file), path!));
  };
  for (const file of files) visit(join(root, file));
  // An entry runs when it is loaded: it must not be part of what others load.
  for (const entry of Object.values(entries())) found.delete(entry);
  return found;
}

/** One entry per process or thread: the command, the supervisor, the sweep after a stop, each worker, heavy work of tools. */
function entries(): Record<string, string> {
  const workers = readdirSync(join(root, 'services'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, 'services', entry.name, 'main.ts')))
    .map((entry) => `services/${entry.name}/main`);
  return Object.fromEntries(
    [
      'bin/main',
      'bin/agentd',
      'bin/sweep',
      'services/storeCopyThread',
      'services/agent/searchThread',
      'services/agent/thread',
      'services/agent/analyticsThread',
      ...workers,
    ].map((name) => [name, join(root, `${name}.ts`)]),
  );
}

/** The supervisor starts `dist/services/<slot>/main.js` by path. */
function refuseMissingEntries(files: string[]): void {
  const missing = Object.keys(entries()).filter((name) => !files.includes(`${name}.js`));
  if (missing.length) throw new Error(`the bundle lacks ${missing.join(', ')}`);
}

/** Changes whenever anything that is shipped changes; source maps do not count. */
function contentId(): string {
  const hash = createHash('sha256');
  const files = shippedFiles(dist)
    .filter(({ below }) => below !== 'code-id')
    .map(({ path }) => path)
    .toSorted();
  for (const file of files) hash.update(file.slice(dist.length)).update('\0').update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 12);
}

function canResolve(name: string): boolean {
  try {
    createRequire(import.meta.url).resolve(name);
    return true;
  } catch {
    return false;
  }
}

function say(text: string): void {
  process.stdout.write(`build: ${text}\n`);
}
