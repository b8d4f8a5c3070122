/**
 * Decides when to claim: one timer for the earliest occurrence, never longer than a minute so that a
 * changed clock is noticed, and none at all while no job waits. The pause sentinel is read at the
 * moment of each claim.
 */
import { existsSync } from 'node:fs';
import { limits } from '../../base/limits.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import { whenResumed } from '../../state/pauseWatch.ts';
import { isPaused, readPause } from '../../state/pause.ts';
import type { WorkerContext } from '../worker.ts';
import { claimDue } from './claims.ts';
import { nextAfter } from './schedule.ts';
import type { CronStore } from './store.ts';

export interface Scheduler extends Disposable {
  /** Jobs or the clock have changed: look again. */
  wake(): void;
  /** Due jobs that a pause holds back. */
  held(): number;
}

export interface SchedulerParts {
  context: WorkerContext;
  store: CronStore;
  isBusy(jobId: string): boolean;
  /** Executions claimed, oldest first. */
  onClaimed(executionIds: string[]): void;
  /** The number of held jobs may have changed. */
  onHeld(): void;
}

/** Drift between two checks that is a clock set back, not one that is being slewed. */
const SET_BACK_MS = 2_000;

export function createScheduler({ context, store, isBusy, onClaimed, onHeld }: SchedulerParts): Scheduler {
  const { home, profile, log } = context;
  let timer: NodeJS.Timeout | undefined;
  let waiting: Disposable | undefined;
  let stopped = false;
  let started = false;
  let seen = { wall: Date.now(), steady: performance.now() };

  const hold = (): void => {
    onHeld();
    if (waiting) return;
    const pause = readPause(home, profile);
    log.info(`due jobs are held: automation is paused by ${pause?.path ?? home.estop}`, { reason: pause?.reason });
    waiting = whenResumed(home, { scope: 'cron', profile }, () => {
      waiting = undefined;
      log.info('the pause is over: due jobs are claimed again');
      tick();
      onHeld();
    });
  };

  const arm = (nowMs: number): void => {
    const earliest = store.earliestDueMs();
    if (earliest === undefined) return;
    timer = setTimeout(tick, Math.min(Math.max(0, earliest - nowMs), limits.cron.tickMaxMs));
  };

  const tick = (): void => {
    clearTimeout(timer);
    if (stopped) return;
    const nowMs = Date.now();
    if (!started) noticeClockAtRest(nowMs);
    noticeClock(nowMs);
    // Deleted or renamed meanwhile: whoever has it under its name now claims what is due.
    if (profile !== DEFAULT_PROFILE && !existsSync(context.paths.soul)) return;
    if (store.countDue(nowMs) > 0) {
      if (isPaused(home, 'cron', profile)) return hold();
      const catchUp = context.config().config.cron?.catch_up_missed !== false;
      const { claimed, more } = claimDue(store, { nowMs, isBusy, catchUp, log });
      if (claimed.length > 0) onClaimed(claimed);
      if (more) return void (timer = setTimeout(tick, 0));
    }
    arm(nowMs);
  };

  /** Not before the first tick: only then is this the only cron worker of the home. */
  const noticeClockAtRest = (nowMs: number): void => {
    started = true;
    const realigned = realign(store, nowMs);
    if (realigned > 0) log.warn(`the clock was set back while cron did not run; the next run of ${realigned} job(s) was computed again`);
  };

  const noticeClock = (nowMs: number): void => {
    const steady = performance.now();
    const driftMs = Math.round(nowMs - seen.wall - (steady - seen.steady));
    seen = { wall: nowMs, steady };
    if (driftMs > -SET_BACK_MS) return;
    const realigned = realign(store, nowMs, driftMs);
    log.warn(`the clock was set back by ${Math.round(-driftMs / 1_000)} s; the next run of ${realigned} job(s) was computed again`);
  };

  return {
    wake: tick,
    held: () => (waiting ? store.countDue(Date.now()) : 0),
    [Symbol.dispose]() {
      stopped = true;
      clearTimeout(timer);
      waiting?.[Symbol.dispose]();
    },
  };
}

/**
 * After the clock was set back. An interval keeps its pace: its next run stays as far away as it was, or is one interval
 * away where that is not known. A pattern follows the clock; its instants that lie in the future again can be claimed
 * again. Answers how many jobs have another next run.
 */
function realign(store: CronStore, nowMs: number, driftMs?: number): number {
  return store.transact(() => {
    store.forgetInstantsAfter(nowMs);
    return store.jobs(false).filter((job) => {
      const { schedule, nextRunMs } = job;
      if (nextRunMs === null || schedule.kind === 'once') return false;
      const intervalMs = schedule.intervalMs;
      const latestMs = intervalMs === null ? nextAfter(schedule, nowMs) : nowMs + intervalMs;
      if (latestMs === undefined || nextRunMs <= latestMs) return false;
      if (intervalMs === null) store.setNextRun(job.id, latestMs);
      else {
        const next = driftMs === undefined ? latestMs : Math.min(latestMs, Math.max(nowMs, nextRunMs + driftMs));
        store.updateJob({ ...job, schedule: { ...schedule, anchorMs: next - intervalMs }, nextRunMs: next });
      }
      return true;
    }).length;
  });
}
