/** A write that must not be lost: repeated while the disk is full or the file is locked, until it succeeds. */
import { mustWait } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { storeError } from './open.ts';

export interface StoringOptions {
  /** Of the store, for the error. */
  path: string;
  /** Ends the wait: the worker is leaving. */
  signal: AbortSignal;
  /** Called once, with the first error of the row. */
  onWaiting(error: Error): void;
}

/** What `write` returns. Errors: permanent ones of the store, and the last passing one when `signal` aborts. */
export async function untilStored<T>(write: () => T, { path, signal, onWaiting }: StoringOptions): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    try {
      return write();
    } catch (thrown) {
      const error = storeError(path, thrown);
      if (!mustWait(error) || signal.aborted) throw error;
      if (attempt === 0) onWaiting(error as Error);
      await sleep(limits.state.storeRetryMs, signal).catch(() => {});
    }
  }
}
