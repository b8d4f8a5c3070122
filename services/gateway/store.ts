/**
 * gateway.db: what came in, what has to go out, and which conversations exist. Rows are stored before
 * anything is acknowledged or sent, so that a kill at any point loses nothing. Only the gateway of the
 * profile writes here.
 */
import { messageOf } from '../../base/errors.ts';
import { openStore, type Db, type Schema } from '../../state/db/open.ts';
import { Inbox } from './inbox.ts';
import { QuestionStore } from './questionStore.ts';
import { Outbox } from './outbox.ts';

const schema: Schema = {
  version: 1,
  tables: {
    inbox: {
      columns: {
        id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
        platform: 'TEXT NOT NULL',
        chat: 'TEXT NOT NULL',
        thread: "TEXT NOT NULL DEFAULT ''",
        chat_type: 'TEXT NOT NULL',
        user: 'TEXT NOT NULL',
        text: 'TEXT NOT NULL',
        message_id: 'TEXT',
        kind: "TEXT NOT NULL DEFAULT 'message'",
        lane: 'TEXT NOT NULL',
        session_key: 'TEXT',
        profile: 'TEXT',
        reply_platform: 'TEXT',
        reply_chat: 'TEXT',
        reply_thread: "TEXT NOT NULL DEFAULT ''",
        state: 'TEXT NOT NULL',
        sent_at: 'INTEGER NOT NULL',
        received_at: 'INTEGER NOT NULL',
        closed_at: 'INTEGER',
        error: 'TEXT',
        retries: 'INTEGER NOT NULL DEFAULT 0',
      },
      constraints: ['UNIQUE (platform, chat, message_id)'],
      indices: {
        inbox_open: 'inbox (state, id) WHERE closed_at IS NULL',
        inbox_closed: 'inbox (closed_at) WHERE closed_at IS NOT NULL',
      },
    },
    outbox: {
      columns: {
        id: 'INTEGER PRIMARY KEY AUTOINCREMENT',
        idempotency_key: 'TEXT NOT NULL UNIQUE',
        platform: 'TEXT NOT NULL',
        chat: 'TEXT NOT NULL',
        thread: "TEXT NOT NULL DEFAULT ''",
        text: 'TEXT NOT NULL',
        origin: 'TEXT NOT NULL',
        state: 'TEXT NOT NULL',
        tries: 'INTEGER NOT NULL DEFAULT 0',
        parts_done: 'INTEGER NOT NULL DEFAULT 0',
        resends: 'INTEGER NOT NULL DEFAULT 0',
        next_try_at: 'INTEGER NOT NULL',
        created_at: 'INTEGER NOT NULL',
        expires_at: 'INTEGER NOT NULL',
        closed_at: 'INTEGER',
        error: 'TEXT',
      },
      indices: {
        outbox_open: 'outbox (platform, chat, thread, id) WHERE closed_at IS NULL',
        outbox_due: 'outbox (next_try_at) WHERE closed_at IS NULL',
        outbox_closed: 'outbox (closed_at) WHERE closed_at IS NOT NULL',
      },
    },
    conversations: {
      columns: {
        lane: 'TEXT PRIMARY KEY',
        platform: 'TEXT NOT NULL',
        chat_type: 'TEXT NOT NULL',
        chat: 'TEXT NOT NULL',
        thread: "TEXT NOT NULL DEFAULT ''",
        last_user: 'TEXT NOT NULL',
        messages: 'INTEGER NOT NULL DEFAULT 0',
        created_at: 'INTEGER NOT NULL',
        last_at: 'INTEGER NOT NULL',
      },
      indices: { conversations_recent: 'conversations (platform, last_at)' },
    },
    /** Questions of the agent to the people of a chat, as long as they are open. */
    questions: {
      columns: {
        request_id: 'TEXT PRIMARY KEY',
        session_key: 'TEXT NOT NULL',
        session_id: 'TEXT NOT NULL',
        kind: 'TEXT NOT NULL',
        params: 'TEXT NOT NULL',
        platform: 'TEXT NOT NULL',
        chat: 'TEXT NOT NULL',
        thread: "TEXT NOT NULL DEFAULT ''",
        answers: "TEXT NOT NULL DEFAULT '{}'",
        asked_at: 'INTEGER NOT NULL',
      },
    },
  },
};

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
  readonly #db: Db;
  #failure: { error: string; at: string; changes: number } | undefined;

  constructor(path: string) {
    this.#db = openStore(path, schema);
    this.inbox = new Inbox(this.#db);
    this.outbox = new Outbox(this.#db);
    this.questions = new QuestionStore(this.#db);
  }

  /** Rows changed so far: every step of a message is one. */
  get changes(): number {
    return this.#db.prepare('SELECT total_changes()').pluck().get() as number;
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
    return this.#db.transaction(work).immediate();
  }

  [Symbol.dispose](): void {
    this.#db.close();
  }
}
