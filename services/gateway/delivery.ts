/**
 * Empties the outbox: per chat in order, chats side by side, only into chats that are ready. What a
 * platform refuses for good is closed with its reason, what it could not take is tried again, and what
 * may or may not have arrived is sent once more with a visible mark.
 */
import { messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { jitteredDelayMs, sleep } from '../../base/time.ts';
import { SendError } from './adapter.ts';
import type { OutboxChat, OutboxRow } from './outbox.ts';
import type { Platforms } from './platforms.ts';
import type { GatewayStore } from './store.ts';

export interface Delivery {
  /** Something was stored, or a chat became ready. */
  wake(): void;
  /** Sends no more of the answers of a chat. False = none was under way. */
  stop(chat: OutboxChat): boolean;
  /** The row once it has left `pending` and `sending`, or as it is after `waitMs`. Undefined = no such row. */
  settled(id: number, waitMs: number): Promise<OutboxRow | undefined>;
  /** Chats being written to. */
  active(): string[];
  /** Resolves when nothing that could be sent now is left, or after `ms`. */
  flush(ms: number): Promise<void>;
  /** Stops; a send under way ends as uncertain at worst. */
  close(): Promise<void>;
}

export interface DeliveryParts {
  store: GatewayStore;
  platforms: Pick<Platforms, 'isReady' | 'split' | 'send'>;
  log: Logger;
  /** For the age of messages. */
  confirmedNow(): number;
}

const MARK = '(may be a duplicate) ';

export function createDelivery(parts: DeliveryParts): Delivery {
  const { store, platforms, log } = parts;
  const { outbox } = store;
  const running = new Map<string, Promise<void>>();
  const watchers = new Map<number, Set<() => void>>();
  const life = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const changed = (id: number) => {
    for (const tell of watchers.get(id) ?? []) tell();
  };

  const wake = (): void => {
    clearTimeout(timer);
    if (life.signal.aborted) return;
    try {
      sendDue();
    } catch (thrown) {
      log.error(`messages could not be sent: ${messageOf(thrown)}; trying again`);
      store.failed(thrown);
      timer = setTimeout(wake, limits.state.storeRetryMs);
    }
  };

  const sendDue = (): void => {
    for (const row of outbox.expire(parts.confirmedNow())) {
      log.error(`the message ${row.id} to ${row.platform}:${row.chat} was not delivered within a day and is given up`);
      changed(row.id);
    }
    let nextTryMs = Number.POSITIVE_INFINITY;
    for (const chat of outbox.openChats()) {
      const key = keyOf(chat);
      const head = outbox.head(chat);
      if (!head || running.has(key)) continue;
      if (!isDue(head)) nextTryMs = Math.min(nextTryMs, head.next_try_at);
      else if (running.size < limits.gateway.deliveriesMax && platforms.isReady(chat.platform, chat.chat)) run(chat, key);
      else nextTryMs = Math.min(nextTryMs, head.expires_at);
    }
    if (nextTryMs < Number.POSITIVE_INFINITY) timer = setTimeout(wake, Math.min(Math.max(1, nextTryMs - Date.now()), LOOK_AGAIN_MS));
  };

  const run = (chat: OutboxChat, key: string): void => {
    const done = emptyChat(chat)
      .catch((thrown: unknown) => {
        log.error(`deliveries to ${key} stopped: ${messageOf(thrown)}`);
        // The store itself is in trouble (a full disk): not again at once.
        return sleep(limits.gateway.reconnectMinMs, life.signal).catch(() => {});
      })
      .finally(() => {
        running.delete(key);
        setImmediate(wake);
      });
    running.set(key, done);
  };

  const emptyChat = async (chat: OutboxChat): Promise<void> => {
    for (let row = outbox.head(chat); row && !life.signal.aborted; row = outbox.head(chat)) {
      if (!isDue(row) || !platforms.isReady(chat.platform, chat.chat)) return;
      const goOn = await deliver(parts, row, life.signal);
      changed(row.id);
      if (!goOn) return;
    }
  };

  return {
    wake,
    stop(chat) {
      const dropped = outbox.dropAnswers(chat, Date.now());
      for (const id of dropped) changed(id);
      return dropped.length > 0;
    },
    active: () => [...running.keys()],
    async settled(id, waitMs) {
      const deadline = performance.now() + waitMs;
      for (;;) {
        const row = outbox.get(id);
        const leftMs = deadline - performance.now();
        if (!row || (row.state !== 'pending' && row.state !== 'sending') || leftMs <= 0 || life.signal.aborted) return row;
        await new Promise<void>((resolve) => {
          const tell = () => {
            clearTimeout(limit);
            watchers.get(id)?.delete(tell);
            if (watchers.get(id)?.size === 0) watchers.delete(id);
            resolve();
          };
          const limit = setTimeout(tell, leftMs);
          watchers.set(id, (watchers.get(id) ?? new Set()).add(tell));
        });
      }
    },
    async flush(ms) {
      wake();
      const deadline = performance.now() + ms;
      while (running.size > 0 && performance.now() < deadline) {
        const limit = new Promise((resolve) => setTimeout(resolve, deadline - performance.now()).unref());
        await Promise.race([Promise.all(running.values()), limit]);
      }
    },
    async close() {
      clearTimeout(timer);
      life.abort();
      for (const id of watchers.keys()) changed(id);
      await Promise.all(running.values());
    },
  };
}

/** Also when its time is further away than any pause: the clock was set back since. */
function isDue({ next_try_at }: OutboxRow): boolean {
  const waitMs = next_try_at - Date.now();
  return waitMs <= 0 || waitMs > limits.gateway.retryAfterMaxMs;
}

const keyOf = ({ platform, chat, thread }: OutboxChat): string => `${platform}:${chat}${thread === '' ? '' : `:${thread}`}`;

/** A message to a chat that is not ready is looked at again by then, beside the wake-up by its platform. */
const LOOK_AGAIN_MS = 60_000;

/** Sends one message. Answers whether the chat's next one may follow. */
async function deliver({ store, platforms, log }: DeliveryParts, row: OutboxRow, signal: AbortSignal): Promise<boolean> {
  const { outbox } = store;
  const isResend = row.state === 'uncertain';
  const messages = platforms.split(row.platform, row.chat, row.text);
  if (isResend) outbox.countResend(row.id);
  outbox.markSending(row.id);
  try {
    for (let n = row.parts_done; n < messages.length; n++) {
      if (!outbox.isOpen(row.id)) return true;
      const mark = isResend && n === row.parts_done ? MARK : '';
      await platforms.send(row.platform, row.chat, mark + messages[n]!, signal);
      outbox.markPart(row.id, n + 1);
    }
    // Dropped while its last part was on its way.
    if (outbox.isOpen(row.id)) outbox.close(row.id, 'delivered', Date.now());
    return true;
  } catch (thrown) {
    if (!outbox.isOpen(row.id)) return true;
    const failure = thrown instanceof SendError ? thrown : new SendError('uncertain', messageOf(thrown), { cause: thrown });
    // Leaving: the row stays in `sending`, so the next incarnation knows no more and no less than is true.
    if (signal.aborted && failure.kind !== 'transient') return false;
    return store.transact(() => settleFailure(row, failure));
  }

  function settleFailure({ id, platform, chat, tries, resends }: OutboxRow, { kind, message, retryAfterMs }: SendError): boolean {
    const what = `the message ${id} to ${platform}:${chat}`;
    const nowMs = Date.now();
    const pauseMs = Math.min(
      limits.gateway.retryAfterMaxMs,
      retryAfterMs ?? jitteredDelayMs(tries, { baseMs: limits.gateway.reconnectMinMs, maxMs: limits.gateway.reconnectMaxMs }),
    );
    if (kind === 'permanent') {
      outbox.close(id, 'failed', nowMs, message);
      log.error(`${what} cannot be delivered: ${message}`);
      return true;
    }
    if (kind === 'uncertain') {
      if (isResend || resends > 0) {
        outbox.close(id, 'uncertain', nowMs, message);
        log.warn(`${what} may or may not have arrived: ${message}; it is not sent again`);
        return true;
      }
      outbox.markUncertain(id, { nextTryMs: nowMs, error: message });
      log.warn(`${what} may or may not have arrived: ${message}; it is sent once more, with a mark`);
      return false;
    }
    const counts = retryAfterMs === undefined;
    if (counts && tries + 1 >= limits.gateway.deliveryTriesMax) {
      outbox.close(id, 'failed', nowMs, message);
      log.error(`${what} is given up after ${tries + 1} tries: ${message}`);
      return true;
    }
    // Nothing of this try was written, so a resend is still to come.
    if (isResend) outbox.uncountResend(id, { nextTryMs: nowMs + pauseMs, error: message });
    else outbox.postpone(id, { nextTryMs: nowMs + pauseMs, error: message, counts });
    return false;
  }
}
