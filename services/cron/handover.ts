/**
 * Hands finished messages to the gateway's outbox, however long the gateway is down: each waits as a
 * row, is asked for again with its idempotency key, and leaves when the gateway has stored it.
 * Dials the gateway directly: a delivery must never start a gateway that was stopped on purpose.
 */
import { isAgentError, messageOf, mustWait } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { jitteredDelayMs } from '../../base/time.ts';
import { createClient, type Client } from '../../ipc/client.ts';
import { enqueueDelivery } from '../../ipc/contracts/gateway.ts';
import { dial } from '../../ipc/dial.ts';
import { watchFile } from '../../ipc/watchFile.ts';
import { confirmedNow } from '../../state/confirmedTime.ts';
import type { WorkerContext } from '../worker.ts';
import type { CronStore, DeliveryRow } from './store.ts';

export interface Handover extends Disposable {
  /** Something may be due. */
  wake(): void;
}

/** `irc:#a, irc:#b` → both; `local` and `origin` mean the output file alone. */
export const splitTargets = (deliver: string): string[] =>
  deliver
    .split(',')
    .map((target) => target.trim())
    .filter((target) => target !== '' && target !== 'local' && target !== 'origin' && target !== 'none');

export function createHandover(context: WorkerContext, store: CronStore): Handover {
  const { home, token, slot, release, profile } = context;
  const gatewaySlot = profile === 'default' ? 'gateway' : `gateway@${profile}`;
  const gateway = createClient((signal) => dial(home.run.socket(gatewaySlot), { token, slot, code: release.code, signal }));
  let timer: NodeJS.Timeout | undefined;
  let watcher: Disposable | undefined;
  let busy = false;
  /** The store could not be written. */
  let blocked = false;
  let stopped = false;

  /** The gateway's socket appears: the pause ends early. */
  const watchSocket = (): void => {
    watcher ??= watchFile(home.run.socket(gatewaySlot), () => {
      store.dueNow(Date.now());
      wake();
    });
  };
  const unwatchSocket = (): void => {
    watcher?.[Symbol.dispose]();
    watcher = undefined;
  };

  const wake = (): void => {
    if (busy || stopped) return;
    clearTimeout(timer);
    const next = store.nextDelivery();
    if (!next) return unwatchSocket();
    const waitMs = next.next_try_at - Date.now();
    // Further away than any pause: the clock was set back since.
    if (waitMs > 0 && waitMs <= limits.cron.handoverMaxMs) {
      timer = setTimeout(wake, Math.min(waitMs, limits.cron.tickMaxMs));
      return;
    }
    busy = true;
    void offer(next, { context, store, gateway, onUnreachable: watchSocket }).then(
      () => {
        busy = false;
        blocked = false;
        wake();
      },
      (thrown: unknown) => {
        busy = false;
        if (!blocked) context.log.error(`a result waits for its store: ${messageOf(thrown)}`);
        blocked = true;
        if (!stopped) timer = setTimeout(wake, limits.state.storeRetryMs);
      },
    );
  };

  return {
    wake,
    [Symbol.dispose]() {
      stopped = true;
      clearTimeout(timer);
      unwatchSocket();
      gateway[Symbol.dispose]();
    },
  };
}

interface OfferParts {
  context: WorkerContext;
  store: CronStore;
  gateway: Client;
  onUnreachable(): void;
}

async function offer(row: DeliveryRow, { context, store, gateway, onUnreachable }: OfferParts): Promise<void> {
  const key = row.n === 0 ? `cron:${row.execution_id}` : `cron:${row.execution_id}:${row.n}`;
  try {
    await gateway.call(enqueueDelivery, { target: row.target, text: row.text, idempotency_key: key, origin: 'cron' });
    if (context.signal.aborted) return;
    store.transact(() => {
      store.removeDelivery(row);
      if (store.deliveriesOf(row.execution_id) === 0 && store.run(row.execution_id)?.delivery === 'queued')
        store.setRunDelivery(row.execution_id, 'accepted');
    });
  } catch (thrown) {
    if (context.signal.aborted) return;
    // CANCELLED: this worker is shutting down.
    if (!mustWait(thrown) && !(isAgentError(thrown) && thrown.code === 'CANCELLED'))
      return giveUp(row, { context, store }, messageOf(thrown));
    if (confirmedNow(context.home) > row.expires_at)
      return giveUp(row, { context, store }, `the gateway could not be reached for a day: ${messageOf(thrown)}`);
    onUnreachable();
    store.postponeDelivery(
      row,
      Date.now() + jitteredDelayMs(row.tries, { baseMs: limits.cron.handoverMinMs, maxMs: limits.cron.handoverMaxMs }),
    );
  }
}

function giveUp(row: DeliveryRow, { context, store }: Pick<OfferParts, 'context' | 'store'>, why: string): void {
  const error = `delivery to ${row.target} failed: ${why}`;
  store.transact(() => {
    store.removeDelivery(row);
    store.setRunDelivery(row.execution_id, 'failed');
    store.setLastStatus(row.job_id, 'delivery_failed', error);
  });
  context.log.error(error, { job_id: row.job_id, execution_id: row.execution_id });
}
