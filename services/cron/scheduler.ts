/**
 * Decides when to claim: one timer for the earliest occurrence, never longer than a minute so that a
 * changed clock is noticed, and none at all while no job waits. The pause sentinel is read at the
 * moment of each claim.
 */
import { existsSync } from 'node:fs';
import { isAgentError, messageOf, mustWait } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { storeError } from '../../state/db/open.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import { whenResumed } from '../../state/pauseWatch.ts';
import { isPaused, readPause } from '../../state/pause.ts';
import type { WorkerContext } from '../worker.ts';
import { claimDue } from './claims.ts';
import { realign } from './setBack.ts';
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
const RETRIED = 'claiming is retried every few seconds';

export function createScheduler({ context, store, isBusy, onClaimed, onHeld }: SchedulerParts): Scheduler {
  const { home, profile, log } = context;
  let timer: NodeJS.Timeout | undefined;
  let waiting: Disposable | undefined;
  let stopped = false;
  let started = false;
  let blocked = false;
  const problemKey = `claims:${profile}`;
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

  /** While the store cannot be written, nothing is claimed: what is due stays due. */
  const tick = (): void => {
    clearTimeout(timer);
    if (stopped) return;
    try {
      claim();
      if (!blocked) return;
      blocked = false;
      context.reportProblem(problemKey, null);
      log.info('due jobs are claimed again');
    } catch (thrown) {
      const error = storeError(context.paths.cronDb, thrown);
      if (!mustWait(error)) throw error;
      timer = setTimeout(tick, limits.state.storeRetryMs);
      if (blocked) return;
      blocked = true;
      log.error(`due jobs wait for their store: ${messageOf(error)}`);
      context.reportProblem(problemKey, {
        what: `due jobs wait for their store: ${messageOf(error)}`,
        fix: isAgentError(error) ? (error.fix ?? RETRIED) : RETRIED,
      });
    }
  };

  const claim = (): void => {
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
    const realigned = realign(store, nowMs);
    started = true;
    if (realigned > 0) log.warn(`the clock was set back while cron did not run; ${realigned} job(s) were adjusted`);
  };

  const noticeClock = (nowMs: number): void => {
    const steady = performance.now();
    const driftMs = Math.round(nowMs - seen.wall - (steady - seen.steady));
    if (driftMs <= -SET_BACK_MS) {
      const realigned = realign(store, nowMs, -driftMs);
      log.warn(`the clock was set back by ${Math.round(-driftMs / 1_000)} s; ${realigned} job(s) were adjusted`);
    }
    // Only now: a set-back that could not be stored is noticed again.
    seen = { wall: nowMs, steady };
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
