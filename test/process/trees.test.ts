/** Everything that descends from a worker dies with it, by each mechanism that the machine has. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { INCARNATION_VARIABLE } from '../../base/envFilter.ts';
import { killMarked, markedProcesses } from '../../state/marks.ts';
import { groupAlive, identityOf, startTimeOf } from '../../state/processIdentity.ts';
import { Incarnation } from '../../supervisor/incarnation.ts';
import type { SlotSpec } from '../../supervisor/spec.ts';
import { Trees } from '../../supervisor/trees.ts';
import { testCgroups, withoutCgroups } from '../harness/cgroup.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

t.setTimeout(240_000);

const devNull = openSync('/dev/null', 'w');
const ask = { actor: 'test', cause: 'test', drain: true };
const isGone = (pid: number): boolean => startTimeOf(pid) === undefined;

/** A sidecar whose child has its own session, ignores SIGTERM, and says its pid in a file. */
function family(home: TestHome, more: Partial<SlotSpec> = {}): { slot: SlotSpec; grandchild: () => Promise<number> } {
  const file = join(home.root, 'grandchild');
  const inner = `trap "" TERM HUP INT; echo $$ > ${file}; while :; do sleep 1; done`;
  const slot = fixtureSlot(home, 'a', '', {
    kind: 'sidecar',
    readiness: 'none',
    command: ['/bin/sh', '-c', `setsid sh -c '${inner}' & trap "exit 0" TERM; while :; do sleep 0.05; done`],
    ...more,
  });
  const grandchild = () =>
    until('the grandchild is known', () => existsSync(file) && Number.parseInt(readFileSync(file, 'utf8'), 10) > 0).then(() =>
      Number.parseInt(readFileSync(file, 'utf8'), 10),
    );
  return { slot, grandchild };
}

t.test('a signal to the group alone leaves a grandchild with a session of its own behind; its mark finds it', async (t) => {
  using home = testHome();
  const { slot, grandchild } = family(home);
  const incarnation = Incarnation.start(slot, { trees: new Trees({ home: home.root, cgroupRoot: null }), code: 'test', outputFd: devNull });
  const pid = await grandchild();
  t.equal(await incarnation.killGroup(), true);
  t.notOk(groupAlive(incarnation.pid));
  t.notOk(isGone(pid), 'the group is gone, the grandchild is not');
  t.equal(await incarnation.killStrays(), true);
  t.ok(isGone(pid), 'the mark names it');
});

t.test('a cgroup holds it as well, and its directory goes with it', { skip: withoutCgroups() }, async (t) => {
  using home = testHome();
  await using cgroups = testCgroups();
  const trees = new Trees({ home: home.root, cgroupRoot: cgroups.root });
  t.equal(trees.hasCgroups, true);
  const { slot, grandchild } = family(home);
  const incarnation = Incarnation.start(slot, { trees, code: 'test', outputFd: devNull });
  const pid = await grandchild();
  t.same(cgroups.groups(), [incarnation.record.mark]);
  const inside = () => readFileSync(join(incarnation.cgroup!.path, 'cgroup.procs'), 'utf8').split('\n').map(Number);
  await until('it is held', () => inside().includes(pid));
  t.equal(await incarnation.killGroup(), true);
  t.ok(isGone(pid), 'without a look at marks');
  t.same(cgroups.groups(), []);
});

t.test('where no cgroup can be written everything works without', async (t) => {
  using home = testHome();
  for (const cgroupRoot of [null, '/proc', join(home.root, 'absent'), home.root]) {
    t.equal(new Trees({ home: home.root, cgroupRoot }).hasCgroups, false, String(cgroupRoot));
  }
});

for (const mechanism of ['marks', 'cgroup'] as const) {
  t.test(
    `lesson 33: by ${mechanism}, a grandchild with its own session that ignores SIGTERM is gone after a crash and after a stop`,
    { skip: mechanism === 'cgroup' && withoutCgroups() },
    async (t) => {
      using home = testHome();
      await using cgroups = mechanism === 'cgroup' ? testCgroups() : undefined;
      const slots = [fixtureSlot(home, 'a', 'leavesSession')];
      await using service = await superviseFixtures(home, slots, { cgroupRoot: cgroups?.root ?? null });
      await service.ready('a');
      const runner = service.supervisor.slots.get('a')!;
      const grandchild = () => until('the grandchild is known', () => runner.facts.grandchild as number);
      const [old, first] = [service.pid('a'), await grandchild()];
      process.kill(old, 'SIGKILL');
      await until('another process is ready', () => runner.state === 'ready' && service.pid('a') !== old);
      await until('the grandchild of the crashed one is gone', () => isGone(first));
      const second = await grandchild();
      t.not(second, first);
      t.match(await service.supervisor.command('stop', runner, ask), { ok: true });
      t.ok(isGone(second), 'gone by the time the stop is reported');
      t.same(cgroups?.groups() ?? [], []);
    },
  );
}

t.test('a next supervisor ends what an earlier one had started but not yet recorded', async (t) => {
  using home = testHome();
  const child = spawn(process.execPath, [join(projectRoot, 'test/fixtures/forgetsRecord.ts')], {
    env: { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root, SLOT: JSON.stringify(fixtureSlot(home, 'a', 'neverReady')) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [first] = (await once(child.stdout, 'data')) as [Buffer];
  await ended;
  const pid = Number(first.toString());
  t.notOk(isGone(pid), 'it lives, and no record names it');
  await using service = await superviseFixtures(home, [fixtureSlot(home, 'a', 'plainWorker')]);
  t.ok(isGone(pid));
  await service.ready('a');
});

t.test('strays of a worker that died while no supervisor ran are ended, those of another home are not', async (t) => {
  using home = testHome();
  using other = testHome();
  const mark = new Trees({ home: home.root, cgroupRoot: null }).newMark('a');
  const foreign = new Trees({ home: other.root, cgroupRoot: null }).newMark('a');
  const start = (value: string) => {
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: { [INCARNATION_VARIABLE]: value } });
    t.teardown(() => child.kill('SIGKILL'));
    return child.pid!;
  };
  const [mine, theirs] = [start(mark), start(foreign)];
  const record = { ...identityOf(mine), pid: 2 ** 22 + 1, slot: 'a', nonce: 'n', code: 'c', spawned_at: 'then', mark };
  writeFileSync(home.run.slots, JSON.stringify({ version: 1, slots: [record] }));
  await using _service = await superviseFixtures(home, []);
  await until('the stray is gone', () => isGone(mine));
  t.notOk(isGone(theirs), 'the other home keeps its own');
});

t.test('one look serves all who ask at once', async (t) => {
  using home = testHome();
  const trees = new Trees({ home: home.root, cgroupRoot: null });
  const marks = Array.from({ length: 20 }, (_, index) => trees.newMark(`s${index}`));
  const children = marks.map((mark) =>
    spawn('sleep', ['60'], { detached: true, stdio: 'ignore', env: { PATH: process.env.PATH, ...trees.environment(mark) } }),
  );
  t.teardown(() => children.forEach((child) => child.kill('SIGKILL')));
  const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };
  const [first, ...others] = marks as [string, ...string[]];
  const oneMs = await cpuMs(async () => t.ok(await trees.killMarked(first)));
  const othersMs = await cpuMs(async () => t.same([...new Set(await Promise.all(others.map((mark) => trees.killMarked(mark))))], [true]));
  t.ok(othersMs < oneMs * 8, `${Math.round(oneMs)} ms of the processor for one, ${Math.round(othersMs)} ms for nineteen`);
  t.ok(children.every(({ pid }) => isGone(pid!)));
});

const ENDS_ITS_MAIN_THREAD = `
import ctypes, threading, time
threading.Thread(target=time.sleep, args=(60,)).start()
ctypes.CDLL(None).pthread_exit(None)
`;

t.test('a program whose main thread has ended and whose others go on is alive, and is found by its mark', async (t) => {
  using home = testHome();
  const trees = new Trees({ home: home.root, cgroupRoot: null });
  const mark = trees.newMark('a');
  const child = spawn('python3', ['-c', ENDS_ITS_MAIN_THREAD], {
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, ...trees.environment(mark) },
  });
  const pid = child.pid!;
  t.teardown(() => child.kill('SIGKILL'));
  await until('its main thread is a zombie', () => /^\d+ \(.*\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8')));
  t.ok(startTimeOf(pid) !== undefined && groupAlive(pid), 'it is not taken for dead');
  t.equal(await trees.killMarked(mark), true);
  await until('it is gone', () => isGone(pid));
  t.equal(groupAlive(pid), false);
});

t.test('an entry is found wherever it stands, and only as a whole', async (t) => {
  const started = (env: NodeJS.ProcessEnv) => {
    const child = spawn('sleep', ['60'], { stdio: 'ignore', env });
    t.teardown(() => child.kill('SIGKILL'));
    return child.pid!;
  };
  const value = `test.${process.pid}`;
  const pids = [
    started({ X_MARK: value }),
    started({ A: 'x'.repeat(20_000), X_MARK: value, Z: '1' }),
    started({ NOT_X_MARK: value, X_MARK: `${value}0` }),
  ];
  await until('all are started', () => markedProcesses('X_MARK', () => true).length === 3);
  const found = markedProcesses('X_MARK', (mark) => mark === value).map(({ pid }) => pid);
  t.same(new Set(found), new Set([pids[0], pids[1]]));
  t.equal(await killMarked('X_MARK', (mark) => mark === value), true);
  t.same(pids.map(isGone), [true, true, false]);
});
