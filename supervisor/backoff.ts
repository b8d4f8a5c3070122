/**
 * When the next incarnation starts, decided from how the last ones ended (contract §4, Restart policy).
 * Pure: history in, decision and new history out.
 */
import { exitCodes } from '../base/exitCodes.ts';
import { jitteredDelayMs } from '../base/time.ts';
import type { Shortage } from '../ipc/contracts/supervisor.ts';
import type { RestartPolicy } from './spec.ts';

/** How one incarnation ended, as far as the decision needs it. */
export interface End {
  atMs: number;
  /** Spawn to the end. */
  livedMs: number;
  /** How long it had been ready; undefined = never. */
  readyMs: number | undefined;
  code: number | null;
  /** Same cause, same signature. */
  signature: string;
  /** A restart cannot help: bad configuration, damaged store. */
  permanent: boolean;
  /** What it lacked, where that can come back without a person. */
  shortage?: Shortage | undefined;
}

export interface History {
  /** Times of immediate restarts within the window. */
  immediateAtMs: readonly number[];
  /** Times of failed starts within the window. */
  failedAtMs: readonly number[];
  /** Delayed restarts since the last health. */
  attempt: number;
  /** Signature of the last end, when it was permanent. */
  permanentSignature: string | undefined;
  /** What the last end lacked, and since when each start has lacked it. */
  shortage: { kind: Shortage['kind']; sinceMs: number } | undefined;
}

export type Decision =
  | { kind: 'now' }
  | { kind: 'delay'; ms: number }
  /** Started when the shortage is gone; `ms` to the first check. */
  | { kind: 'wait'; ms: number; shortage: Shortage; sinceMs: number }
  | { kind: 'park'; ms: number; why: string };

export const emptyHistory: History = {
  immediateAtMs: [],
  failedAtMs: [],
  attempt: 0,
  permanentSignature: undefined,
  shortage: undefined,
};

export function decideRestart(
  history: History,
  end: End,
  policy: RestartPolicy,
  random: () => number = Math.random,
): { decision: Decision; history: History } {
  const next = advance(history, end, policy);
  const park = (why: string) => ({ decision: { kind: 'park', ms: policy.parkedRetryMs, why } as const, history: next });
  if (end.shortage && next.shortage) {
    const { sinceMs } = next.shortage;
    if (isOverdue(end.shortage, end.atMs - sinceMs, policy)) return park('what it runs is missing');
    const ms = history.shortage?.kind === end.shortage.kind ? policy.shortageCheckMs : policy.baseMs;
    return { decision: { kind: 'wait', ms, shortage: end.shortage, sinceMs }, history: next };
  }
  if (end.code === exitCodes.config) return park('a restart cannot help');
  if (end.permanent && history.permanentSignature === end.signature) return park('it ended twice for the same permanent cause');
  const wasReady = end.readyMs !== undefined && end.readyMs >= policy.readyForMs;
  // Asked for by what dies soon after each start, a restart is a loop like any other (lessons 2).
  const asksToRestart = end.code === exitCodes.restart && (end.readyMs ?? 0) >= policy.diedSoonMs;
  if (wasReady && asksToRestart) return { decision: { kind: 'now' }, history: next };
  if (wasReady && next.immediateAtMs.length < policy.immediateMax) {
    return { decision: { kind: 'now' }, history: { ...next, immediateAtMs: [...next.immediateAtMs, end.atMs] } };
  }
  // After the immediate restarts: a worker that was ready for a second five times over is given those first.
  if (next.failedAtMs.length >= policy.failedStartsMax) {
    return park(`${next.failedAtMs.length} failed starts within ${Math.round(policy.failedStartsWindowMs / 60_000)} minutes`);
  }
  const ms = jitteredDelayMs(next.attempt, { baseMs: policy.baseMs, maxMs: policy.maxMs, random });
  return { decision: { kind: 'delay', ms }, history: { ...next, attempt: next.attempt + 1 } };
}

/** A missing program file is a shortage for a minute only: then somebody has to install it. */
export const isOverdue = ({ kind }: Shortage, lastedMs: number, policy: RestartPolicy): boolean =>
  kind === 'program' && lastedMs >= policy.programMissingMs;

/** Forgets what is out of the window, counts a failed start, starts over after health. */
function advance(history: History, end: End, policy: RestartPolicy): History {
  const healthy = (end.readyMs ?? 0) >= policy.healthyMs;
  const failed = end.shortage === undefined && (end.readyMs === undefined || end.readyMs < policy.diedSoonMs);
  const inWindow = (times: readonly number[], windowMs: number) => times.filter((at) => end.atMs - at < windowMs);
  const failedBefore = healthy ? [] : inWindow(history.failedAtMs, policy.failedStartsWindowMs);
  return {
    immediateAtMs: healthy ? [] : inWindow(history.immediateAtMs, policy.immediateWindowMs),
    failedAtMs: failed ? [...failedBefore, end.atMs] : failedBefore,
    attempt: healthy ? 0 : history.attempt,
    permanentSignature: end.permanent ? end.signature : undefined,
    shortage: end.shortage && { kind: end.shortage.kind, sinceMs: shortSince(history, end, end.shortage, policy) },
  };
}

/** Service in between means that it was gone meanwhile. */
function shortSince({ shortage }: History, { atMs, readyMs }: End, { kind }: Shortage, policy: RestartPolicy): number {
  return shortage?.kind === kind && (readyMs ?? 0) < policy.diedSoonMs ? shortage.sinceMs : atMs;
}
