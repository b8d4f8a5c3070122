/** The supervisor over fixture workers: crashes, parking, stopping, receipts, refusals. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { dial } from '../../ipc/dial.ts';
import { status as statusMethod, stopSlot } from '../../ipc/contracts/supervisor.ts';
import { readToken } from '../../state/home.ts';
import { groupAlive, startTimeOf } from '../../state/processIdentity.ts';
import { startSupervisor } from '../../supervisor/supervisor.ts';
import { readGatewayState } from '../../state/gatewayState.ts';
import { testHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

const ask = { actor: 'test', cause: 'test', drain: true };

t.test('a worker killed with SIGKILL after a second of service is replaced at once, and status names the signal', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  await until('it has served for a second', () => Date.now() - runner.sinceMs > 1_000);
  const old = service.pid('a');
  process.kill(old, 'SIGKILL');
  await until('another process is ready', () => runner.state === 'ready' && service.pid('a') !== old);
  const [worker] = service.supervisor.status().workers;
  t.match(worker, {
    restarts: 1,
    state: 'ready',
    last_exit: {
      code: null,
      signal: 'SIGKILL',
      summary:
        /^a was killed with SIGKILL(?: by another process; the kernel killed nothing for lack of memory|; who sent it is not known) after [\d.]+ s of service$/,
    },
  });
});

t.test('the gateway of a profile whose folder is gone is stopped, and nobody complains of its files', async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': '' });
  const { dir } = home.profile('work');
  const gateway = fixtureSlot(home, 'gateway@work', 'plainWorker', { profile: 'work', start: 'gatewayState' });
  await using service = await superviseFixtures(home, [], { specs: () => (existsSync(dir) ? [gateway] : []), bootstrap: 'running' });
  await service.ready('gateway@work');
  const pid = service.pid('gateway@work');
  rmSync(dir, { recursive: true });
  service.supervisor.look();
  t.same(service.supervisor.status().problems, []);
  await until('its process is gone, and the slot', () => !groupAlive(pid) && service.supervisor.slots.size === 0);
  t.notOk(existsSync(dir), 'the folder is not made again');
});

t.test('gateway_state.json says that a restart was asked for, by whom it may be, and only until it has happened', async (t) => {
  using home = testHome();
  const asked = () => {
    const read = readGatewayState(home.gatewayState);
    return read.kind === 'present' ? read.state.restart_requested : read.kind;
  };
  {
    const gateway = fixtureSlot(home, 'gateway', 'plainWorker', { start: 'gatewayState' });
    await using service = await superviseFixtures(home, [gateway], { bootstrap: 'running' });
    await service.ready('gateway');
    t.equal(asked(), false);
    const receipt = service.supervisor.command('restart', service.supervisor.slots.get('gateway')!, ask);
    await until('it is written', () => asked() === true);
    t.match(await receipt, { ok: true, action: 'restart' });
    t.equal(asked(), false);
  }
  const leaving = fixtureSlot(home, 'gateway', 'leavesToRestart', { start: 'gatewayState' });
  await using service = await superviseFixtures(home, [leaving], { bootstrap: 'running' });
  await until('the worker itself has asked', () => asked() === true);
  t.equal(service.supervisor.slots.get('gateway')!.lastExit?.code, 75);
});

t.test('a worker that exits 78 is parked at once with the fix, and start unparks it', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'refusesConfig')]);
  const runner = service.supervisor.slots.get('a')!;
  await until('it is parked', () => runner.state === 'parked');
  t.match(service.supervisor.status().workers[0], {
    desired: 'up',
    restarts: 1,
    reason: /parked: a restart cannot help\..*platforms\.irc\.port: not a number.*write a number such as 6667.*agent start a/,
    last_exit: { code: 78, signal: null },
    next_start_at: String,
  });
  t.equal(await service.supervisor.waitReady(5_000), false, 'waiting for all to be ready ends when what is left is parked');
  const receipt = await service.supervisor.command('start', runner, ask);
  t.match(receipt, { ok: false, action: 'start', error: /not a number/ });
});

t.test('a worker that keeps crashing at start backs off, then is parked with its last words', async (t) => {
  using home = testHome({ 'config.yaml': 'supervisor: { restart: { base_ms: 5, max_ms: 10 } }\n' });
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'crashesAtStart')]);
  const runner = service.supervisor.slots.get('a')!;
  await until('it is parked', () => runner.state === 'parked');
  t.equal(runner.restarts, 5);
  t.match(runner.reason, /5 failed starts within 10 minutes.*crashed with code 1 \(Error: the flux capacitor is missing\)/);
  t.match(
    JSON.parse(readFileSync(join(home.crash, 'a.json'), 'utf8')),
    { slot: 'a', tail: ['Error: the flux capacitor is missing'] },
    'the report stays on disk',
  );
});

t.test('a worker that is not ready within its budget is killed and its slot goes on', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'neverReady', { startupMs: 300 })]);
  const runner = service.supervisor.slots.get('a')!;
  await until('it was killed', () => runner.restarts > 0);
  t.match(runner.lastExit, { summary: /killed by the supervisor because it was not ready within 300 ms/ });
});

t.test('stop drains, then kills what ignores SIGTERM, grandchildren included, and the receipt tells', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'ignoresSigterm')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const pid = service.pid('a');
  const grandchild = await until('the grandchild is known', () => runner.facts.grandchild as number);
  const receipt = await service.supervisor.command('stop', runner, ask);
  t.match(receipt, { ok: true, action: 'stop', old_pid: pid, new_pid: null, interrupted_turns: 1, drained_ms: Number });
  t.equal(groupAlive(pid), false);
  t.equal(startTimeOf(grandchild), undefined);
  t.equal(runner.state, 'down');
});

t.test('the grandchildren of a crashed worker are gone before the next incarnation starts', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'ignoresSigterm')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const old = service.pid('a');
  const grandchild = await until('the grandchild is known', () => runner.facts.grandchild as number);
  process.kill(old, 'SIGKILL');
  await until('the next one has its own grandchild', () => {
    if (!runner.incarnation || runner.incarnation.pid === old) return false;
    t.equal(startTimeOf(grandchild), undefined, 'the old grandchild is dead as soon as a new process exists');
    return true;
  });
});

t.test('restart answers with both pids and the downtime, and counts for nothing', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const old = service.pid('a');
  const receipt = await service.supervisor.command('restart', runner, ask);
  t.match(receipt, { ok: true, old_pid: old, new_pid: service.pid('a'), ready_ms: Number, downtime_ms: Number, drained_ms: Number });
  t.not(receipt.new_pid, old);
  t.equal(runner.restarts, 0);
  t.match(service.supervisor.receipts('a', 10), [{ action: 'restart' }]);
});

t.test('a stop overtakes a start that is under way, and the start says so', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'neverReady', { start: 'demand' })]);
  const runner = service.supervisor.slots.get('a')!;
  const start = service.supervisor.command('start', runner, ask);
  const refused = t.rejects(start, { code: 'SUPERSEDED' });
  t.match(await service.supervisor.command('stop', runner, { ...ask, drain: false }), { ok: true });
  await refused;
});

t.test('a second supervisor on the same home is refused and told who runs', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  await service.ready('a');
  await t.rejects(superviseFixtures(home, []), { code: 'ALREADY_RUNNING', message: new RegExp(`process ${process.pid}`) });
  t.equal(service.supervisor.slots.get('a')!.state, 'ready');
});

t.test('unknown slots are refused over the socket with the known ones named', async (t) => {
  using home = testHome();
  await using _service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  using link = await dial(home.run.supervisorSocket, { token: readToken(home)!, slot: 'cli' });
  await t.rejects(link.call(stopSlot, { slot: 'nope' }), { code: 'UNKNOWN_SLOT', fix: 'known slots: a' });
  t.match(await link.call(statusMethod, {}), { supervisor: { pid: process.pid, home: home.root }, paused: null, workers: [{ slot: 'a' }] });
});

t.test('what a worker prints reaches its log redacted', async (t) => {
  using home = testHome();
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'talksAtLength')]);
  await service.ready('a');
  process.kill(service.pid('a'), 'SIGUSR2');
  const line = await until('the line is in the log', () =>
    readFileSync(join(home.logs, 'a.log'), 'utf8')
      .split('\n')
      .find((l) => l.includes('line 1')),
  );
  t.match(JSON.parse(line), { component: 'stdio', slot: 'a', msg: 'line 1 token=[redacted]' });
});

t.test(
  'a full disk while status and records are written stops nobody',
  { skip: process.getuid?.() !== 0 && 'needs root to mount a tiny tmpfs' },
  async (t) => {
    using home = testHome();
    await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
    await service.ready('a');
    const { execFileSync } = await import('node:child_process');
    const filler = join(home.run.dir, 'filler');
    // The same files as before, on a file system with no room left.
    execFileSync('sh', [
      '-c',
      `cp -a ${home.run.dir} ${home.root}/kept && mount -t tmpfs -o size=64k tmpfs ${home.run.dir} && cp ${home.root}/kept/token ${home.run.dir}/`,
    ]);
    try {
      execFileSync('sh', ['-c', `dd if=/dev/zero of=${filler} bs=1k count=200 2>/dev/null || true`]);
      const old = service.pid('a');
      process.kill(old, 'SIGKILL');
      await until('the supervisor noticed and goes on', () => service.supervisor.slots.get('a')!.restarts >= 1);
      t.match(service.supervisor.status().workers[0], { slot: 'a', restarts: Number });
    } finally {
      execFileSync('umount', ['-l', home.run.dir]);
    }
  },
);

t.test('a home that cannot be used is refused with the directory and the fix', async (t) => {
  using home = testHome({ afile: 'x' });
  const { openHome } = await import('../../state/home.ts');
  await t.rejects(
    startSupervisor({
      home: openHome(join(home.root, 'afile', 'home')),
      release: { version: '0', code: '', root: '', built: false, codeRoot: '' },
      specs: () => [],
      demo: false,
      managedBy: 'none',
      bootstrap: undefined,
    }),
    { code: 'HOME_UNUSABLE', message: /afile/, fix: /AGENT_HOME/ },
  );
});

t.test(
  'status names the code that each worker says it runs, and a stop signal from outside is the cause of the end it leads to',
  async (t) => {
    using home = testHome();
    const older = { version: '0.0.0', code: 'older', root: '', built: false, codeRoot: '' };
    await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')], { release: older });
    await service.ready('a');
    // The fixture runs from the sources, whatever its supervisor is.
    t.equal(service.supervisor.status().workers[0]!.code, 'source');
    const runner = service.supervisor.slots.get('a')!;
    process.kill(service.pid('a'), 'SIGTERM');
    await until('it ended', () => runner.lastExit !== null);
    t.match(runner.lastExit, { code: 0, summary: /ended by SIGTERM from another process/ });
  },
);
