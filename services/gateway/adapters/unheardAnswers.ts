/**
 * Deliveries without an id whose sender was gone before they were answered. The same body again, within the window, is the
 * same delivery: a sender that waited in vain repeats it. Kept in memory: it repeats soon.
 */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { uuid } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';

/** Turns of the loop in which the end of a connection is read that the kernel knows already. */
const TURNS = 3;

export class UnheardAnswers {
  readonly #unheard = new Map<string, { id: string; atMs: number }>();

  /** The id of the delivery that this request repeats, or a new one. Call it just before the answer. */
  async idOf(key: string, socket: Socket): Promise<string> {
    for (let turn = 0; turn < TURNS; turn++) await nextTurn();
    const isGone = socket.destroyed || socket.readableEnded || socket.writableEnded;
    const nowMs = Date.now();
    const earlier = this.#unheard.get(key);
    const id = earlier && nowMs - earlier.atMs < limits.gateway.webhookIdempotencyMs ? earlier.id : uuid();
    this.#unheard.delete(key);
    if (isGone) this.#unheard.set(key, { id, atMs: nowMs });
    if (this.#unheard.size > limits.gateway.webhookUnheardMax) this.#unheard.delete(this.#unheard.keys().next().value!);
    return id;
  }
}
