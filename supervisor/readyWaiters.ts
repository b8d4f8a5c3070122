/** Callers that wait until a slot is ready, or will not be soon. */
import { deferred, type Deferred } from '../base/time.ts';

export class ReadyWaiters {
  readonly #waiting = new Set<Deferred<void>>();

  /** Rejects with the reason of `signal` when the caller gives up. */
  add(signal?: AbortSignal): Promise<void> {
    const waiter = deferred<void>();
    this.#waiting.add(waiter);
    const drop = () => {
      this.#waiting.delete(waiter);
      waiter.reject(signal!.reason);
    };
    signal?.addEventListener('abort', drop, { once: true });
    return waiter.promise.finally(() => signal?.removeEventListener('abort', drop));
  }

  /** With what keeps it from being ready; undefined = it is. */
  release(failure: Error | undefined): void {
    for (const waiter of this.#waiting) {
      if (failure) waiter.reject(failure);
      else waiter.resolve();
    }
    this.#waiting.clear();
  }
}
