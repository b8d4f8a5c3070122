/** Waiting for a condition over all slots, looked at again whenever one of them changes. */
import { isAgentError } from '../base/errors.ts';
import { deferred, within } from '../base/time.ts';

export class Changes {
  #watchers = new Set<() => void>();

  /** Some slot changed. */
  happened(): void {
    for (const look of this.#watchers) look();
  }

  /** Resolves when `holds` is true, at the latest when the time is over. Rejects only when `signal` aborts. */
  async until(holds: () => boolean, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    const settled = deferred<void>();
    const look = () => holds() && settled.resolve();
    this.#watchers.add(look);
    look();
    try {
      await within(settled.promise, { ms: timeoutMs, signal, what: 'waiting for slots' });
    } catch (thrown) {
      if (!isAgentError(thrown) || thrown.code !== 'TIMEOUT') throw thrown;
    } finally {
      this.#watchers.delete(look);
    }
  }
}
