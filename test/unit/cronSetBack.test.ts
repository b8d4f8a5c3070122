/** Clocks set back: fixed hours run once for each instant; patterns about elapsed time and intervals continue. */
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { claimDue } from '../../services/cron/claims.ts';
import { nextAfter, parseSchedule } from '../../services/cron/schedule.ts';
import { realign } from '../../services/cron/setBack.ts';
import { openCronStore, type CronStore } from '../../services/cron/store.ts';
import { testHome } from '../harness/home.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.UTC(2026, 2, 10, 8, 0);
const log = createLogger({ sink: { write() {}, close() {} }, component: 'cron' });

function addJob(store: CronStore, text: string): void {
  const schedule = parseSchedule(text, { nowMs: START, zone: 'UTC' });
  store.insertJob({
    id: text,
    name: text,
    prompt: 'p',
    script: null,
    schedule,
    deliver: 'local',
    enabled: true,
    repeatTimes: null,
    repeatCompleted: 0,
    nextRunMs: nextAfter(schedule, START)!,
    lastRunMs: null,
    lastStatus: null,
    lastError: null,
    createdMs: START,
    createdBy: null,
  });
}

/** One home under a clock of its own. `ran` are the instants that were claimed for a run, by job. */
function scene(store: CronStore, schedules: string[]) {
  for (const text of schedules) addJob(store, text);
  let nowMs = START;
  const ran = new Map<string, number[]>(schedules.map((text) => [text, []]));
  const claim = (): void => {
    const { claimed } = claimDue(store, { nowMs, isBusy: () => false, catchUp: true, log });
    for (const id of claimed) {
      const run = store.run(id)!;
      ran.get(run.job_id)!.push(run.scheduled_instant!);
      store.endRun(id, { status: 'ok', atMs: nowMs, error: null, outputPath: null, delivery: 'none' });
    }
  };
  return {
    ran: (text: string): number[] => ran.get(text)!,
    now: (): number => nowMs,
    pass(ms: number): void {
      for (const endMs = nowMs + ms; nowMs < endMs;) {
        nowMs = Math.min(endMs, nowMs + MINUTE);
        claim();
      }
    },
    step(ms: number, running: boolean): void {
      nowMs += ms;
      if (running && ms < 0) realign(store, nowMs, -ms);
      if (!running) realign(store, nowMs);
      claim();
    },
  };
}

const notes = (store: CronStore, jobId: string) =>
  store.runs({ jobId, limit: 100 }).filter((run) => run.status === 'skipped' && run.scheduled_instant === null);

for (const running of [true, false]) {
  const when = running ? 'while cron runs' : 'at rest';
  t.test(`set back by two hours ${when}: fixed hours do not run again and leave a record, elapsed time does`, async (t) => {
    using home = testHome();
    using store = openCronStore(home.cronDb);
    const clock = scene(store, ['0 9 * * *', '0 * * * *', 'every 10m']);
    clock.pass(90 * MINUTE);
    clock.step(-2 * HOUR, running);
    clock.pass(3 * HOUR);
    t.same(clock.ran('0 9 * * *'), [START + HOUR]);
    t.same(clock.ran('0 * * * *').filter((at) => at === START + HOUR).length, 2);
    t.ok(clock.ran('every 10m').length >= 9 + 17, 'the interval keeps its pace');
    t.same(notes(store, '0 9 * * *').length, 1);
    clock.pass(24 * HOUR);
    t.same(clock.ran('0 9 * * *'), [START + HOUR, START + 25 * HOUR], 'the next day is as ever');
  });

  t.test(`set back by four hours ${when}: fixed hours run again`, async (t) => {
    using home = testHome();
    using store = openCronStore(home.cronDb);
    const clock = scene(store, ['0 9 * * *']);
    clock.pass(HOUR);
    clock.step(-4 * HOUR, running);
    clock.pass(5 * HOUR);
    t.same(clock.ran('0 9 * * *'), [START + HOUR, START + HOUR]);
    t.same(notes(store, '0 9 * * *').length, 1);
  });
}

t.test('an instant that a wrong clock skipped runs when its time comes', async (t) => {
  using home = testHome();
  using store = openCronStore(home.cronDb);
  const clock = scene(store, ['0 9,10 * * *']);
  clock.pass(30 * MINUTE);
  clock.step(150 * MINUTE, false);
  clock.step(-150 * MINUTE, false);
  clock.pass(3 * HOUR);
  t.same(clock.ran('0 9,10 * * *'), [START + HOUR, START + 2 * HOUR]);
});

t.test('an occurrence that was named from outside stays taken after a clock set back', async (t) => {
  using home = testHome();
  using store = openCronStore(home.cronDb);
  const clock = scene(store, ['0 * * * *']);
  const base = { job_id: '0 * * * *', claim_key: null, status: 'claimed' as const, claimed_at: START, error: null };
  store.insertRun({ ...base, execution_id: 'run_named', scheduled_instant: START + 2 * HOUR, trigger: 'fire' });
  clock.step(-10 * MINUTE, true);
  clock.pass(3 * HOUR);
  t.same(clock.ran('0 * * * *'), [START, START + HOUR]);
});

t.test('random steps of at most three hours never run an instant of fixed hours twice', async (t) => {
  const schedules = ['0 9 * * *', '30 8,10,14 * * 1-5', '*/15 9-17 * * *', '15 23 * * *', '*/20 0-3 * * *'];
  for (let seed = 1; seed <= 5; seed++) {
    using home = testHome();
    using store = openCronStore(home.cronDb);
    const clock = scene(store, schedules);
    let state = seed * 2_654_435_761;
    const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
    for (let round = 0; round < 25; round++) {
      clock.pass(Math.floor(random() * 150) * MINUTE);
      clock.step(Math.floor((random() * 2 - 1) * 180) * MINUTE, random() < 0.5);
    }
    for (const text of schedules) t.equal(new Set(clock.ran(text)).size, clock.ran(text).length, `seed ${seed}: ${text}`);
  }
});
