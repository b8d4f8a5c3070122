/** The packed product, installed globally into a clean prefix, on the node it brings along. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import type { Status } from '../../ipc/contracts/supervisor.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { run } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(290_000);

interface Packed {
  filename: string;
  files: { path: string; mode: number }[];
}

/** npm with this node, its own cache, and no home of ours. */
async function npm(args: string[], cwd: string, path = `${dirname(process.execPath)}:${process.env.PATH}`) {
  const env = {
    PATH: path,
    HOME: process.env.HOME ?? '/',
    ...(process.env.NODE_EXTRA_CA_CERTS ? { NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS } : {}),
    npm_config_update_notifier: 'false',
  };
  const result = await run('npm', args, { cwd, env });
  if (result.code !== 0) throw new Error(`npm ${args.join(' ')} ended with ${result.code}:\n${result.stderr}`);
  return result.stdout;
}

function pathOf(name: string): string {
  const found = [dirname(process.execPath), ...process.env.PATH!.split(':')]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
  return realpathSync(found!);
}

t.test('npm pack, npm install -g, and the installed command runs the whole service', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'agent-package-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const built = await run(process.execPath, ['scripts/build.ts']);
  if (built.code !== 0) throw new Error(`the build failed:\n${built.stderr}`);
  const [packed] = JSON.parse(await npm(['pack', '--json', '--ignore-scripts', '--pack-destination', dir], projectRoot)) as [Packed];

  await t.test('the package holds the built product and nothing else', async (t) => {
    const top = new Set(
      packed.files.map(({ path }) =>
        path
          .split('/')
          .slice(0, path.startsWith('dist/') ? 2 : 1)
          .join('/'),
      ),
    );
    t.same(
      [...top].filter(
        (path) => !/^(?:bin|dist\/(?:bin|chunks|services|page|code-id|contents\.json)|package\.json|docs|[A-Z]+\.md|LICENSE)$/.test(path),
      ),
      [],
    );
    t.same(
      packed.files.filter(({ path }) => path.endsWith('.ts')),
      [],
    );
    t.ok((packed.files.find(({ path }) => path === 'bin/agent')?.mode ?? 0) & 0o111, 'bin/agent is executable');
    for (const slot of ['agent', 'dashboard', 'gateway', 'cron', 'mcp', 'terminal'])
      t.ok(
        packed.files.some(({ path }) => path === `dist/services/${slot}/main.js`),
        slot,
      );
  });

  const prefix = join(dir, 'prefix');
  // A machine with npm and without a compiler, make or python3.
  const bare = join(dir, 'bare');
  mkdirSync(bare);
  for (const name of ['sh', 'env', 'node', 'npm']) symlinkSync(pathOf(name), join(bare, name));
  await npm(['install', '-g', '--prefix', prefix, join(dir, packed.filename), '--prefer-offline', '--no-audit', '--no-fund'], dir, bare);
  using home = testHome();
  // Only what every system has: the command brings its own node.
  const agent = (...args: string[]) =>
    run(join(prefix, 'bin', 'agent'), args, { home, cwd: '/', env: { PATH: '/usr/bin:/bin', NODE_COMPILE_CACHE: '' } });

  await t.test('it knows its version and code, and that nothing runs yet', async (t) => {
    const code = readFileSync(join(projectRoot, 'dist', 'code-id'), 'utf8').trim();
    t.match(await agent('--version'), { code: 0, stdout: `(${code}, node ${process.version})` });
    t.equal((await agent('status')).code, 3);
  });

  await t.test('without a compiler only terminals are missing, and the fix that doctor names builds them', async (t) => {
    const rows = JSON.parse((await agent('doctor', '--json')).stdout) as { checks: { id: string; status: string; fix: string | null }[] };
    const row = rows.checks.find(({ id }) => id === 'native:node-pty')!;
    t.equal(row.status, 'warn');
    const command = row.fix!.slice(row.fix!.indexOf('npm install'));
    const env = {
      PATH: `${dirname(process.execPath)}:${process.env.PATH}`,
      HOME: process.env.HOME ?? '/',
      NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS ?? '',
    };
    const built = await run('/bin/sh', ['-c', command], { cwd: dir, env });
    t.equal(built.code, 0, built.stderr);
    t.notMatch(built.stdout + built.stderr, /nodejs\.org/, 'no headers were fetched');
  });

  await t.test('the service comes up on the installed node, answers, and goes down without a trace', async (t) => {
    const up = await agent('up', '--demo', '--port', '0');
    t.match(up, { code: 0, stdout: /^Dashboard: http:/, stderr: '' });
    const { supervisor, workers } = JSON.parse((await agent('status', '--json')).stdout) as Status;
    try {
      const page = await (await fetch(up.stdout.trim().slice('Dashboard: '.length))).text();
      t.match(page, /<script type="module"/, 'the page is built');
      if (process.platform === 'linux')
        t.ok(readlinkSync(`/proc/${supervisor.pid}/exe`).startsWith(prefix), 'the pinned node of the package runs it');
      t.match(await agent('chat', '-q', 'run: echo it works'), { code: 0, stdout: /it works/ });
      t.match(await agent('start', 'terminal'), { code: 0, stdout: /terminal is ready/ }, 'the native module was built');
    } finally {
      t.match(await agent('down'), { code: 0, stdout: /The service is down\./ });
      await until('every process is gone', () => workers.every(({ pid }) => pid === null || !groupAlive(pid)));
    }
  });
});
