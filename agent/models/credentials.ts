/** Which key of a provider serves: pools, their strategies, and the rest that a refused key gets. One per worker, kept in memory. */
import { limits } from '../../base/limits.ts';
import type { Credential } from './kinds.ts';

export type PoolStrategy = 'fill_first' | 'round_robin' | 'least_used' | 'random';

interface KeyState {
  uses: number;
  /** Of the clock; 0 = it does not rest. */
  restsUntil: number;
}

export class CredentialPool {
  #records = new Map<string, KeyState>();
  #turns = new Map<string, number>();
  #now: () => number;
  #random: () => number;

  constructor({ now = Date.now, random = Math.random }: { now?: () => number; random?: () => number } = {}) {
    this.#now = now;
    this.#random = random;
  }

  /**
   * A key that does not rest, by the strategy; where all of them rest, the one that is back first, unless `rested` insists.
   * Undefined = the provider has none, or none that is rested.
   */
  pick(
    provider: string,
    keys: readonly Credential[],
    options: { strategy?: PoolStrategy | undefined; rested?: boolean } = {},
  ): Credential | undefined {
    const [only] = keys;
    if (keys.length <= 1) return only;
    const now = this.#now();
    const ready = keys.filter((key) => this.#record(provider, key).restsUntil <= now);
    const chosen =
      ready.length > 0 ? this.#choose(provider, ready, options.strategy) : options.rested ? undefined : this.#backFirst(provider, keys);
    if (chosen) this.#record(provider, chosen).uses++;
    return chosen;
  }

  /** Another key takes over for a while. The only one is never sent to rest: nobody could take over. */
  rest(provider: string, key: Credential, trouble: 'rate' | 'unpaid' | 'auth'): void {
    const ms = trouble === 'unpaid' ? limits.models.keyUnpaidRestMs : limits.models.keyRestMs;
    this.#record(provider, key).restsUntil = this.#now() + ms;
  }

  #choose(provider: string, ready: readonly Credential[], strategy: PoolStrategy = 'fill_first'): Credential | undefined {
    switch (strategy) {
      case 'fill_first':
        return ready[0];
      case 'round_robin': {
        const turn = this.#turns.get(provider) ?? 0;
        this.#turns.set(provider, turn + 1);
        return ready[turn % ready.length];
      }
      case 'least_used':
        return ready.toSorted((a, b) => this.#record(provider, a).uses - this.#record(provider, b).uses)[0];
      case 'random':
        return ready[Math.floor(this.#random() * ready.length)];
    }
  }

  #backFirst(provider: string, keys: readonly Credential[]): Credential | undefined {
    return keys.toSorted((a, b) => this.#record(provider, a).restsUntil - this.#record(provider, b).restsUntil)[0];
  }

  /** By value: a key that its owner replaced starts afresh. */
  #record(provider: string, { env, value }: Credential): KeyState {
    const name = `${provider}\0${env}\0${value}`;
    let record = this.#records.get(name);
    if (!record) this.#records.set(name, (record = { uses: 0, restsUntil: 0 }));
    return record;
  }
}
