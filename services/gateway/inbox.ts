/** The durable inbox: every message that was accepted, from receipt to answer; and the chats it came from. */
import { limits } from '../../base/limits.ts';
import type { Db } from '../../state/db/open.ts';

/**
 * `received`: stored, no turn yet. `submitted`: the agent has been asked under the key `gateway:<id>`.
 * `gathered`: a line of the prompt that the message `prompt_id` begins; it is closed with that one, and its outcome is that one's.
 * `answered`, `failed` permanently (the answer says why), `refused` (over the cap), `discarded` (failed, and taken off
 * the list): closed.
 */
export type InboxState = 'received' | 'submitted' | 'gathered' | 'answered' | 'refused' | 'failed' | 'discarded';

export interface Reply {
  platform: string;
  chat: string;
  thread: string;
}

export interface NewMessage {
  platform: string;
  chat: string;
  thread: string;
  chat_type: string;
  user: string;
  /** 1 = the platform knows the sender as an owner (`platforms.<p>.owners`). */
  is_owner: number;
  text: string;
  /** The platform's own id, where it gives one. */
  message_id: string | null;
  /** `command` is answered at once, beside its lane; one that the agent could not take is `deferred` and waits in its lane. */
  kind: 'message' | 'command' | 'deferred';
  /** One message of a lane is worked on at a time. */
  lane: string;
  /** Conversation of the agent worker; null = a fresh one for this message. */
  session_key: string | null;
  /** Where the answer goes; null = nowhere. */
  reply: Reply | null;
  /** Whose agent answers; null = that of the gateway. */
  profile: string | null;
  /** When the platform says it was written, epoch milliseconds. */
  sent_at: number;
}

export interface InboxRow extends Omit<NewMessage, 'reply'> {
  id: number;
  reply_platform: string | null;
  reply_chat: string | null;
  reply_thread: string;
  state: InboxState;
  received_at: number;
  closed_at: number | null;
  error: string | null;
  /** Times it was tried again after it had failed permanently: each has a key of its own. */
  retries: number;
  /** Of a gathered line: the message that begins its prompt. */
  prompt_id: number | null;
}

/** Keys of one message: of its turn at the agent, and of its answer in the outbox. */
export const keysOf = ({ id, retries }: Pick<InboxRow, 'id' | 'retries'>): { turn: string; reply: string } => {
  const again = retries === 0 ? '' : `:${retries}`;
  return { turn: `gateway:${id}${again}`, reply: `inbox:${id}${again}` };
};

/** Waiting messages of one profile. */
export interface ProfileLanes {
  profile: string;
  /** That of the gateway itself: its messages carry none. */
  own: string;
  /** Whole lanes of it that wait; null = all lanes wait. */
  lanes: string[] | null;
}

export class Inbox {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Stores a message once. A message with a known id is a duplicate as long as `dedupeMs` have not passed. */
  store(
    message: NewMessage,
    { nowMs, dedupeMs, state = 'received' }: { nowMs: number; dedupeMs: number; state?: 'received' | 'refused' },
  ): { id: number; duplicate: boolean } {
    return this.#db
      .transaction(() => {
        const known = this.#known(message);
        if (known && known.received_at > nowMs - dedupeMs) return { id: known.id, duplicate: true };
        if (known) this.#db.prepare('UPDATE inbox SET message_id = NULL WHERE id = ?').run(known.id);
        const id = this.#insert(message, nowMs, state);
        this.#countConversation(message, nowMs);
        return { id, duplicate: false };
      })
      .immediate();
  }

  get(id: number): InboxRow | undefined {
    return this.#db.prepare('SELECT * FROM inbox WHERE id = ?').get(id) as InboxRow | undefined;
  }

  /** The oldest message whose lane is free and whose profile is not held. */
  nextReceived(busyLanes: string[], heldProfiles: string[], own: string): InboxRow | undefined {
    return this.#db
      .prepare(
        `SELECT * FROM inbox WHERE state = 'received' AND closed_at IS NULL AND kind <> 'command'
         AND lane NOT IN (SELECT value FROM json_each(?))
         AND COALESCE(profile, ?) NOT IN (SELECT value FROM json_each(?)) ORDER BY id LIMIT 1`,
      )
      .get(JSON.stringify(busyLanes), own, JSON.stringify(heldProfiles)) as InboxRow | undefined;
  }

  /** Messages of a profile that wait for its agent. */
  countWaiting({ profile, own, lanes }: ProfileLanes): number {
    return this.#count(
      `SELECT COUNT(*) AS n FROM inbox WHERE closed_at IS NULL AND kind <> 'command' AND COALESCE(profile, @own) = @profile
       AND (@lanes IS NULL OR lane IN (SELECT value FROM json_each(@lanes)))`,
      { profile, own, lanes: lanes && JSON.stringify(lanes) },
    );
  }

  /** The oldest open message of each lane of a profile whose sender wants an answer. */
  heads({ profile, own, lanes }: ProfileLanes): InboxRow[] {
    return this.#db
      .prepare(
        `SELECT * FROM inbox WHERE id IN (
           SELECT MIN(id) FROM inbox WHERE closed_at IS NULL AND kind <> 'command' AND COALESCE(profile, @own) = @profile
           AND (@lanes IS NULL OR lane IN (SELECT value FROM json_each(@lanes))) GROUP BY lane)
         AND reply_chat IS NOT NULL`,
      )
      .all({ profile, own, lanes: lanes && JSON.stringify(lanes) }) as InboxRow[];
  }

  /** What an earlier incarnation had asked the agent for and not answered yet. */
  submitted(): InboxRow[] {
    return this.#db.prepare("SELECT * FROM inbox WHERE state = 'submitted' AND closed_at IS NULL ORDER BY id").all() as InboxRow[];
  }

  /** A command that asks something of the agent: from now on it waits for its turn like any message. */
  turnIntoMessage(id: number, text: string): void {
    this.#db.prepare("UPDATE inbox SET kind = 'message', state = 'received', text = ? WHERE id = ? AND closed_at IS NULL").run(text, id);
  }

  /** The agent did not take it: it is due again, in order. */
  giveBack(id: number): void {
    this.#db.prepare("UPDATE inbox SET state = 'received' WHERE id = ? AND state = 'submitted'").run(id);
  }

  /** A command that the agent cannot take now waits in its lane like a message. */
  defer(id: number): void {
    this.#db.prepare("UPDATE inbox SET kind = 'deferred' WHERE id = ? AND closed_at IS NULL").run(id);
  }

  /** A message that failed permanently is due again. False = there is no such one. */
  revive(id: number): boolean {
    const sql =
      "UPDATE inbox SET state = 'received', closed_at = NULL, error = NULL, retries = retries + 1 WHERE id = ? AND state = 'failed'";
    return this.#db
      .transaction(() => {
        if (this.#db.prepare(sql).run(id).changes === 0) return false;
        this.#db.prepare('UPDATE inbox SET closed_at = NULL WHERE prompt_id = ?').run(id);
        return true;
      })
      .immediate();
  }

  /** A message that failed permanently is taken off the list. False = there is no such one. */
  discard(id: number): boolean {
    return this.#db.prepare("UPDATE inbox SET state = 'discarded' WHERE id = ? AND state = 'failed'").run(id).changes === 1;
  }

  /** The message of a conversation that the agent works on now. */
  submittedOf(sessionKey: string): InboxRow | undefined {
    return this.#db
      .prepare("SELECT * FROM inbox WHERE state = 'submitted' AND closed_at IS NULL AND session_key = ? ORDER BY id DESC LIMIT 1")
      .get(sessionKey) as InboxRow | undefined;
  }

  /** What was taken for an answer to a question is a message like any other. */
  becomeMessage(id: number): void {
    this.#db.prepare("UPDATE inbox SET kind = 'message' WHERE id = ?").run(id);
  }

  openCommands(): InboxRow[] {
    return this.#db
      .prepare("SELECT * FROM inbox WHERE state = 'received' AND closed_at IS NULL AND kind = 'command' ORDER BY id")
      .all() as InboxRow[];
  }

  /** What came into the lane of a message after it, whatever became of it. */
  after({ lane, id }: InboxRow, max: number): InboxRow[] {
    return this.#db.prepare('SELECT * FROM inbox WHERE lane = ? AND id > ? ORDER BY id LIMIT ?').all(lane, id, max) as InboxRow[];
  }

  /** The turn of a message is formed, with the lines gathered into it: from now on they stay together, as the key of the turn means all of them. */
  submit({ id }: InboxRow, gathered: readonly InboxRow[]): void {
    this.#db
      .transaction(() => {
        this.#db.prepare("UPDATE inbox SET state = 'submitted' WHERE id = ?").run(id);
        const gather = this.#db.prepare("UPDATE inbox SET state = 'gathered', prompt_id = ? WHERE id = ?");
        for (const line of gathered) gather.run(id, line.id);
      })
      .immediate();
  }

  /** Whether lines were gathered into the prompt of this message. */
  hasGathered(id: number): boolean {
    return this.#db.prepare('SELECT 1 FROM inbox WHERE prompt_id = ? LIMIT 1').get(id) !== undefined;
  }

  /** The text of a message with the lines gathered into it. */
  promptOf({ id, text }: InboxRow): string {
    const lines = this.#db.prepare('SELECT text FROM inbox WHERE prompt_id = ? ORDER BY id').pluck().all(id) as string[];
    return [text, ...lines].join('\n');
  }

  close(id: number, state: 'answered' | 'failed', nowMs: number, error: string | null = null): void {
    this.#db.prepare('UPDATE inbox SET state = ?, closed_at = ?, error = ? WHERE id = ?').run(state, nowMs, error, id);
    this.#db.prepare('UPDATE inbox SET closed_at = ? WHERE prompt_id = ?').run(nowMs, id);
  }

  /** Prompts that the waiting messages of one chat will become; lines no more than `gatherMs` apart are one (gathering.ts). */
  waitingInChat(platform: string, chat: string, gatherMs: number): number {
    const { gatherLinesMax, gatherMaxBytes, gatherWaitMaxMs } = limits.gateway;
    return this.#count(
      `SELECT COALESCE(SUM(starts), 0) + COUNT(*) / ${gatherLinesMax} + COALESCE(SUM(LENGTH(CAST(text AS BLOB))), 0) / ${gatherMaxBytes} AS n FROM (
         SELECT text, @gatherMs = 0 OR kind <> 'message' OR LAG(user) OVER lines IS NOT user
           OR received_at - LAG(received_at) OVER lines > @gatherMs
           OR received_at / ${gatherWaitMaxMs} <> LAG(received_at) OVER lines / ${gatherWaitMaxMs} AS starts
         FROM inbox WHERE state = 'received' AND closed_at IS NULL AND platform = @platform AND chat = @chat
         WINDOW lines AS (PARTITION BY lane ORDER BY id))`,
      { platform, chat, gatherMs },
    );
  }

  /** Profiles that waiting messages are bound to. */
  boundProfiles(): string[] {
    return this.#db
      .prepare("SELECT DISTINCT profile FROM inbox WHERE state = 'received' AND closed_at IS NULL AND profile IS NOT NULL")
      .pluck()
      .all() as string[];
  }

  countReceivedOf(profiles: string[]): number {
    return this.#count(
      "SELECT COUNT(*) AS n FROM inbox WHERE state = 'received' AND closed_at IS NULL AND profile IN (SELECT value FROM json_each(?))",
      JSON.stringify(profiles),
    );
  }

  countReceived(): number {
    return this.#count("SELECT COUNT(*) AS n FROM inbox WHERE state = 'received' AND closed_at IS NULL AND kind <> 'command'");
  }

  /** Id of the newest message that waits; 0 = none. */
  newestReceived(): number {
    return this.#count("SELECT COALESCE(MAX(id), 0) AS n FROM inbox WHERE state = 'received' AND closed_at IS NULL AND kind <> 'command'");
  }

  recentChats(platform: string, max: number): string[] {
    const rows = this.#db
      .prepare('SELECT chat FROM conversations WHERE platform = ? GROUP BY chat ORDER BY MAX(last_at) DESC LIMIT ?')
      .all(platform, max);
    return (rows as { chat: string }[]).map((row) => row.chat);
  }

  prune(nowMs: number): void {
    this.#db.prepare('DELETE FROM inbox WHERE closed_at IS NOT NULL AND closed_at < ?').run(nowMs - limits.gateway.deliveryKeepMs);
    this.#db
      .prepare('DELETE FROM inbox WHERE id IN (SELECT id FROM inbox WHERE closed_at IS NOT NULL ORDER BY closed_at DESC LIMIT -1 OFFSET ?)')
      .run(limits.gateway.inboxKeepMax);
    this.#db
      .prepare('DELETE FROM conversations WHERE lane IN (SELECT lane FROM conversations ORDER BY last_at DESC LIMIT -1 OFFSET ?)')
      .run(limits.gateway.inboxKeepMax);
  }

  #known({ platform, chat, message_id }: NewMessage): { id: number; received_at: number } | undefined {
    if (message_id === null) return undefined;
    const sql = 'SELECT id, received_at FROM inbox WHERE platform = ? AND chat = ? AND message_id = ?';
    return this.#db.prepare(sql).get(platform, chat, message_id) as { id: number; received_at: number } | undefined;
  }

  #insert({ reply, ...message }: NewMessage, nowMs: number, state: 'received' | 'refused'): number {
    const { lastInsertRowid } = this.#db
      .prepare(
        `INSERT INTO inbox (platform, chat, thread, chat_type, user, is_owner, text, message_id, kind, lane, session_key, profile,
                            reply_platform, reply_chat, reply_thread, state, sent_at, received_at, closed_at)
         VALUES (@platform, @chat, @thread, @chat_type, @user, @is_owner, @text, @message_id, @kind, @lane, @session_key, @profile,
                 @reply_platform, @reply_chat, @reply_thread, @state, @sent_at, @nowMs, @closedMs)`,
      )
      .run({
        ...message,
        reply_platform: reply?.platform ?? null,
        reply_chat: reply?.chat ?? null,
        reply_thread: reply?.thread ?? '',
        state,
        nowMs,
        closedMs: state === 'refused' ? nowMs : null,
      });
    return Number(lastInsertRowid);
  }

  #countConversation({ lane, platform, chat_type, chat, thread, user }: NewMessage, nowMs: number): void {
    this.#db
      .prepare(
        `INSERT INTO conversations (lane, platform, chat_type, chat, thread, last_user, messages, created_at, last_at)
         VALUES (@lane, @platform, @chat_type, @chat, @thread, @user, 1, @nowMs, @nowMs)
         ON CONFLICT (lane) DO UPDATE SET messages = messages + 1, last_user = @user, last_at = @nowMs`,
      )
      .run({ lane, platform, chat_type, chat, thread, user, nowMs });
  }

  #count(sql: string, ...values: unknown[]): number {
    return (this.#db.prepare(sql).get(...values) as { n: number }).n;
  }
}
