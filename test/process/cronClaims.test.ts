import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { createLogger } from '../../base/log.ts';
import { claimDue, claimOutside } from '../../services/cron/claims.ts';
import { nextAfter, parseSchedule } from '../../services/cron/schedule.ts';
import { openCronStore, type CronStore } from '../../services/cron/store.ts';
import { testHome, type TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

const START = Date.parse('2026-05-01T12:00:00Z');
const silent = createLogger({ sink: { write() {}, close() {} }, component: 'test' });

function addJob(store: CronStore, id: string, { schedule = 'every 10m', repeat = null as number | null } = {}): void {
  const parsed = parseSchedule(schedule, { nowMs: START, zone: 'UTC' });
  store.insertJob({
    id,
    name: id,
    prompt: 'go',
    script: null,
    schedule: parsed,
    deliver: 'local',
    enabled: true,
    repeatTimes: parsed.kind === 'once' ? 1 : repeat,
    repeatCompleted: 0,
    nextRunMs: nextAfter(parsed, START)!,
    lastRunMs: null,
    lastStatus: null,
    lastError: null,
    createdMs: START,
    createdBy: null,
  });
}

const claim = (store: CronStore, lateSeconds: number, { busy = false, catchUp = true } = {}): string[] =>
  claimDue(store, { nowMs: START + lateSeconds * 1_000, isBusy: () => busy, catchUp, log: silent }).claimed;

/** What the history says, oldest first: trigger, status, minutes after the start. */
const history = (store: CronStore, id: string): string[] =>
  store
    .runs({ jobId: id, limit: 100 })
    .toReversed()
    .map((run) => `${run.trigger} ${run.status} +${(run.scheduled_instant! - START) / 60_000}`);

const nextMinutes = (store: CronStore, id: string): number | null => {
  const at = store.job(id)!.nextRunMs;
  return at === null ? null : (at - START) / 60_000;
};

function withStore(t: { teardown(undo: () => void): unknown }): { store: CronStore; home: TestHome } {
  const home = testHome();
  const store = openCronStore(home.cronDb);
  t.teardown(() => {
    store[Symbol.dispose]();
    home[Symbol.dispose]();
  });
  return { store, home };
}

t.test('lesson 31: an occurrence is on time, late, caught up or skipped with a record, and none is without one', async (t) => {
  const table = [
    { name: 'on time', at: 601, want: ['on_time claimed +10'], next: 20 },
    { name: 'late within half a period', at: 600 + 290, want: ['late claimed +10'], next: 20 },
    { name: 'past the grace', at: 600 + 310, want: ['catch_up claimed +10'], next: 20 },
    { name: 'a backlog is folded into one run', at: 600 + 3_000, want: ['catch_up skipped +20', 'catch_up claimed +10'], next: 70 },
    { name: 'past the grace without catch-up', at: 600 + 310, catchUp: false, want: ['catch_up skipped +10'], next: 20 },
    { name: 'the run before still goes on', at: 601, busy: true, want: ['on_time skipped +10'], next: 20 },
    { name: 'one shot, a little late', schedule: '10m', at: 600 + 100, want: ['late claimed +10'], next: null },
    { name: 'one shot, too late', schedule: '10m', at: 600 + 121, want: ['catch_up skipped +10'], next: null },
  ];
  for (const { name, schedule = 'every 10m', at, want, next, ...rules } of table) {
    const { store } = withStore(t);
    addJob(store, 'job', { schedule });
    const claimed = claim(store, at, rules);
    t.strictSame(
      { runs: history(store, 'job'), next: nextMinutes(store, 'job'), claimed: claimed.length },
      { runs: want, next, claimed: want.filter((run) => run.includes('claimed')).length },
      name,
    );
  }
});

t.test('a one-shot that was missed is retired with the reason', async (t) => {
  const { store } = withStore(t);
  addJob(store, 'job', { schedule: '10m' });
  claim(store, 1_000);
  const { enabled, lastStatus, lastError } = store.job('job')!;
  t.match({ enabled, lastStatus, lastError }, { enabled: false, lastStatus: 'error', lastError: /missed by 400 s/ });
});

t.test('a job with a number of runs is claimed that often, skipped occurrences not counted', async (t) => {
  const { store } = withStore(t);
  addJob(store, 'job', { repeat: 2 });
  claim(store, 600);
  claim(store, 1_200, { busy: true });
  claim(store, 1_800);
  claim(store, 2_400);
  t.strictSame(history(store, 'job'), ['on_time claimed +10', 'on_time skipped +20', 'on_time claimed +30']);
  t.equal(nextMinutes(store, 'job'), null);
});

t.test('a long run leaves one record of what it kept away, not one per occurrence', async (t) => {
  const { store } = withStore(t);
  addJob(store, 'job', { schedule: 'every 1m' });
  for (let minute = 1; minute <= 5; minute++) claim(store, minute * 60, { busy: minute > 1 });
  t.strictSame(history(store, 'job'), ['on_time claimed +1', 'on_time skipped +2']);
});

t.test('an outside claim takes an occurrence once, by instant or by key, also one in the future', async (t) => {
  const { store } = withStore(t);
  addJob(store, 'job');
  const fire = (given: { at?: number; key?: string }) =>
    claimOutside(store, {
      job: store.job('job')!,
      trigger: 'fire',
      nowMs: START + 600_000,
      ...(given.at === undefined ? {} : { scheduledMs: START + given.at }),
      ...(given.key ? { key: given.key } : {}),
    });
  const first = fire({ at: 600_000 });
  t.equal(first.claimed, true);
  t.strictSame(fire({ at: 600_000 }), { claimed: false, executionId: first.executionId }, 'the same instant');
  t.strictSame(claim(store, 601), [], 'the tick finds it taken');
  t.equal(nextMinutes(store, 'job'), 20);
  const keyed = fire({ key: 'a' });
  t.strictSame(fire({ key: 'a' }), { claimed: false, executionId: keyed.executionId }, 'the same key');
  const early = fire({ at: 1_200_000 });
  t.equal(early.claimed, true, 'the clock of the caller may be ahead');
  t.strictSame(fire({ at: 1_200_000 }), { claimed: false, executionId: early.executionId }, 'the same instant, still in the future');
  t.strictSame(claim(store, 1_200), [], 'the schedule does not run it again');
  t.equal(nextMinutes(store, 'job'), 30);
});

t.test('jobs are listed in the order they were made, also those of one millisecond', async (t) => {
  const { store } = withStore(t);
  const ids = ['d', 'a', 'c', 'b'];
  for (const id of ids) addJob(store, id);
  t.same(
    store.jobs(true).map(({ id }) => id),
    ids,
  );
});

t.test('two processes that claim at once share the occurrences and double none', async (t) => {
  const { store, home } = withStore(t);
  const jobs = 400;
  store.transact(() => {
    for (let n = 0; n < jobs; n++) addJob(store, `job${n}`);
  });
  const claimers = Array.from({ length: 2 }, () => {
    const child = spawn(process.execPath, [join(projectRoot, 'test/fixtures/claimsDueJobs.ts'), home.cronDb, String(START + 600_000)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const claimer = { child, output: '', ended: once(child, 'close') };
    child.stdout.on('data', (chunk: Buffer) => (claimer.output += chunk.toString()));
    return claimer;
  });
  await until('both claimers are ready', () => claimers.every(({ output }) => output.startsWith('ready\n')));
  for (const { child } of claimers) child.stdin.write('go\n');
  const codes = await Promise.all(claimers.map(async ({ ended }) => ((await ended) as [number])[0]));
  const shares = claimers.map(({ output }) => output.split('\n').filter((line) => line.startsWith('run_')));
  t.comment(`shares: ${shares.map((share) => share.length).join(' and ')}`);
  const rows = store.runs({ limit: 1_000 });
  const got = { codes, rows: rows.length, jobs: new Set(rows.map((run) => run.job_id)).size, told: shares.flat().length };
  t.strictSame(got, { codes: [0, 0], rows: jobs, jobs, told: jobs });
  t.strictSame(claim(store, 601), [], 'and the tick finds all of them taken');
});
