/** Open questions of the agent in gateway.db; a row goes when its question is over. */
import { limits } from '../../base/limits.ts';
import type { Db } from '../../state/db/open.ts';

export interface QuestionRow {
  request_id: string;
  session_key: string;
  session_id: string;
  kind: 'approval' | 'clarify';
  params: Record<string, unknown>;
  platform: string;
  chat: string;
  thread: string;
  /** Of a clarify question, as far as they have come. */
  answers: Record<string, string>;
  asked_at: number;
}

export class QuestionStore {
  readonly #db: Db;

  constructor(db: Db) {
    this.#db = db;
  }

  add(question: QuestionRow): void {
    this.#db
      .prepare(
        `INSERT OR IGNORE INTO questions (request_id, session_key, session_id, kind, params, platform, chat, thread, answers, asked_at)
         VALUES (@request_id, @session_key, @session_id, @kind, @params, @platform, @chat, @thread, @answers, @asked_at)`,
      )
      .run({ ...question, params: JSON.stringify(question.params), answers: JSON.stringify(question.answers) });
  }

  get(requestId: string): QuestionRow | undefined {
    return this.#rows('WHERE request_id = ?', requestId)[0];
  }

  /** The one that was asked first in a conversation. */
  oldest(sessionKey: string, kind: QuestionRow['kind']): QuestionRow | undefined {
    return this.#rows('WHERE session_key = ? AND kind = ? ORDER BY asked_at, rowid LIMIT 1', sessionKey, kind)[0];
  }

  all(): QuestionRow[] {
    return this.#rows('ORDER BY asked_at, rowid');
  }

  setAnswers(requestId: string, answers: Record<string, string>): void {
    this.#db.prepare('UPDATE questions SET answers = ? WHERE request_id = ?').run(JSON.stringify(answers), requestId);
  }

  remove(requestId: string): void {
    this.#db.prepare('DELETE FROM questions WHERE request_id = ?').run(requestId);
  }

  /** No question is open longer than the agent keeps one. */
  prune(nowMs: number): void {
    this.#db.prepare('DELETE FROM questions WHERE asked_at < ?').run(nowMs - 2 * limits.approvals.unseenMs);
  }

  #rows(where: string, ...values: unknown[]): QuestionRow[] {
    const rows = this.#db.prepare(`SELECT * FROM questions ${where}`).all(...values) as (Omit<QuestionRow, 'params' | 'answers'> & {
      params: string;
      answers: string;
    })[];
    return rows.map((row) => ({
      ...row,
      params: JSON.parse(row.params) as Record<string, unknown>,
      answers: JSON.parse(row.answers) as Record<string, string>,
    }));
  }
}
