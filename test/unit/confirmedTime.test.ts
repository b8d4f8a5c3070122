/** Which time deletion by age uses after jumps of the clock, at rest and under way. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { confirmedNow, recordClocks, type Clocks } from '../../state/confirmedTime.ts';
import { testHome } from '../harness/home.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2026, 10, 22);

/** A computer with both clocks, on which the service notes them every hour while it runs. */
function computer() {
  const home = testHome();
  const clocks: Clocks = { wallMs: START, uptimeMs: 60_000, bootId: 'boot-0' };
  let boots = 0;
  const runs = (ms: number) => {
    recordClocks(home, clocks);
    for (let left = ms; left > 0; left -= HOUR) {
      clocks.wallMs += HOUR;
      clocks.uptimeMs += HOUR;
      recordClocks(home, clocks);
    }
  };
  recordClocks(home, clocks);
  return {
    clocks,
    runs,
    /** No service: the machine runs on, or is in suspend. */
    rests(ms: number) {
      clocks.wallMs += ms;
      clocks.uptimeMs += ms;
    },
    isOff(ms: number) {
      Object.assign(clocks, { wallMs: clocks.wallMs + ms, uptimeMs: 30_000, bootId: `boot-${++boots}` });
    },
    behindMs: () => clocks.wallMs - confirmedNow(home, clocks),
    record: () => recordClocks(home, clocks),
    home,
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

t.test('without a jump it is the wall time: over days, in suspend, and while the service is down', async (t) => {
  using machine = computer();
  machine.runs(3 * DAY);
  t.equal(machine.behindMs(), 0);
  machine.rests(30 * DAY);
  t.equal(machine.behindMs(), 0, 'the kernel measured that time');
  t.equal(machine.record(), 0);
});

t.test('a clock that is wrong at a start or jumps under way counts for nothing; back in order, neither', async (t) => {
  for (const [name, jump] of [
    ['26 hours at a start', (machine: ReturnType<typeof computer>) => machine.isOff(26 * HOUR)],
    ['26 hours under way', (machine: ReturnType<typeof computer>) => void (machine.clocks.wallMs += 26 * HOUR)],
  ] as const) {
    using machine = computer();
    machine.runs(2 * DAY);
    jump(machine);
    t.equal(machine.behindMs(), 26 * HOUR, name);
    machine.runs(6 * HOUR);
    t.equal(machine.behindMs(), 26 * HOUR, `${name}, six hours later`);
    machine.clocks.wallMs -= 26 * HOUR;
    t.equal(machine.behindMs(), 0, `${name}, and back`);
    machine.runs(DAY);
    t.equal(machine.behindMs(), 0);
  }
  using machine = computer();
  machine.runs(2 * DAY);
  for (let n = 0; n < 40; n++) {
    machine.isOff(400 * DAY);
    machine.record();
    t.ok(machine.behindMs() > 399 * DAY, 'however often it starts with a wrong clock');
    machine.clocks.wallMs -= 400 * DAY;
    machine.runs(HOUR);
    t.equal(machine.behindMs(), 0);
  }
});

t.test('a jump that the service has seen for 13 hours counts', async (t) => {
  using machine = computer();
  machine.runs(DAY);
  machine.isOff(20 * DAY);
  machine.runs(11 * HOUR);
  t.ok(machine.behindMs() > 19 * DAY);
  machine.runs(3 * HOUR);
  t.equal(machine.behindMs(), 0);
});

t.test('a computer that is off at night, or begins each day in 1970, still deletes: the time is behind by days at most', async (t) => {
  for (const [onMs, wrong] of [
    [8 * HOUR, false],
    [2 * HOUR, false],
    [8 * HOUR, true],
  ] as const) {
    using machine = computer();
    for (let day = 0; day < 60; day++) {
      machine.isOff(DAY - onMs);
      const { wallMs } = machine.clocks;
      if (wrong) {
        machine.clocks.wallMs = 0;
        machine.record();
        t.equal(machine.behindMs(), 0, 'never later than the wall time');
        machine.clocks.wallMs = wallMs;
      }
      machine.runs(onMs);
    }
    t.ok(machine.behindMs() <= 7 * DAY, `${onMs / HOUR} hours a day: ${machine.behindMs() / DAY} days behind`);
  }
});

t.test('a damaged record, and none, mean the wall time; the next one is whole again', async (t) => {
  using machine = computer();
  for (const content of ['', '{', '{"proven_ms":1}', '{"proven_ms":1,"uptime_ms":1,"boot_id":"x","offsets_ms":[]}']) {
    machine.home.write('clock.json', content);
    t.equal(machine.behindMs(), 0, content);
    machine.record();
    t.equal((JSON.parse(readFileSync(machine.home.clock, 'utf8')) as { offsets_ms: number[] }).offsets_ms.length, 24);
  }
});
