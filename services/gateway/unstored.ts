/**
 * Messages of a platform that cannot be asked to send them again: while the store refuses them, they stay in memory, in
 * order, and are offered again. A message counts as accepted only once it is stored.
 */
import { messageOf, mustWait } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { storeError } from '../../state/db/open.ts';

export interface UnstoredParts {
  /** Of the store, for the error. */
  path: string;
  log: Logger;
  /** The store refused a write. */
  onRefused(thrown: unknown): void;
}

export class Unstored implements Disposable {
  readonly #parts: UnstoredParts;
  readonly #waiting: (() => void)[] = [];
  #lost = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: UnstoredParts) {
    this.#parts = parts;
  }

  /** Runs `store` now, or after the ones that wait already. Throws nothing. */
  add(store: () => void): void {
    if (this.#waiting.length >= limits.gateway.unstoredMax) {
      this.#lost++;
      return;
    }
    this.#waiting.push(store);
    if (this.#timer === undefined) this.#storeAll();
  }

  /** A last try, before the platform is closed. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#storeAll();
    clearTimeout(this.#timer);
    if (this.#waiting.length > 0) this.#parts.log.error(`${this.#waiting.length} received message(s) could not be stored and are lost`);
  }

  #storeAll(): void {
    const { path, log, onRefused } = this.#parts;
    const waited = this.#timer !== undefined;
    this.#timer = undefined;
    for (let store = this.#waiting[0]; store; store = this.#waiting[0]) {
      try {
        store();
      } catch (thrown) {
        onRefused(thrown);
        const error = storeError(path, thrown);
        if (mustWait(error)) {
          if (!waited) log.warn(`received messages wait in memory until they can be stored: ${messageOf(error)}`);
          this.#timer = setTimeout(() => this.#storeAll(), limits.state.storeRetryMs);
          return;
        }
        log.error(`a received message could not be stored and is lost: ${messageOf(error)}`);
      }
      this.#waiting.shift();
    }
    if (waited) log.info('the received messages that waited in memory are stored');
    if (this.#lost > 0) log.error(`${this.#lost} received message(s) are lost: more than ${limits.gateway.unstoredMax} waited in memory`);
    this.#lost = 0;
  }
}
