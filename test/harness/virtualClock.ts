/** Time that only moves when told. */
import { setImmediate as nextTick } from 'node:timers/promises';
import type { Clock } from '../../base/time.ts';

export interface VirtualClock extends Clock {
  /** Moves it by so many milliseconds, runs what is due, and gives the loop one turn. */
  advance(ms: number): Promise<void>;
}

export function virtualClock(): VirtualClock {
  let now = 0;
  const timers = new Set<{ at: number; run: () => void }>();
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, run) {
      const timer = { at: now + ms, run };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    async advance(ms) {
      now += ms;
      for (const timer of [...timers].filter(({ at }) => at <= now)) {
        timers.delete(timer);
        timer.run();
      }
      await nextTick();
    },
  };
}
