/** Ways in which the service starts and ends: a slot that cannot start, the foreground, a chat, a killed supervisor. */
import { once } from 'node:events';
import { chmodSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { homeIdOf, processesOfHome } from '../../state/marks.ts';
import { groupAlive, isSameProcess } from '../../state/processIdentity.ts';
import { errorOf, finished, run, spawnCli } from '../harness/cli.ts';
import { cliService, pidOf } from '../harness/cliService.ts';
import { freePort } from '../harness/home.ts';
import { homeOnTmpfs, mounts } from '../harness/smallDisk.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

t.test('a slot that cannot start is named with the reason; the rest stays up, and up exits 1', { timeout: 200_000 }, async (t) => {
  const stranger = createServer().listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const { port } = stranger.address() as { port: number };
  t.teardown(() => stranger.close());
  await using service = cliService();
  const { code, stdout, stderr } = await service.agent('up', '--demo', '--port', String(port));
  t.same({ code, stdout }, { code: 1, stdout: '' });
  t.match(stderr, new RegExp(`^agent: dashboard is waiting: .*127\\.0\\.0\\.1:${port} is taken by process ${process.pid} `));
  t.match(await service.agent('chat', '-q', 'hello'), { code: 0, stdout: /hello/ });
  t.equal((await service.agent('status')).code, 1);
});

t.test('in the foreground it runs until ctrl-C, which drains and stops all of it', { timeout: 200_000 }, async (t) => {
  await using service = cliService();
  const command = spawnCli(['up', '--foreground', '--demo', '--port', '0'], { home: service.home });
  let said = '';
  command.stdout!.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const result = finished(command);
  await until('the address is printed', () => /^Dashboard: .*\n/m.test(said));
  const { supervisor, workers } = await service.status();
  t.equal(supervisor.pid, command.pid, 'the supervisor is this very process');
  command.kill('SIGINT');
  t.match(await result, { code: 0, signal: null });
  t.same(
    workers.filter(({ pid }) => pid !== null && groupAlive(pid)),
    [],
  );
  t.equal(said.match(/Dashboard:/g)?.length, 1);
});

t.test(
  'chat starts the agent alone when no service runs, and up makes it the full service without a restart',
  { timeout: 200_000 },
  async (t) => {
    await using service = cliService();
    const first = await service.agent('chat', '-q', 'hello', '--json');
    t.equal(first.code, 1, 'without --demo and without a provider nothing answers');
    t.match(errorOf(first), { code: 'NO_PROVIDER', fix: /OPENAI_API_KEY/ });
    const alone = await service.status();
    t.same(
      alone.workers.filter(({ state }) => state === 'ready').map(({ slot }) => slot),
      ['agent'],
    );
    const port = await freePort();
    t.match(
      await service.agent('up', '--port', String(port)),
      { code: 0, stdout: new RegExp(`^Dashboard: http://127\\.0\\.0\\.1:${port}/`) },
      'contract 4: up --port counts, though the supervisor was there before',
    );
    const full = await service.status();
    t.equal(full.supervisor.pid, alone.supervisor.pid);
    t.equal(pidOf(full, 'agent'), pidOf(alone, 'agent'));
    t.same(
      full.workers.filter(({ desired, state }) => desired === 'up' && state !== 'ready'),
      [],
    );
    t.match(await service.agent('up', '--demo'), {
      code: 0,
      stderr: /started without the rehearsal model — `agent model set demo:rehearsal`/,
    });
  },
);

t.test(
  'up --demo offers the rehearsal model to the agent that a chat had started, which goes on as it is',
  { timeout: 200_000 },
  async (t) => {
    await using service = cliService();
    t.match(errorOf(await service.agent('chat', '-q', 'hello', '--json')), { code: 'NO_PROVIDER' });
    const alone = await service.status();
    t.match(await service.agent('up', '--demo', '--port', '0'), { code: 0, stderr: '' });
    const full = await service.status();
    t.equal(full.supervisor.demo, true);
    t.equal(pidOf(full, 'agent'), pidOf(alone, 'agent'));
    t.match(await service.agent('chat', '-q', 'say: 1 word'), { code: 0 });
    t.match(await service.agent('restart', 'agent'), { code: 0 });
    t.match(await service.agent('chat', '-q', 'say: 1 word'), { code: 0 }, 'a later incarnation has it, too');
  },
);

t.test('down stops workers whose supervisor was killed', { timeout: 200_000 }, async (t) => {
  // A sidecar has no socket to be asked over, and would outlive everybody.
  await using service = cliService({ 'config.yaml': "services: { bridge: { command: sh, args: ['-c', 'sleep 1000 & wait'] } }\n" });
  await service.agent('up', '--demo', '--port', '0');
  const { supervisor, workers } = await service.status();
  process.kill(supervisor.pid, 'SIGKILL');
  await until('the supervisor is gone', () => !isSameProcess(supervisor));
  t.match(await service.agent('status'), { code: 3, stdout: /agent +alone/ });
  t.match(await service.agent('down'), { code: 0, stdout: /No supervisor ran; stopped the workers it had left behind: .*agent.*bridge/ });
  t.match(await service.agent('down'), { code: 0, stdout: /^Nothing runs on/ });
  t.same(
    workers.filter(({ pid }) => pid !== null && groupAlive(pid)),
    [],
  );
});

t.test('a supervisor that ends at its start is reported with the cause, not with its last line', async (t) => {
  await using service = cliService();
  const up = [process.execPath, join(projectRoot, 'bin', 'main.ts'), 'up', '--demo', '--port', '0', '--json'];
  const result = await run('prlimit', ['--nofile=32:32', ...up], { home: service.home });
  t.equal(result.code, 1);
  t.match(errorOf(result), { code: 'START_FAILED', message: /too many files open/, fix: /LimitNOFILE/ });
  // It may have started workers before it ended.
  await service.agent('down', '--no-drain');
  await until('every process is gone', () => processesOfHome(homeIdOf(service.home.root)).length === 0);
});

t.test('a start on a full disk names it, and exits 1', mounts, async (t) => {
  await using service = cliService();
  using disk = homeOnTmpfs(service.home, 1_000);
  disk.fill(0);
  const result = await service.agent('up', '--demo', '--port', '0', '--json');
  t.equal(result.code, 1);
  t.match(errorOf(result), { code: 'DISK_FULL', fix: /free some disk space/ });
  disk.fill(4);
  t.match(errorOf(await service.agent('up', '--demo', '--port', '0', '--json')), {
    message: /no room to write/,
    fix: /free some disk space/,
  });
});

t.test('a .env that others can read is closed by up, which says so', async (t) => {
  await using service = cliService({ '.env': 'GOOD=1\n' });
  chmodSync(service.home.env, 0o644);
  const { code, stderr } = await service.agent('up', '--demo', '--port', '0');
  t.equal(code, 0);
  t.ok(stderr.includes(service.home.env));
  t.equal(statSync(service.home.env).mode & 0o777, 0o600);
});

t.test('damaged settings are reported at the first start, by up, status and errors.log', async (t) => {
  await using service = cliService({
    'config.yaml': 'platforms: [unclosed\n',
    '.env': '# a comment\nGOOD=1\nMANY="two\nlines"\n\nthis line is damaged\n',
  });
  const what = [/config\.yaml:2:1: .*the defaults are used/, /\.env:6: not of the form NAME=value/];
  const { stderr } = await service.agent('up', '--demo', '--port', '0');
  const problems = (await service.status()).problems.map((problem) => problem.what);
  const errors = readFileSync(join(service.home.logs, 'errors.log'), 'utf8');
  for (const pattern of what) {
    t.match(stderr, pattern);
    t.ok(
      problems.some((problem) => pattern.test(problem)),
      problems.join(),
    );
    t.match(errors, pattern);
  }
  service.home.write('config.yaml', 'platforms:\n  webhook: { enabled: true, port: 0 }\n');
  service.home.write('.env', 'GOOD=1\n');
  service.home.write('webhook_subscriptions.json', '{broken');
  t.match(await service.agent('gateway', 'start'), { code: 0 });
  await until('only the routes are reported', async () => {
    const found = (await service.status()).problems;
    return found.length === 1 && /webhook_subscriptions\.json cannot be read/.test(found[0]!.what);
  });
});
