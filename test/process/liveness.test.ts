/** Hung workers told apart by what they do, and what is kept of them; healthy ones left alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { BlackBox } from '../../ipc/contracts/blackBox.ts';
import { sleep } from '../../base/time.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { fixtureSlot, superviseFixtures } from '../harness/supervisor.ts';
import { until } from '../harness/until.ts';

t.setTimeout(240_000);

const quick = { 'config.yaml': 'supervisor: { liveness: { suspect_ms: 500, kill_ms: 2500 } }\n' };

const hangs = (home: TestHome, way: string) => {
  const slot = fixtureSlot(home, 'a', 'hangs');
  return { ...slot, env: { ...slot.env, HANG: way } };
};

const boxOf = (home: TestHome): BlackBox => JSON.parse(readFileSync(join(home.crash, 'a.json'), 'utf8')) as BlackBox;

const cases = [
  {
    way: 'loop',
    word: 'blocked',
    what: 'an endless loop',
    why: /blocked its main loop: it computed for/,
    evidence: { stack: [{ function: 'endlessLoop', at: /hangs\.ts:8:/ }], resources: Object, stack_note: null },
  },
  {
    way: 'microtasks',
    word: 'blocked',
    what: 'a livelock of promises',
    why: /blocked its main loop: it computed for/,
    evidence: { stack: [{ at: /hangs\.ts/ }] },
  },
  {
    way: 'native',
    word: 'blocked',
    what: 'a lock that never comes',
    why: /it waited for .* in a call that does not return \(futex/,
    evidence: { stack: [{ function: 'native' }] },
  },
  {
    way: 'child',
    word: 'silent',
    what: 'a synchronous child process',
    why: /blocked its main loop: it stood in native code, perhaps for sleep 600, and showed no sign of life for/,
    evidence: {
      stack: [],
      word: 'blocked',
      stack_note: /its watchdog thread answered, its main thread did not/,
      process: { group: [{ command: 'sleep 600' }] },
    },
  },
  {
    way: 'immediates',
    word: 'livelocked',
    what: 'a storm of callbacks without progress',
    why: /was busy for .* without a step of its 1 unit of accepted work/,
    evidence: { process: { threads: [{ state: 'R' }] } },
  },
];

for (const { way, word, what, why, evidence } of cases) {
  t.test(`lesson 11: ${what} is seen as ${word}, its evidence is kept, and it is replaced`, async (t) => {
    using home = testHome(quick);
    await using service = await superviseFixtures(home, [hangs(home, way)]);
    await service.ready('a');
    const runner = service.supervisor.slots.get('a')!;
    const old = service.pid('a');
    process.kill(old, 'SIGUSR2');
    await until(`it is seen as ${word}`, () => runner.liveness === word);
    await until('it is replaced', () => runner.state === 'ready' && service.pid('a') !== old);
    const box = await until('its black box is there', () => boxOf(home));
    t.match(box, {
      pid: old,
      last_exit: { summary: why },
      evidence: { word, why, ...evidence },
      tail: (box.tail.some((line) => /Debugger|ws:/.test(line)) ? 'no talk of the debugger' : box.tail) as string[],
    });
    t.ok(
      box.liveness!.some((change) => change.word === word),
      'the history names it',
    );
    const logs = readdirSync(home.logs).map((name) => readFileSync(join(home.logs, name), 'utf8'));
    t.notMatch(logs.join(''), /ws:\/\//, 'the address of its debugger is told nobody');
  });
}

t.test('lesson 11: a process stopped with SIGSTOP is seen as stopped, and killed when it stays so', async (t) => {
  using home = testHome(quick);
  await using service = await superviseFixtures(home, [hangs(home, 'waits')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const old = service.pid('a');
  process.kill(old, 'SIGSTOP');
  await until('it is seen as stopped', () => runner.liveness === 'stopped');
  await until('it is replaced', () => runner.state === 'ready' && service.pid('a') !== old);
  t.match(boxOf(home), { last_exit: { summary: /stopped by a signal \(SIGSTOP\)/ }, fix: /kill -CONT/ });
});

t.test('a process that goes on in time after SIGSTOP is left alone', async (t) => {
  using home = testHome({ 'config.yaml': 'supervisor: { liveness: { suspect_ms: 400, kill_ms: 20000 } }\n' });
  await using service = await superviseFixtures(home, [hangs(home, 'waits')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const old = service.pid('a');
  process.kill(old, 'SIGSTOP');
  await until('it is seen as stopped', () => runner.liveness === 'stopped');
  process.kill(old, 'SIGCONT');
  await until('all is well again', () => runner.liveness === 'ok');
  t.equal(service.pid('a'), old);
});

t.test('lesson 12: a long model call is progress: accepted work that waits is left alone for ever', async (t) => {
  // Silent for two seconds a process is suspect: on a busy machine half a second passes without anybody's fault.
  using home = testHome({ 'config.yaml': 'supervisor: { liveness: { suspect_ms: 2000, kill_ms: 2500 } }\n' });
  await using service = await superviseFixtures(home, [hangs(home, 'waits')]);
  await service.ready('a');
  const runner = service.supervisor.slots.get('a')!;
  const old = service.pid('a');
  process.kill(old, 'SIGUSR2');
  await until('its work is known', () => runner.incarnation!.units[0] === 'model call');
  const since = performance.now();
  // Twice the time after which a hung one is killed.
  await until('time passes', async () => {
    await sleep(50);
    t.equal(runner.liveness, 'ok');
    return performance.now() - since > 5_000;
  });
  t.equal(service.pid('a'), old);
  t.equal(runner.restarts, 0);
});
