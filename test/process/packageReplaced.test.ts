/** The package is replaced under a running service: what runs keeps its code, what is restarted gets the new one. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import * as terminal from '../../ipc/contracts/terminal.ts';
import { onNotice } from '../../ipc/link.ts';
import { dial } from '../../ipc/dial.ts';
import { contentsOf, CONTENTS, keepCode, pruneCode } from '../../state/keptCode.ts';
import { readToken } from '../../state/home.ts';
import { layOutPackage } from '../bench/package.ts';
import { startAnthropic } from '../fakes/anthropicServer.ts';
import { startGoogle } from '../fakes/googleServer.ts';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { run } from '../harness/cli.ts';
import { cliService, type CliService } from '../harness/cliService.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(290_000);

const dir = mkdtempSync(join(tmpdir(), 'agent-replaced-'));
t.teardown(() => rmSync(dir, { recursive: true, force: true }));
const root = join(dir, 'package');
const node = join(root, 'node');

t.before(async () => {
  if (existsSync(join(projectRoot, 'dist', CONTENTS))) return;
  const built = await run(process.execPath, ['scripts/build.ts', '--code-only']);
  if (built.code !== 0) throw new Error(`the build failed:\n${built.stderr}`);
});

const install = (): void => {
  layOutPackage(root);
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
};

/** What the next release would be: other names of all chunks, and another id. */
function installNext(): string {
  install();
  const dist = join(root, 'dist');
  renameSync(join(dist, 'chunks'), join(dist, 'parts'));
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.js')))
    writeFileSync(join(dist, file), readFileSync(join(dist, file), 'utf8').replaceAll('chunks/', 'parts/'));
  const code = 'feedfeedfeed';
  writeFileSync(join(dist, 'code-id'), `${code}\n`);
  writeFileSync(join(dist, CONTENTS), JSON.stringify(contentsOf(dist)));
  return code;
}

const remove = () => rmSync(root, { recursive: true, force: true });

/** The supervisor as a service manager starts it: from the package, on the Node of the package. */
async function startInstalled(service: CliService): Promise<ChildProcess> {
  const { home } = service;
  const child = spawn(node, [join(root, 'dist/bin/agentd.js'), '--demo', '--port', '0'], {
    env: { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root, SHELL: '/bin/sh', K: 'x' },
    stdio: 'inherit',
  });
  await until('the service is ready', async () => (await service.agent('status')).code === 0, 60_000);
  return child;
}

t.test('with the package gone every worker finds what it has not loaded yet, and starts again', async (t) => {
  install();
  const code = readFileSync(join(root, 'dist', 'code-id'), 'utf8').trim();
  await using anthropic = await startAnthropic({ text: 'hello from an' });
  await using google = await startGoogle({ text: 'hello from go' });
  await using openai = await startOpenAi({ text: 'hello from op' }, { text: 'hello from box' });
  const config = `
dashboard: { port: 0 }
providers:
  an: { kind: anthropic, base_url: "${anthropic.url}", key_env: K }
  go: { kind: google, base_url: "${google.url}", key_env: K }
  op: { kind: openai, base_url: "${openai.url}", key_env: K }
  box: { kind: openai-compatible, base_url: "${openai.url}" }
`;
  await using service = cliService({ 'config.yaml': config, '.env': 'K=x\n' });
  const { home, agent } = service;
  const supervisor = await startInstalled(service);
  const ended = once(supervisor, 'exit');
  remove();

  for (const [name, model] of [
    ['an', 'claude-sonnet-4-5'],
    ['go', 'gemini-2.5-flash'],
    ['op', 'tiny-1'],
    ['box', 'tiny-1'],
  ] as const) {
    t.match(await agent('chat', '-q', 'hi', '-m', `${name}:${model}`), { code: 0, stdout: new RegExp(`hello from ${name}`) }, name);
  }
  const server = join(projectRoot, 'test/fixtures/mcp/draws.ts');
  t.match(await agent('mcp', 'add', 'draws', '--command', process.execPath, '--args', server), { code: 0 });
  t.match(await agent('mcp', 'test', 'draws'), { code: 0 }, 'the client of MCP servers is loaded late');

  t.match(await agent('start', 'terminal'), { code: 0 });
  const token = readToken(home)!;
  let text = '';
  const link = await dial(home.run.socket('terminal'), {
    token,
    slot: 'test',
    notices: [onNotice(terminal.data, ({ data }) => (text += data))],
  });
  const { pty_id } = await link.call(terminal.open, { cols: 80, rows: 24 });
  link.notify(terminal.input, { pty_id, data: 'echo $((6*7))\r' });
  await until('the shell answers', () => text.includes('42'));
  link.close();

  home.write('scripts/says.mjs', 'console.log("a script ran")\n');
  const made = await agent('cron', 'create', 'every 1h', '--script', 'says.mjs', '--name', 'says', '--json');
  t.equal(made.code, 0, made.stderr);
  t.match(await agent('cron', 'run', 'says'), { code: 0 });
  await until('its output is kept', async () => (await agent('cron', 'output', 'says')).stdout.includes('a script ran'));

  const { supervisor: seen, workers } = await service.status();
  const metrics = await fetch(new URL('/metrics', seen.dashboard!), {
    headers: { 'X-Agent-Session-Token': readFileSync(home.run.dashboardToken, 'utf8').trim() },
  });
  t.equal(metrics.status, 200, 'the metrics are loaded late');

  const pids = new Map(workers.map(({ slot, pid }) => [slot, pid]));
  for (const { pid, desired } of workers) if (pid !== null && desired === 'up') process.kill(pid, 'SIGKILL');
  await until('all of them were started again', async () => {
    const now = (await service.status()).workers.filter(({ desired }) => desired === 'up');
    return now.length > 0 && now.every(({ slot, state, pid }) => state === 'ready' && pid !== pids.get(slot));
  });
  t.match(await agent('restart', 'cron'), { code: 0 }, 'a planned restart runs the code that ran before');
  const after = await service.status();
  t.ok(after.problems.some(({ what }) => what.includes('incomplete')));
  t.same([...new Set(after.workers.flatMap((worker) => (worker.pid === null ? [] : [worker.code])))], [code]);

  await t.test('a release that is complete is what the next planned start runs; a crash runs the old one', async (t) => {
    const next = installNext();
    process.kill((await service.status()).workers.find(({ slot }) => slot === 'agent')!.pid!, 'SIGKILL');
    await until('agent is back', async () => (await agent('status')).code === 0);
    t.match(await agent('restart', 'cron'), { code: 0 });
    const codes = async () => Object.fromEntries((await service.status()).workers.map((worker) => [worker.slot, worker.code]));
    t.same(
      (await service.status()).problems.filter(({ what }) => what.startsWith('workers')),
      [],
    );
    t.match(await codes(), { agent: code, cron: next, dashboard: code });
    unlinkSync(join(root, 'dist/services/cron/main.js'));
    t.match(await agent('restart'), { code: 0 });
    t.match(await codes(), { agent: next, cron: next, dashboard: next });
    t.notOk(
      (await service.status()).problems.some(({ what }) => what.includes('incomplete')),
      'the copy is complete',
    );
    remove();
  });

  await t.test('copies that somebody removed are made again from the package', async (t) => {
    installNext();
    rmSync(join(home.cache, 'code'), { recursive: true });
    process.kill((await service.status()).workers.find(({ slot }) => slot === 'cron')!.pid!, 'SIGKILL');
    await until('cron is back', async () => (await agent('status')).code === 0);
    t.match(await agent('down'), { code: 0 });
    await ended;
    remove();
  });
});

t.test('an incomplete package is refused, and copies that nothing runs are removed', async (t) => {
  using home = testHome();
  const release = { version: '1', root, built: true, codeRoot: join(root, 'dist'), code: '' };
  const next = () => keepCode(home, { ...release, code: installNext() });
  install();
  const first = keepCode(home, release);
  t.equal(keepCode(home, release), first, 'made once');
  remove();
  t.throws(() => keepCode(home, release), { code: 'PACKAGE_INCOMPLETE' });
  install();
  writeFileSync(join(root, 'dist/code-id'), 'abc\n');
  rmSync(join(root, 'dist/services/cron/main.js'));
  t.throws(() => keepCode(home, release), { code: 'PACKAGE_INCOMPLETE' }, 'a file is missing');
  remove();
  const second = next();
  t.not(second, first);
  pruneCode(home, second, new Set([readFileSync(join(first, 'code-id'), 'utf8').trim()]));
  t.ok(existsSync(first), 'a process runs it');
  pruneCode(home, second, new Set());
  t.same([existsSync(first), existsSync(second)], [false, true]);
  t.same(readdirSync(join(home.cache, 'code')).length, 1, 'nothing half made is left');
  remove();
});
