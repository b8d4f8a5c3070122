/** A service that a chat started ends when no client has been connected for a while. */
import { limits } from '../base/limits.ts';
import type { SocketServer } from '../ipc/serve.ts';
import type { SlotRunner } from './slotRunner.ts';

export class IdleExit {
  #unusedSinceMs = performance.now();

  /** At every pulse. True when no chat has been connected and no work was in flight for long enough. */
  isDue(nowMs: number, server: SocketServer | undefined, slots: ReadonlyMap<string, SlotRunner>): boolean {
    const isUsed =
      [...(server?.links ?? [])].some((link) => link.peer.slot === 'cli') ||
      [...slots.values()].some((runner) => (runner.incarnation?.activeWork ?? 0) > 0);
    if (isUsed) this.#unusedSinceMs = nowMs;
    return nowMs - this.#unusedSinceMs > limits.chat.lingerMs;
  }
}
