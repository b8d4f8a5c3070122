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

/** The clock was set back by more than this: instants in the far future are computed anew. */
const SET_BACK_MS = 60_000;

export function createScheduler({ context, store, isBusy, onClaimed, onHeld }: SchedulerParts): Scheduler {
  const { home, profile, log } = context;
  let timer: NodeJS.Timeout | undefined;
  let waiting: Disposable | undefined;
  let stopped = false;
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

  const noticeClock = (nowMs: number): void => {
    const steady = performance.now();
    const driftMs = nowMs - seen.wall - (steady - seen.steady);
    seen = { wall: nowMs, steady };
    if (driftMs > -SET_BACK_MS) return;
    log.warn(`the clock was set back by ${Math.round(-driftMs / 1_000)} s: next runs are computed anew`);
    for (const job of store.jobs(false)) {
      const next = nextAfter(job.schedule, nowMs);
      if (job.nextRunMs !== null && next !== undefined && next < job.nextRunMs) store.setNextRun(job.id, next);
    }
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
