/** One thing at a time that is done a moment later, or at once when the next one comes: a replacement that was just started gets the processor first. */
import { limits } from '../base/limits.ts';

export class KeepLater {
  #due: (() => void) | undefined;

  set(keep: () => void): void {
    this.now();
    this.#due = keep;
    setTimeout(() => this.now(), limits.supervisor.writeAfterMs);
  }

  now(): void {
    const keep = this.#due;
    this.#due = undefined;
    keep?.();
  }
}
