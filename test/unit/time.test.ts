import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { formatDuration, jitteredDelayMs, parseDurationMs, sleep, systemClock, within, type Clock } from '../../base/time.ts';

/** A clock that moves only when told. */
function virtualClock(): Clock & { pass(ms: number): void; waiting: number } {
  let now = 0;
  const timers = new Set<{ at: number; callback: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    pass(ms) {
      now += ms;
      for (const timer of Array.from(timers)) if (timer.at <= now && timers.delete(timer)) timer.callback();
    },
    get waiting() {
      return timers.size;
    },
  };
}

t.test('sleep ends in time, or at once when its signal aborts, and leaves no timer', async (t) => {
  const clock = virtualClock();
  let done = false;
  const sleeping = sleep(100, undefined, clock).then(() => (done = true));
  clock.pass(99);
  await Promise.resolve();
  t.notOk(done);
  clock.pass(1);
  await sleeping;
  const stop = new AbortController();
  const interrupted = sleep(100, stop.signal, clock);
  stop.abort(new Error('woken'));
  await t.rejects(interrupted, /woken/);
  await t.rejects(sleep(100, AbortSignal.abort(new Error('never slept')), clock), /never slept/);
  t.equal(clock.waiting, 0);
});

t.test('within: the result, the failure, the limit or the abort, whichever is first', async (t) => {
  const clock = virtualClock();
  const what = 'the thing';
  t.equal(await within(Promise.resolve(5), { ms: 10, what, clock }), 5);
  await t.rejects(within(Promise.reject(new Error('failed')), { ms: 10, what, clock }), /failed/);
  const never = new Promise<never>(() => {});
  const late = within(never, { ms: 10, what, clock });
  clock.pass(10);
  await t.rejects(late, { code: 'TIMEOUT', message: 'the thing took longer than 10 ms' });
  const stop = new AbortController();
  const aborted = within(never, { ms: 10, what, clock, signal: stop.signal });
  stop.abort(new AgentError('CANCELLED', 'enough'));
  await t.rejects(aborted, { code: 'CANCELLED' });
  t.equal(clock.waiting, 0, 'no timer is left');
});

t.test('within: what fails after nobody waits any more does not crash the process', async (t) => {
  const unhandled: unknown[] = [];
  const note = (thrown: unknown) => unhandled.push(thrown);
  process.on('unhandledRejection', note);
  const failing = () => sleep(5).then(() => Promise.reject(new Error('too late to matter')));
  await within(failing(), { ms: 1, what: 'x' }).catch(() => {});
  await within(failing(), { ms: 100, what: 'x', signal: AbortSignal.abort(new Error('aborted before')) }).catch(() => {});
  await sleep(30);
  process.off('unhandledRejection', note);
  t.same(unhandled, []);
});

t.test('a delay longer than a timer holds does not fire at once', async (t) => {
  let fired = false;
  const cancel = systemClock.after(2 ** 33, () => (fired = true));
  await sleep(20);
  cancel();
  t.notOk(fired);
});

t.test('durations, read and written', async (t) => {
  const given = ['250ms', '90s', '10m', '2h', '1d', '1.5h', ' 5s ', '0s', '', '5', 's', '-1s', '1 h', '1w', '1h30m'];
  t.same(given.map(parseDurationMs), [
    250,
    90_000,
    600_000,
    7_200_000,
    86_400_000,
    5_400_000,
    5_000,
    0,
    ...Array.from({ length: 7 }, () => undefined),
  ]);
  t.same([0, 340, 999.6, 4_240, 59_900, 60_000, 185_000, 7_500_000, 273_600_000].map(formatDuration), [
    '0 ms',
    '340 ms',
    '1.0 s',
    '4.2 s',
    '60 s',
    '1 min',
    '3 min',
    '2 h 5 min',
    '3 d 4 h',
  ]);
});

t.test('back-off: full jitter under a doubling cap that does not overflow', async (t) => {
  const at = (attempt: number, random: number) => jitteredDelayMs(attempt, { baseMs: 500, maxMs: 60_000, random: () => random });
  t.same(
    [0, 1, 2, 6, 7, 5_000].map((attempt) => at(attempt, 1)),
    [500, 1_000, 2_000, 32_000, 60_000, 60_000],
  );
  t.same([at(3, 0), at(3, 0.5)], [0, 2_000]);
});
