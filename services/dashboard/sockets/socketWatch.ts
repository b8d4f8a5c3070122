/** Knows when a worker's socket appears in `run/`: a wake-up for whoever waits to dial it, instead of a poll. */
import { watch, type FSWatcher } from 'node:fs';
import { sleep } from '../../../base/time.ts';

/** Waiting ends by itself after this long, for file systems that tell nothing. */
const LOOK_MS = 2_000;

export interface SocketWatch extends Disposable {
  /** How often the socket of a slot has appeared so far. */
  count(slot: string): number;
  /** Resolves when it has appeared since `seen`, when the signal aborts, or after two seconds. */
  after(slot: string, seen: number, signal: AbortSignal): Promise<void>;
}

export function watchSockets(dir: string): SocketWatch {
  const counts = new Map<string, number>();
  let wake = Promise.withResolvers<void>();
  const count = (slot: string) => counts.get(slot) ?? 0;
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(dir, { persistent: false }, (_event, name) => {
      const slot = /^(.+)\.sock$/.exec(name ?? '')?.[1];
      if (!slot) return;
      counts.set(slot, count(slot) + 1);
      wake.resolve();
      wake = Promise.withResolvers<void>();
    });
    watcher.on('error', () => {});
  } catch {
    // the look every two seconds remains
  }
  return {
    count,
    async after(slot, seen, signal) {
      const late = new AbortController();
      const limit = sleep(LOOK_MS, AbortSignal.any([signal, late.signal])).catch(() => 'late');
      let done = false;
      void limit.then(() => (done = true));
      while (!done && !signal.aborted && count(slot) === seen) await Promise.race([wake.promise, limit]);
      late.abort();
    },
    [Symbol.dispose]: () => watcher?.close(),
  };
}
