/** What drills measure with: a machine that was asleep, or had no processor for us, says nothing about the service. */

/** A monotonic clock in milliseconds that stands still while this process does. */
export interface Stopwatch extends Disposable {
  now(): number;
}

const TICK_MS = 25;

export function startStopwatch(): Stopwatch {
  let lostMs = 0;
  let expectedAt = performance.now() + TICK_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    lostMs += Math.max(0, nowMs - expectedAt);
    expectedAt = nowMs + TICK_MS;
  }, TICK_MS);
  return {
    now() {
      const nowMs = performance.now();
      // The tick that is overdue right now counts too.
      return nowMs - lostMs - Math.max(0, nowMs - expectedAt);
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
