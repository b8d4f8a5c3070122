/**
 * gateway.db: what came in, what has to go out, and which conversations exist. Rows are stored before
 * anything is acknowledged or sent, so that a kill at any point loses nothing. Only the gateway of the
 * profile writes here.
 */
import { messageOf } from '../../base/errors.ts';
import { openStore, type Db } from '../../state/db/open.ts';
import { gatewaySchema } from '../../state/db/schemas/gateway.ts';
import { Inbox } from './inbox.ts';
import { QuestionStore } from './questionStore.ts';
import { Outbox } from './outbox.ts';

export interface StoreHealth {
  /** `failing`: the last write failed, and none has succeeded since. */
  state: 'ok' | 'failing';
  error: string | null;
  since: string | null;
}

export class GatewayStore implements Disposable {
  readonly inbox: Inbox;
  readonly outbox: Outbox;
  readonly questions: QuestionStore;
  readonly db: Db;
  #failure: { error: string; at: string; changes: number } | undefined;

  constructor(path: string) {
    this.db = openStore(path, gatewaySchema);
    this.inbox = new Inbox(this.db);
    this.outbox = new Outbox(this.db);
    this.questions = new QuestionStore(this.db);
  }

  /** Rows changed so far: every step of a message is one. */
  get changes(): number {
    return this.db.prepare('SELECT total_changes()').pluck().get() as number;
  }

  get health(): StoreHealth {
    if (this.#failure && this.changes > this.#failure.changes) this.#failure = undefined;
    return { state: this.#failure ? 'failing' : 'ok', error: this.#failure?.error ?? null, since: this.#failure?.at ?? null };
  }

  /** A write has failed: told by whoever tried it. Errors of another kind are none of the store's. */
  failed(thrown: unknown): void {
    const known = this.health;
    const { code } = (thrown ?? {}) as { code?: unknown };
    if (!/^(?:SQLITE_|DISK_FULL|STORE_|HOME_UNUSABLE|ENOSPC|EIO|EROFS)/.test(String(code))) return;
    this.#failure = { error: messageOf(thrown), at: known.since ?? new Date().toISOString(), changes: this.changes };
  }

  /** Runs `work` as one immediate transaction. */
  transact<T>(work: () => T): T {
    return this.db.transaction(work).immediate();
  }

  [Symbol.dispose](): void {
    this.db.close();
  }
}
