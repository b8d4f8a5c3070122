/** A clock that is set back, while cron is down and while it runs: jobs continue, and none waits for the old time. */
import Database from 'better-sqlite3';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import * as cron from '../../ipc/contracts/cron.ts';
import { createScheduler } from '../../services/cron/scheduler.ts';
import { parseSchedule } from '../../services/cron/schedule.ts';
import { openCronStore } from '../../services/cron/store.ts';
import { fakeAgent } from '../fakes/agentTurns.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

t.setTimeout(120_000);

const HOUR = 3_600_000;

const blankJob = {
  prompt: 'p',
  script: null,
  deliver: 'local',
  enabled: true,
  repeatTimes: null,
  repeatCompleted: 0,
  lastRunMs: null,
  lastStatus: null,
  lastError: null,
  createdBy: null,
};

t.test('set back by two hours while cron was down: an interval and a pattern run again at their pace', async (t) => {
  using home = testHome();
  await using agent = await fakeAgent(home, () => 'done');
  const ids: string[] = [];
  {
    await using first = await startWorker(home, 'cron');
    using link = await first.dial();
    for (const schedule of ['every 2s', '* * * * *']) ids.push((await link.call(cron.createJob, { schedule, prompt: schedule })).job.id);
    await first.kill('SIGTERM');
  }
  // As if all of it had been written by a clock two hours ahead.
  const db = new Database(home.cronDb);
  db.prepare(
    "UPDATE jobs SET next_run_at = next_run_at + @h, created_at = created_at + @h, schedule = json_set(schedule, '$.anchorMs', json_extract(schedule, '$.anchorMs') + @h)",
  ).run({ h: 2 * HOUR });
  const minute = Math.floor(Date.now() / 60_000 + 1) * 60_000;
  db.prepare(
    "INSERT INTO executions (execution_id, job_id, scheduled_instant, trigger, status, claimed_at) VALUES ('run_old', ?, ?, 'on_time', 'ok', 1)",
  ).run(ids[1], minute);
  db.close();
  const before = agent.turns.length;
  await using second = await startWorker(home, 'cron');
  using link = await second.dial();
  await until(
    'both run',
    () => ['every 2s', '* * * * *'].every((text) => agent.turns.slice(before).some((turn) => turn.text === text)),
    90_000,
  );
  const { jobs } = await link.call(cron.listJobs, {});
  for (const { next_run_at: next } of jobs) t.ok(Date.parse(next!) - Date.now() < 61_000);
});

t.test('set back while cron runs: an interval younger than the jump keeps its pace, a pattern follows the clock', async (t) => {
  using home = testHome();
  using store = openCronStore(home.cronDb);
  const realNow = Date.now;
  t.teardown(() => (Date.now = realNow));
  const context = {
    home,
    profile: 'default',
    paths: home,
    config: () => ({ config: {} }),
    log: createLogger({ sink: { write() {}, close() {} }, component: 'cron' }),
  };
  const parts = { context, store, isBusy: () => false, onClaimed() {}, onHeld() {} } as unknown as Parameters<typeof createScheduler>[0];
  for (const [id, text] of [
    ['interval', 'every 10m'],
    ['pattern', '* * * * *'],
  ] as const) {
    const schedule = parseSchedule(text, { nowMs: Date.now(), zone: 'UTC' });
    const job = { ...blankJob, id, name: id, schedule, nextRunMs: Date.now() + 30_000, createdMs: Date.now() };
    store.insertJob(job);
  }
  store.setNextRun('interval', Date.now() + 600_000);
  using scheduler = createScheduler(parts);
  scheduler.wake();
  for (const backMs of [50_000, 2 * HOUR]) {
    const now = Date.now;
    Date.now = () => now() - backMs;
    scheduler.wake();
    const left = (id: string) => store.job(id)!.nextRunMs! - Date.now();
    t.ok(
      left('interval') > 590_000 && left('interval') <= 600_000,
      `${backMs}: the interval is as far away as it was: ${left('interval')}`,
    );
    t.ok(left('pattern') > 0 && left('pattern') <= 60_000, `${backMs}: the pattern follows the clock: ${left('pattern')}`);
  }
});

t.test('a store that is locked stops no tick: the problem is reported, and what is due is claimed when the lock is gone', async (t) => {
  using home = testHome();
  using store = openCronStore(home.cronDb);
  store.db.pragma('busy_timeout = 50');
  const problems: (string | null)[] = [];
  const claimed: string[] = [];
  const context = {
    home,
    profile: 'default',
    paths: home,
    config: () => ({ config: {} }),
    log: createLogger({ sink: { write() {}, close() {} }, component: 'cron' }),
    reportProblem: (_key: string, problem: { what: string } | null) => problems.push(problem && problem.what),
  };
  const parts = { context, store, isBusy: () => false, onClaimed: (ids: string[]) => claimed.push(...ids), onHeld() {} };
  const schedule = parseSchedule('every 1h', { nowMs: Date.now() - HOUR, zone: 'UTC' });
  store.insertJob({ ...blankJob, id: 'hourly', name: 'hourly', schedule, nextRunMs: Date.now(), createdMs: Date.now() });
  const other = new Database(home.cronDb);
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  using scheduler = createScheduler(parts as unknown as Parameters<typeof createScheduler>[0]);
  scheduler.wake();
  t.equal(problems.length, 1, 'the problem is reported once');
  scheduler.wake();
  t.equal(problems.length, 1);
  other.exec('ROLLBACK');
  await until('the job is claimed', () => claimed.length === 1);
  t.equal(problems.at(-1), null, 'the problem is over');
});
