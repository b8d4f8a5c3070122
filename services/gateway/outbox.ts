/**
 * The durable outbox: each message once per idempotency key, in order per chat, with a memory of how
 * far its sending got. A row found in `sending` after a crash is `uncertain`: it is sent once more with
 * a visible mark, and never blindly again (lessons 36).
 */
import { limits } from '../../base/limits.ts';
import type { Db } from '../../state/db/open.ts';

export type OutboxState = 'pending' | 'sending' | 'delivered' | 'uncertain' | 'failed' | 'expired' | 'discarded';

export interface NewDelivery {
  idempotency_key: string;
  platform: string;
  chat: string;
  thread: string;
  text: string;
  origin: string;
}

export interface OutboxRow extends NewDelivery {
  id: number;
  state: OutboxState;
  /** Attempts while the platform was connected. */
  tries: number;
  /** Parts the platform has acknowledged. */
  parts_done: number;
  /** Times it was sent again after an uncertain end. */
  resends: number;
  next_try_at: number;
  created_at: number;
  expires_at: number;
  closed_at: number | null;
  error: string | null;
}

export interface OutboxChat {
  platform: string;
  chat: string;
  thread: string;
}

export class Outbox {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Stores a message once per key; a second call answers with the first row. */
  enqueue(delivery: NewDelivery, nowMs: number): { row: OutboxRow; duplicate: boolean } {
    const { changes } = this.#db
      .prepare(
        `INSERT INTO outbox (idempotency_key, platform, chat, thread, text, origin, state, next_try_at, created_at, expires_at)
         VALUES (@idempotency_key, @platform, @chat, @thread, @text, @origin, 'pending', @nowMs, @nowMs, @expiresMs)
         ON CONFLICT (idempotency_key) DO NOTHING`,
      )
      .run({ ...delivery, nowMs, expiresMs: nowMs + limits.gateway.deliveryFreshMs });
    const row = this.#db.prepare('SELECT * FROM outbox WHERE idempotency_key = ?').get(delivery.idempotency_key) as OutboxRow;
    return { row, duplicate: changes === 0 };
  }

  get(id: number): OutboxRow | undefined {
    return this.#db.prepare('SELECT * FROM outbox WHERE id = ?').get(id) as OutboxRow | undefined;
  }

  has(key: string): boolean {
    return this.#db.prepare('SELECT 1 FROM outbox WHERE idempotency_key = ?').get(key) !== undefined;
  }

  /** The message that a chat waits for: the oldest open one. */
  head({ platform, chat, thread }: OutboxChat): OutboxRow | undefined {
    return this.#db
      .prepare('SELECT * FROM outbox WHERE platform = ? AND chat = ? AND thread = ? AND closed_at IS NULL ORDER BY id LIMIT 1')
      .get(platform, chat, thread) as OutboxRow | undefined;
  }

  isOpen(id: number): boolean {
    return this.#db.prepare('SELECT 1 FROM outbox WHERE id = ? AND closed_at IS NULL').get(id) !== undefined;
  }

  /** What is still to be sent of the answers of a chat is dropped: questions and messages of others stay. Answers their ids. */
  dropAnswers({ platform, chat, thread }: OutboxChat, nowMs: number): number[] {
    return this.#db
      .prepare(
        `UPDATE outbox SET state = 'discarded', closed_at = ?, error = 'stopped in the chat'
         WHERE platform = ? AND chat = ? AND thread = ? AND closed_at IS NULL AND origin = 'gateway' AND idempotency_key LIKE 'inbox:%'
         RETURNING id`,
      )
      .pluck()
      .all(nowMs, platform, chat, thread) as number[];
  }

  /** The newest message of a chat. */
  newest({ platform, chat, thread }: OutboxChat): OutboxRow | undefined {
    return this.#db
      .prepare('SELECT * FROM outbox WHERE platform = ? AND chat = ? AND thread = ? ORDER BY id DESC LIMIT 1')
      .get(platform, chat, thread) as OutboxRow | undefined;
  }

  openChats(): OutboxChat[] {
    return this.#db
      .prepare('SELECT platform, chat, thread FROM outbox WHERE closed_at IS NULL GROUP BY platform, chat, thread ORDER BY MIN(id)')
      .all() as OutboxChat[];
  }

  countOpen(of?: { platform: string; chat: string }): number {
    const where = of ? 'AND platform = @platform AND chat = @chat' : '';
    return (this.#db.prepare(`SELECT COUNT(*) AS n FROM outbox WHERE closed_at IS NULL ${where}`).get(of ?? {}) as { n: number }).n;
  }

  /** Written just before the first byte goes out. */
  markSending(id: number): void {
    this.#db.prepare("UPDATE outbox SET state = 'sending', tries = tries + 1 WHERE id = ?").run(id);
  }

  markPart(id: number, partsDone: number): void {
    this.#db.prepare('UPDATE outbox SET parts_done = ? WHERE id = ?').run(partsDone, id);
  }

  postpone(id: number, { nextTryMs, error, counts }: { nextTryMs: number; error: string; counts: boolean }): void {
    this.#db
      .prepare("UPDATE outbox SET state = 'pending', next_try_at = ?, error = ?, tries = tries - ? WHERE id = ?")
      .run(nextTryMs, error, counts ? 0 : 1, id);
  }

  /** Nobody knows whether it arrived: due again as a marked resend. */
  markUncertain(id: number, { nextTryMs, error }: { nextTryMs: number; error: string }): void {
    this.#db.prepare("UPDATE outbox SET state = 'uncertain', next_try_at = ?, error = ? WHERE id = ?").run(nextTryMs, error, id);
  }

  countResend(id: number): void {
    this.#db.prepare('UPDATE outbox SET resends = resends + 1 WHERE id = ?').run(id);
  }

  /** The marked resend was not written: it is still owed. */
  uncountResend(id: number, { nextTryMs, error }: { nextTryMs: number; error: string }): void {
    this.#db
      .prepare("UPDATE outbox SET state = 'uncertain', resends = resends - 1, next_try_at = ?, error = ? WHERE id = ?")
      .run(nextTryMs, error, id);
  }

  close(id: number, state: Exclude<OutboxState, 'pending' | 'sending'>, nowMs: number, error: string | null = null): void {
    this.#db.prepare('UPDATE outbox SET state = ?, closed_at = ?, error = ? WHERE id = ?').run(state, nowMs, error, id);
  }

  /** A message that was given up is due again, from the part on that is still missing. False = there is no such one. */
  revive(id: number, nowMs: number): boolean {
    return (
      this.#db
        .prepare(
          `UPDATE outbox SET state = 'pending', closed_at = NULL, tries = 0, resends = 0, error = NULL, next_try_at = @nowMs, expires_at = @expiresMs
           WHERE id = @id AND closed_at IS NOT NULL AND state IN ('failed', 'expired', 'uncertain')`,
        )
        .run({ id, nowMs, expiresMs: nowMs + limits.gateway.deliveryFreshMs }).changes === 1
    );
  }

  /** A message that was given up is never asked about again; its key is remembered as long as any. False = there is no such one. */
  discard(id: number): boolean {
    const sql =
      "UPDATE outbox SET state = 'discarded' WHERE id = ? AND closed_at IS NOT NULL AND state IN ('failed', 'expired', 'uncertain')";
    return this.#db.prepare(sql).run(id).changes === 1;
  }

  /** After a crash: what was being sent is uncertain. Answers how many. */
  recover(): number {
    return this.#db
      .prepare("UPDATE outbox SET state = 'uncertain', error = 'the gateway ended while it was being sent' WHERE state = 'sending'")
      .run().changes;
  }

  /** Closes what is older than its time to live. */
  expire(nowMs: number): OutboxRow[] {
    return this.#db
      .prepare(
        "UPDATE outbox SET state = 'expired', closed_at = @nowMs, error = COALESCE(error, 'not delivered within a day') WHERE closed_at IS NULL AND expires_at <= @nowMs RETURNING *",
      )
      .all({ nowMs }) as OutboxRow[];
  }

  prune(nowMs: number): void {
    this.#db.prepare('DELETE FROM outbox WHERE closed_at IS NOT NULL AND closed_at < ?').run(nowMs - limits.gateway.deliveryKeepMs);
  }
}
