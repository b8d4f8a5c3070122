/**
 * Who may run what and when: the claim of due occurrences and of outside triggers, and the rules for
 * late and missed ones (reference, Cron 6.3). Everything here happens inside one transaction.
 */
import { sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { countBetween, graceMs, nextAfter } from './schedule.ts';
import type { CronStore, JobRow, Trigger } from './store.ts';

export interface ClaimRules {
  nowMs: number;
  /** A run of that job is under way or waits: its next occurrence is skipped, not queued. */
  isBusy(jobId: string): boolean;
  /** `cron.catch_up_missed`: an occurrence past its grace runs once; false = it is skipped with a record. */
  catchUp: boolean;
  log: Logger;
}

const BUSY = 'the run before it was still going';

/** Claims what is due, at most one batch; answers the execution ids to run, oldest first. */
export function claimDue(store: CronStore, rules: ClaimRules): { claimed: string[]; more: boolean } {
  return store.transact(() => {
    const due = store.dueJobs(rules.nowMs);
    const claimed = due.map((job) => claimOccurrence(store, job, rules)).filter((id) => id !== undefined);
    return { claimed, more: due.length === limits.cron.claimBatchMax };
  });
}

export interface OutsideClaim {
  job: JobRow;
  /** The occurrence meant, past, present or future: it runs once, and the schedule does not run it again. */
  scheduledMs?: number | undefined;
  key?: string | undefined;
  trigger: Extract<Trigger, 'manual' | 'fire'>;
  nowMs: number;
}

/** Claims a run for someone outside the tick. `claimed: false` names the execution that already has it. */
export function claimOutside(
  store: CronStore,
  { job, scheduledMs: instant, key, trigger, nowMs }: OutsideClaim,
): { claimed: boolean; executionId: string | null } {
  return store.transact(() => {
    const executionId = newExecutionId(nowMs);
    const fresh = store.insertRun({
      execution_id: executionId,
      job_id: job.id,
      scheduled_instant: instant ?? null,
      claim_key: key ?? null,
      trigger,
      status: 'claimed',
      claimed_at: nowMs,
      error: null,
    });
    if (!fresh) {
      const holder = (key !== undefined && store.runByKey(job.id, key)) || (instant !== undefined && store.runAt(job.id, instant));
      return { claimed: false, executionId: holder ? holder.execution_id : null };
    }
    // The occurrence that was due is taken with it. A run by hand counts where no number of runs is set.
    const current = store.job(job.id);
    const isDue = instant !== undefined && current?.nextRunMs === instant;
    if (isDue || (instant === undefined && job.repeatTimes === null)) store.countRepeat(job.id);
    if (isDue) {
      advance(store, { ...current, repeatCompleted: current.repeatCompleted + 1 }, { scheduledMs: instant, nowMs });
    }
    return { claimed: true, executionId };
  });
}

function claimOccurrence(store: CronStore, job: JobRow, rules: ClaimRules): string | undefined {
  const { nowMs, log } = rules;
  const scheduledMs = job.nextRunMs!;
  const verdict = judge(job, scheduledMs, rules);
  const taken = store.runAt(job.id, scheduledMs);
  const counts = taken ? taken.trigger === 'fire' : !verdict.skip;
  if (counts) store.countRepeat(job.id);
  const used = job.repeatCompleted + (counts ? 1 : 0);
  advance(store, { ...job, repeatCompleted: used }, { scheduledMs, nowMs }, (count, firstMs) => {
    const error = `${count} occurrence(s) from ${iso(firstMs)} to ${iso(nowMs)} passed unclaimed and were folded into one run`;
    store.insertRun({ ...blankRun(job, firstMs, nowMs), status: 'skipped', trigger: 'catch_up', error });
    log.warn(`${job.name}: ${error}`, { job_id: job.id });
  });
  if (taken) return undefined;
  if (verdict.skip === BUSY && lastWasBusy(store, job)) {
    log.info(`${job.name}: the occurrence of ${iso(scheduledMs)} was skipped: ${verdict.skip}`, { job_id: job.id });
    return undefined;
  }
  const run = { ...blankRun(job, scheduledMs, nowMs), trigger: verdict.trigger };
  if (!store.insertRun({ ...run, status: verdict.skip ? 'skipped' : 'claimed', error: verdict.skip ?? null })) return undefined;
  if (!verdict.skip) return run.execution_id;
  log.warn(`${job.name}: the occurrence of ${iso(scheduledMs)} was skipped: ${verdict.skip}`, { job_id: job.id });
  if (job.schedule.kind === 'once') retire(store, job, nowMs, verdict.skip);
  return undefined;
}

function judge(job: JobRow, scheduledMs: number, { nowMs, isBusy, catchUp }: ClaimRules): { trigger: Trigger; skip?: string } {
  const lateMs = nowMs - scheduledMs;
  const withinGrace = lateMs <= graceMs(job.schedule, scheduledMs);
  const trigger = lateMs <= limits.cron.onTimeMs ? 'on_time' : withinGrace ? 'late' : 'catch_up';
  if (isBusy(job.id)) return { trigger, skip: BUSY };
  if (trigger !== 'catch_up') return { trigger };
  const missedBy = `it was missed by ${Math.round(lateMs / 1_000)} s`;
  if (job.schedule.kind === 'once') return { trigger, skip: `${missedBy}, more than a single run may be late` };
  return catchUp ? { trigger } : { trigger, skip: `${missedBy} and cron.catch_up_missed is false` };
}

/** Moves `next_run_at` on from the claimed instant, never from the clock; `onFolded` hears of occurrences left out. */
function advance(
  store: CronStore,
  job: JobRow,
  { scheduledMs, nowMs }: { scheduledMs: number; nowMs: number },
  onFolded?: (count: number, firstMs: number) => void,
): void {
  const spent = job.repeatTimes !== null && job.repeatCompleted >= job.repeatTimes;
  const following = spent ? undefined : nextAfter(job.schedule, scheduledMs);
  if (following === undefined || following > nowMs - limits.cron.onTimeMs) return store.setNextRun(job.id, following ?? null);
  store.setNextRun(job.id, nextAfter(job.schedule, nowMs) ?? null);
  onFolded?.(countBetween(job.schedule, scheduledMs, nowMs, COUNTED_MAX), following);
}

/** Enough to say "many". */
const COUNTED_MAX = 10_000;

function retire(store: CronStore, job: JobRow, nowMs: number, why: string): void {
  store.setEnabled(job.id, false, null);
  store.setResult(job.id, { atMs: nowMs, status: 'error', error: why });
}

function lastWasBusy(store: CronStore, job: JobRow): boolean {
  return store.runs({ jobId: job.id, limit: 1 })[0]?.error === BUSY;
}

const blankRun = (job: JobRow, instantMs: number, nowMs: number) => ({
  execution_id: newExecutionId(nowMs),
  job_id: job.id,
  scheduled_instant: instantMs,
  claim_key: null,
  claimed_at: nowMs,
});

const newExecutionId = (nowMs: number): string => sortableId('run', nowMs);
const iso = (ms: number): string => new Date(ms).toISOString();
