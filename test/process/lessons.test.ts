/** Incidents of services like this one that no other test here is named for: ours must not repeat them. */
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { commandTable } from '../../bin/commandTable.ts';
import { sidecarSpecs } from '../../bin/sidecarSpecs.ts';
import { openReadOnly } from '../../state/db/open.ts';
import { cli } from '../harness/cli.ts';
import { freePort, testHome } from '../harness/home.ts';
import { fixture, fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.test('lesson 3: however many ask for a start at once, one process starts', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker', { start: 'manual' })]);
  const runner = service.supervisor.slots.get('a')!;
  const pids = new Set<number>();
  const asks = Array.from({ length: 10 }, async () => {
    const receipt = await service.supervisor.command('start', runner, { actor: 'test', cause: 'test', drain: true }).catch(() => undefined);
    if (receipt?.new_pid) pids.add(receipt.new_pid);
  });
  await Promise.all(asks);
  t.equal(pids.size, 1);
  t.equal(runner.restarts, 0);
});

t.test('lesson 7: planned restarts wait for no backoff, however many there were', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker', { handover: 'standby' })]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  for (let round = 0; round < 7; round++) {
    const receipt = await service.supervisor.command('restart', runner, { actor: 'test', cause: 'update', drain: true });
    t.match(receipt, { ok: true, downtime_ms: Number });
  }
  t.match({ restarts: runner.restarts, state: runner.state, next: runner.nextStartAtMs }, { restarts: 0, state: 'ready', next: null });
});

t.test('lesson 8: a restart that is run from inside the slot itself is carried out by the supervisor', async (t) => {
  using home = testHome();
  const agent = join(projectRoot, 'bin/agent');
  const script = `test -e asked || { touch asked; sh ${agent} restart inside; }; exec sleep 1000`;
  home.write(
    'config.yaml',
    JSON.stringify({ services: { inside: { command: '/bin/sh', args: ['-c', script], env: { AGENT_HOME: home.root } } } }),
  );
  await using service = await superviseFixtures(home, [], { specs: (config) => sidecarSpecs(home, config) });
  const receipts = () => service.supervisor.receipts('inside', 5);
  await until('the restart is on record', () => receipts().length > 0);
  t.match(receipts(), [{ action: 'restart', ok: true, actor: 'cli' }]);
  await service.ready('inside');
  t.equal(service.pid('inside'), receipts()[0]!.new_pid);
  t.ok(existsSync(join(home.root, 'asked')));
});

t.test('lesson 9: nothing takes over by --replace, and a gateway that is killed again and again floods no chat', async (t) => {
  const options = await Promise.all(commandTable.map(async ({ load }) => JSON.stringify(await load())));
  t.match(options.join(), /--json/, 'options are looked at');
  t.notMatch(options.join(), /--replace/);
  const port = await freePort();
  using home = testHome({
    'config.yaml': JSON.stringify({
      platforms: { webhook: { enabled: true, port, routes: { build: { prompt: '{n}', secret: 'INSECURE_NO_AUTH' } } } },
    }),
  });
  await using service = await startService(home, { env: { AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' } });
  await service.ready();
  for (let round = 0; round < 3; round++) {
    const { pid } = await service.worker('gateway');
    process.kill(pid!, 'SIGKILL');
    await until('another gateway is ready', async () => {
      const now = await service.worker('gateway');
      return now.state === 'ready' && now.pid !== pid;
    });
  }
  const db = openReadOnly(home.gatewayDb);
  try {
    t.strictSame(db.prepare('SELECT text FROM outbox').all(), []);
  } finally {
    db.close();
  }
});

t.test('lesson 10: a restart that does not succeed says so, with the reason, and exits non-zero', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  service.supervisor.slots.get('a')!.spec = {
    ...service.supervisor.slots.get('a')!.spec,
    command: [process.execPath, fixture('refusesConfig')],
  };
  const { code, stdout, stderr } = await cli(['restart', 'a'], { home });
  t.equal(code, 1);
  t.match(stdout + stderr, /agent why a|refused|not start/);
  t.notMatch(stdout, /restarted/);
});

t.test('lesson 27: two services started at the same moment on one home: one runs, the other is told', async (t) => {
  using home = testHome();
  const run = () => {
    const child = spawn(process.execPath, [join(projectRoot, 'test/fixtures/superviseFixtures.ts')], {
      env: { PATH: process.env.PATH, AGENT_HOME: home.root, SLOTS: JSON.stringify([fixtureSlot(home, 'a', 'plainWorker')]) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    const ready = new Promise<'ready' | 'ended'>((resolve) => {
      child.stdout.on('data', (chunk: Buffer) => /^ready/.test((said += chunk.toString())) && resolve('ready'));
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      child.once('exit', () => resolve('ended'));
    });
    return { child, ready, said: () => said };
  };
  const both = [run(), run()];
  const ends = await Promise.all(both.map(({ ready }) => ready));
  t.strictSame(ends.toSorted(), ['ended', 'ready']);
  t.match(both[ends.indexOf('ended')]!.said(), /ALREADY_RUNNING|already runs/);
  const slots = JSON.parse(readFileSync(home.run.slots, 'utf8')) as { slots: unknown[] };
  t.equal(slots.slots.length, 1);
  const winner = both[ends.indexOf('ready')]!.child;
  const gone = new Promise((resolve) => winner.once('exit', resolve));
  winner.kill('SIGTERM');
  await gone;
});
