/**
 * What left the process group of an incarnation but still carries its mark: found in one look at all
 * processes for everyone who asks at that time, and killed until none is left.
 */
import { INCARNATION_VARIABLE } from '../base/envFilter.ts';
import { limits } from '../base/limits.ts';
import { deferred, sleep, within, type Deferred } from '../base/time.ts';
import { killOnce, markedProcesses } from '../state/marks.ts';

interface Request {
  deadlineMs: number;
  gone: Deferred<boolean>;
}

export class StrayHunt {
  #requests = new Map<string, Request>();
  #running = false;
  #expected = 0;
  #enough: Deferred<void> | undefined;

  /** So many incarnations are about to end together: a look waits a moment for all of them. */
  expect(count: number): void {
    this.#expected = count;
  }

  /** True once no process carries the mark; false when one could not be killed. Callers of the same moment share the looks. */
  kill(mark: string): Promise<boolean> {
    let request = this.#requests.get(mark);
    if (!request) {
      request = { deadlineMs: performance.now() + limits.worker.killMs, gone: deferred<boolean>() };
      this.#requests.set(mark, request);
      if (!this.#running) void this.#run();
      else if (this.#requests.size >= this.#expected) this.#enough?.resolve();
    }
    return request.gone.promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Whoever asks in this turn of the loop shares the first look.
    await new Promise((resolve) => setImmediate(resolve));
    await this.#gather();
    while (this.#requests.size > 0) {
      this.#look();
      if (this.#requests.size > 0) await sleep(limits.supervisor.strayLookMs);
    }
    this.#running = false;
  }

  async #gather(): Promise<void> {
    if (this.#requests.size < this.#expected) {
      const enough = deferred<void>();
      this.#enough = enough;
      await within(enough.promise, { ms: limits.supervisor.strayGatherMs, what: 'the end of all of them' }).catch(() => {});
      this.#enough = undefined;
    }
    this.#expected = 0;
  }

  #look(): void {
    const found = markedProcesses(INCARNATION_VARIABLE, (mark) => this.#requests.has(mark));
    killOnce(found);
    const seen = new Set(found.map(({ value }) => value));
    for (const [mark, { deadlineMs, gone }] of this.#requests) {
      if (seen.has(mark) && performance.now() < deadlineMs) continue;
      this.#requests.delete(mark);
      gone.resolve(!seen.has(mark));
    }
  }
}
