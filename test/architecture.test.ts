/**
 * What may import what (house, "Folders"), which files may start processes or append to files, and how
 * long a file may get. Reads the sources; a minimum of files keeps it from passing by reading nothing.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import t from 'tap';
import { errorsDoc } from '../scripts/errorsDoc.ts';
import { openapiDoc } from '../scripts/openapiDoc.ts';
import { openrpcDoc } from '../scripts/openrpcDoc.ts';
import { lockfileProblems, readLockfile } from '../scripts/lockfile.ts';

const root = join(import.meta.dirname, '..');

interface Source {
  /** Below the root, with slashes. */
  file: string;
  text: string;
  imports: { target: string; typeOnly: boolean }[];
}

const folders = [
  'base',
  'ipc',
  'state',
  'supervisor',
  'services',
  'agent',
  'chat',
  'bin',
  'scripts',
  'web',
  'desktop',
  'systemd',
  'launchd',
  'test',
];
const sources = folders.flatMap((folder) => filesBelow(folder)).map(read);
const product = sources.filter(({ file }) => !file.startsWith('test/') && !file.startsWith('scripts/'));

/** Folder → what it may import of ours. `services/x` means the worker's own folder. */
const allowed: Record<string, readonly string[]> = {
  base: ['base'],
  ipc: ['base', 'ipc'],
  state: ['base', 'state'],
  agent: ['base', 'agent'],
  supervisor: ['base', 'ipc', 'state', 'supervisor'],
  services: [
    'base',
    'ipc',
    'state',
    'services/worker.ts',
    'services/manifest.ts',
    'services/inherited.ts',
    'services/successor.ts',
    'services/storeGuard.ts',
    'services/heartbeat.ts',
    'services/mendedStore.ts',
    'services/liveFiles.ts',
    'services/storeCopyThread.ts',
  ],
  chat: ['base', 'ipc', 'chat'],
  bin: [
    'base',
    'ipc',
    'state',
    'chat',
    'bin',
    'services/manifest.ts',
    'agent/models/kinds.ts',
    'agent/models/resolve.ts',
    'agent/sandbox/support.ts',
    'systemd',
    'launchd',
  ],
  systemd: ['base', 'state', 'systemd'],
  launchd: ['base', 'state', 'launchd'],
  web: ['web'],
  desktop: ['desktop'],
};

/** Beyond the rows above, each for its reason. */
const exceptions: Record<string, readonly string[]> = {
  // The engine is a library; its worker is the one that fills its ports.
  'services/agent': ['agent'],
  // One way to write a conversation down, for the page and the command; and one to show a stranger's words.
  'web/chat': ['chat/sessionMarkdown.ts', 'base/visibleText.ts'],
  'web/files': ['base/visibleText.ts'],
  'web/logs': ['base/visibleText.ts'],
  'web/mcp': ['base/visibleText.ts'],
  'web/ui': ['base/visibleText.ts'],
  'web/workers': ['base/visibleText.ts'],
  // The supervisor knows no service: its entry hands it the manifest.
  'bin/agentd.ts': ['supervisor'],
  // One table of causes, for the ends of workers and for that of a supervisor at its start.
  'bin/launch.ts': ['supervisor/causes.ts'],
  'bin/slotSpecs.ts': ['supervisor/spec.ts'],
  'bin/sidecarSpecs.ts': ['supervisor/spec.ts'],
};

const SHARED_WITH_THE_PAGE = new Set(['chat/sessionMarkdown.ts', 'base/visibleText.ts']);

/** Starting processes is worth a second look: each of these ends what it starts, whole group included. */
const starters = [
  'agent/sandbox/support.ts',
  'agent/tools/command.ts',
  'base/runCommand.ts',
  'bin/editConfig.ts',
  'bin/launch.ts',
  'bin/openBrowser.ts',
  'bin/succession.ts',
  'bin/mcpInstall.ts',
  'chat/repl/outside.ts',
  'services/agent/sandbox/network.ts',
  'services/cron/script.ts',
  'services/dashboard/actions.ts',
  'services/mcp/stdioChild.ts',
  'services/terminal/shell.ts',
  'state/marks.ts',
  'state/processIdentity.ts',
  'supervisor/incarnation.ts',
  'supervisor/keeper.ts',
  'supervisor/output.ts',
  'systemd/notify.ts',
  'systemd/sweep.ts',
];
const STARTS = /['"](?:node:)?(?:child_process|cluster)['"]|from '(?:execa|node-pty)'|import\('(?:execa|node-pty)'\)/;

/** Lessons 21: side files grow beside the rotation. Only this one appends. */
const appenders = [
  'base/logFile.ts',
  // Makes the store's file with its mode before SQLite opens it.
  'state/db/open.ts',
];
const APPENDS = /\b(?:appendFile|appendFileSync|createWriteStream|O_APPEND)\b|flags?: 'a|, 'a[sx]?\+?'[,)]/;

/** Where a name says nothing. */
const EMPTY_NAMES = /(?:^|\/)(?:utils?|helpers?|managers?|common|misc|index)\.tsx?$/i;
const LINES_MAX = 500;

t.test('the sources are really read', async (t) => {
  t.ok(product.length >= 150, `${product.length} product files, at least 150 expected`);
  const imports = product.flatMap((source) => source.imports);
  t.ok(imports.length >= 400, `${imports.length} imports, at least 400 expected`);
});

t.test('every import goes down: what a folder may use is listed', async (t) => {
  t.same(product.flatMap(forbiddenImports), []);
});

t.test('nothing in the product imports bin, scripts or test', async (t) => {
  const upward = product
    .filter(({ file }) => !file.startsWith('bin/'))
    .flatMap(({ file, imports }) =>
      imports.filter(({ target }) => /^(?:bin|scripts|test)\//.test(target)).map(({ target }) => `${file} → ${target}`),
    );
  t.same(upward, []);
});

t.test('the page takes nothing but types from the contracts, and what it shares with commands', async (t) => {
  const values = product
    .filter(({ file }) => file.startsWith('web/'))
    .flatMap(({ file, imports }) =>
      imports
        .filter(
          ({ target, typeOnly }) =>
            !target.startsWith('web/') && !SHARED_WITH_THE_PAGE.has(target) && !(typeOnly && target.startsWith('ipc/')),
        )
        .map(({ target }) => `${file} → ${target}`),
    );
  t.same(values, []);
});

t.test('only listed files start processes', async (t) => {
  const found = product.filter(({ file, text }) => !file.startsWith('web/') && STARTS.test(text)).map(({ file }) => file);
  t.same(
    found.filter((file) => !starters.includes(file)),
    [],
  );
});

t.test('lesson 21: only the log file writer appends to files', async (t) => {
  const found = product.filter(({ text }) => APPENDS.test(withoutComments(text))).map(({ file }) => file);
  t.same(
    found.filter((file) => !appenders.includes(file)),
    [],
  );
});

t.test('files are named for what they export and stay readable', async (t) => {
  t.same(
    product.map(({ file }) => file).filter((file) => EMPTY_NAMES.test(file)),
    [],
  );
  const long = product.map(({ file, text }) => ({ file, lines: text.split('\n').length })).filter(({ lines }) => lines > LINES_MAX);
  t.same(long, []);
});

t.test('docs/ERRORS.md is the table of base/errors.ts', async (t) => {
  t.equal(readFileSync(join(root, 'docs', 'ERRORS.md'), 'utf8'), errorsDoc, 'node scripts/errorsDoc.ts --write brings it up to date');
});

t.test('docs/openrpc.json is the gateway RPC of ipc/contracts', async (t) => {
  t.ok(
    readFileSync(join(root, 'docs', 'openrpc.json'), 'utf8') === openrpcDoc(),
    'node scripts/openrpcDoc.ts --write brings it up to date',
  );
});

t.test('docs/openapi.json is the HTTP API of ipc/contracts/http', async (t) => {
  t.ok(
    readFileSync(join(root, 'docs', 'openapi.json'), 'utf8') === openapiDoc(),
    'node scripts/openapiDoc.ts --write brings it up to date',
  );
});

t.test('the lockfile is whole: pins of node, packages of other platforms, no address of a registry', async (t) => {
  t.same(lockfileProblems(readLockfile()), [], 'node scripts/lockfile.ts --write repairs it');
});

function forbiddenImports({ file, imports }: Source): string[] {
  const folder = file.split('/')[0]!;
  const own = file.split('/').length > 2 ? file.split('/').slice(0, 2).join('/') : file;
  const may = [...(allowed[folder] ?? []), ...(exceptions[own] ?? []), ...(folder === 'services' ? [own] : [])];
  return imports
    .filter(
      ({ target, typeOnly }) => !may.some((path) => target === path || target.startsWith(`${path}/`)) && !(folder === 'web' && typeOnly),
    )
    .map(({ target }) => `${file} → ${target}`);
}

function read(file: string): Source {
  const text = readFileSync(join(root, file), 'utf8');
  const found = text.matchAll(/^(?:import|export) (type )?[^;'"]*?(?:from )?'(\.[^']+)'|import\('(\.[^']+)'\)/gm);
  const imports = [...found].map(([, type, from, dynamic]) => ({
    target: relative(root, join(root, dirname(file), (from ?? dynamic)!)).replaceAll('\\', '/'),
    typeOnly: type !== undefined,
  }));
  return { file, text, imports };
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(?:ts|tsx|mts)$/.test(entry.name))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'));
  } catch {
    return [];
  }
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}
