/**
 * A clock that was set back. An interval keeps its pace. A pattern that is about elapsed time follows the clock. A pattern
 * with fixed hours does not run again for an instant that it ran, unless the clock was set back by more than three hours.
 */
import { sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { followsClock } from './patterns.ts';
import { nextAfter } from './schedule.ts';
import type { CronStore, JobRow } from './store.ts';

/** `backMs`: how far, where this process saw it. Answers how many jobs were adjusted. */
export function realign(store: CronStore, nowMs: number, backMs?: number): number {
  return store.transact(() => store.jobs(true).filter((job) => realignJob(store, job, { nowMs, backMs })).length);
}

interface SetBack {
  nowMs: number;
  backMs: number | undefined;
}

function realignJob(store: CronStore, job: JobRow, back: SetBack): boolean {
  const { schedule, nextRunMs } = job;
  if (schedule.kind === 'once') return false;
  if (schedule.kind === 'interval') return nextRunMs !== null && realignInterval(store, { ...job, nextRunMs }, back);
  if (!followsClock(schedule.expr!)) return realignFixed(store, job, back);
  store.releaseInstants(job.id, back.nowMs);
  const next = nextAfter(schedule, back.nowMs);
  if (nextRunMs === null || next === undefined || nextRunMs <= next) return false;
  store.setNextRun(job.id, next);
  return true;
}

/** Its next run stays as far away as it was, or is one interval away where that is not known. */
function realignInterval(store: CronStore, job: JobRow & { nextRunMs: number }, { nowMs, backMs }: SetBack): boolean {
  const { schedule, nextRunMs } = job;
  const intervalMs = schedule.intervalMs!;
  const latestMs = nowMs + intervalMs;
  if (nextRunMs <= latestMs && backMs === undefined) return false;
  const next = backMs === undefined ? latestMs : Math.min(latestMs, Math.max(nowMs, nextRunMs - backMs));
  if (next === nextRunMs) return false;
  store.releaseInstants(job.id, nowMs);
  store.updateJob({ ...job, schedule: { ...schedule, anchorMs: next - intervalMs }, nextRunMs: next });
  return true;
}

/** The record it leaves is also what the next start measures from, so that several small steps never count as a large one. */
function realignFixed(store: CronStore, job: JobRow, { nowMs, backMs }: SetBack): boolean {
  const lastMs = store.lastClaimMs(job.id);
  if (lastMs === undefined || lastMs <= nowMs) return lowerNextRun(store, job, nowMs);
  const stepMs = backMs ?? lastMs - nowMs;
  const repeats = stepMs > limits.cron.setBackMaxMs;
  if (repeats) store.releaseInstants(job.id, nowMs);
  lowerNextRun(store, job, nowMs);
  const error =
    `the clock was set back from ${iso(lastMs)} to ${iso(nowMs)}: ` +
    (repeats
      ? 'occurrences of that time run again, because it is more than 3 hours'
      : 'occurrences that ran in that time do not run again');
  const id = sortableId('run', nowMs);
  store.insertRun({
    execution_id: id,
    job_id: job.id,
    scheduled_instant: null,
    claim_key: null,
    trigger: 'catch_up',
    status: 'skipped',
    claimed_at: nowMs,
    error,
  });
  return true;
}

/** To the first instant that did not run yet. */
function lowerNextRun(store: CronStore, job: JobRow, nowMs: number): boolean {
  const { schedule, nextRunMs } = job;
  if (nextRunMs === null) return false;
  let at = nextAfter(schedule, nowMs);
  for (; at !== undefined && at < nextRunMs; at = nextAfter(schedule, at)) {
    const run = store.runAt(job.id, at);
    if (run && run.status !== 'skipped') continue;
    if (run) store.releaseInstant(run.execution_id);
    store.setNextRun(job.id, at);
    return true;
  }
  return false;
}

const iso = (ms: number): string => new Date(ms).toISOString();
