/**
 * Clock and bounded waiting. Nothing in the product waits without a limit and a signal;
 * tests drive the same code with a virtual clock.
 */
import { AgentError } from './errors.ts';

export interface Clock {
  /** Milliseconds since the epoch; jumps when the operator sets the clock. */
  now(): number;
  /** Milliseconds of a clock that never jumps. */
  monotonic(): number;
  /** Calls back once after `ms`; returns the cancellation. */
  after(ms: number, callback: () => void): () => void;
}

/** setTimeout holds 2^31-1 ms; longer delays are walked in slices. */
const SLICE_MAX_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    let timer: NodeJS.Timeout;
    const arm = (leftMs: number) => {
      timer = setTimeout(
        () => (leftMs > SLICE_MAX_MS ? arm(leftMs - SLICE_MAX_MS) : callback()),
        Math.min(Math.max(0, leftMs), SLICE_MAX_MS),
      );
    };
    arm(ms);
    return () => clearTimeout(timer);
  },
};

/** RFC 3339 with milliseconds and `Z`. */
export const isoTime = (epochMs: number): string => new Date(epochMs).toISOString();

/** What an aborted signal throws. */
export function abortReason(signal: AbortSignal): unknown {
  return signal.reason ?? new AgentError('CANCELLED', 'the operation was cancelled');
}

/** Resolves after `ms`, rejects when the signal aborts first. */
export function sleep(ms: number, signal?: AbortSignal, clock: Clock = systemClock): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(abortReason(signal));
    const onAbort = () => {
      cancel();
      reject(abortReason(signal!));
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** Settles as `promise` does, or rejects when the signal aborts or `ms` pass. The promise itself goes on. */
export function within<T>(
  promise: Promise<T>,
  { ms, signal, what, clock = systemClock }: { ms: number; signal?: AbortSignal | undefined; what: string; clock?: Clock },
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal?.aborted) {
      // Nobody will look at it any more, so its failure must not count as unhandled.
      promise.catch(() => {});
      return reject(abortReason(signal));
    }
    const finish = (settle: () => void) => {
      cancel();
      signal?.removeEventListener('abort', onAbort);
      settle();
    };
    const onAbort = () => finish(() => reject(abortReason(signal!)));
    const cancel = clock.after(ms, () => finish(() => reject(new AgentError('TIMEOUT', `${what} took longer than ${ms} ms`))));
    signal?.addEventListener('abort', onAbort, { once: true });
    promise.then(
      (value) => finish(() => resolve(value)),
      (thrown: unknown) => finish(() => reject(thrown)),
    );
  });
}

/** Aborts when one of them does. Leaves nothing behind on those that live longer, also when listeners of its own are never removed. */
export function joinSignals(...signals: AbortSignal[]): { signal: AbortSignal } & Disposable {
  const joined = new AbortController();
  const onAbort = () => joined.abort(abortReason(signals.find(({ aborted }) => aborted)!));
  if (signals.some(({ aborted }) => aborted)) onAbort();
  for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  return {
    signal: joined.signal,
    [Symbol.dispose]() {
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    },
  };
}

/** A promise with its settling functions, plus whether it has settled. */
export interface Deferred<T> {
  promise: Promise<T>;
  resolve(value: T): void;
  reject(thrown: unknown): void;
}

export function deferred<T>(): Deferred<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  return { promise, resolve, reject };
}

/** Exponential delay with full jitter: uniform in [0, min(max, base·2^attempt)]. `attempt` starts at 0. */
export function jitteredDelayMs(
  attempt: number,
  { baseMs, maxMs, random = Math.random }: { baseMs: number; maxMs: number; random?: () => number },
): number {
  return Math.round(random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 40)));
}

/**
 * Milliseconds to the next common beat: whole multiples of `everyMs` of the clock, so that processes which
 * never talked beat together and wake the machine once. At least half an interval, for timers that fire early.
 */
export function untilBeatMs(nowMs: number, everyMs: number): number {
  const waitMs = everyMs - (nowMs % everyMs);
  return waitMs < everyMs / 2 ? waitMs + everyMs : waitMs;
}

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `10m`, `2h`, `1d`, `250ms` → milliseconds; undefined when it is no duration. */
export function parseDurationMs(text: string): number | undefined {
  const match = DURATION.exec(text.trim());
  return match ? Number(match[1]) * UNIT_MS[match[2]!]! : undefined;
}

/** Milliseconds for people: `340 ms`, `4.2 s`, `3 min`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`;
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`;
}

/** A time zone that this machine knows, such as Europe/Berlin. */
export function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}
