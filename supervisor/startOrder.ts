/** Starts slots, each after the ones it names in `after` (contract §12); those are not waited for for ever. */
import { limits } from '../base/limits.ts';
import type { Changes } from './changes.ts';
import type { Problems } from './problems.ts';
import { orderProblems, waitsFor } from './reconcile.ts';
import type { SlotRunner } from './slotRunner.ts';

/** What `after` of the user's programs gets wrong, as a problem of the service. */
export function reportOrder(slots: ReadonlyMap<string, SlotRunner>, problems: Problems): void {
  problems.delete('order');
  const [first] = orderProblems([...slots.values()].map(({ spec }) => spec));
  if (first) problems.set('order', `services.${first.slot}: ${first.what}`, `correct services.${first.slot}.after in config.yaml`);
}

export class StartOrder {
  #slots: ReadonlyMap<string, SlotRunner>;
  #changes: Changes;
  /** Wanted, but waiting for others. */
  #waiting = new Set<SlotRunner>();

  constructor(slots: ReadonlyMap<string, SlotRunner>, changes: Changes) {
    this.#slots = slots;
    this.#changes = changes;
  }

  get isDone(): boolean {
    return this.#waiting.size === 0;
  }

  /** Starts what is down of these. */
  start(wanted: readonly SlotRunner[]): void {
    const specs = [...this.#slots.values()].map(({ spec }) => spec);
    const down = wanted.filter(({ state }) => state === 'down');
    for (const runner of down) this.#waiting.add(runner);
    // Between two starts as little as possible: what is written to after a start has to be copied again.
    for (const runner of down) runner.openOutput();
    for (const runner of down) {
      const before = waitsFor(runner.spec, specs).map((slot) => this.#slots.get(slot)!);
      if (before.every(({ state }) => state === 'ready')) this.#begin(runner);
      else void this.#startAfter(runner, before);
    }
  }

  /** A slot that is stopped or removed while it waits is not started. */
  forget(runner: SlotRunner): void {
    this.#waiting.delete(runner);
  }

  async #startAfter(runner: SlotRunner, before: readonly SlotRunner[]): Promise<void> {
    // As systemd's After=: what has failed or is not wanted holds nobody up.
    const settled = (other: SlotRunner) =>
      other.state === 'ready' || other.state === 'parked' || (other.state === 'down' && !this.#waiting.has(other));
    await this.#changes.until(() => !this.#waiting.has(runner) || before.every(settled), limits.sidecar.afterMs);
    if (this.#waiting.has(runner)) this.#begin(runner);
  }

  #begin(runner: SlotRunner): void {
    this.#waiting.delete(runner);
    if (runner.state === 'down') runner.bootStart();
  }
}
