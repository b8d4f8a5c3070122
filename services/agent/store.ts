/**
 * state.db: sessions, keyed conversations and the facts about the store itself. Every call is durable
 * when it returns; errors come in the words of the error table (DISK_FULL, STORE_BUSY, …).
 */
import { hexId, sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { openStore, storeError, type Db } from '../../state/db/open.ts';
import { stateSchema } from './schema.ts';

export interface SessionRecord {
  id: string;
  source: string;
  platform: string | null;
  session_key: string | null;
  title: string | null;
  model: string | null;
  provider: string | null;
  reasoning_effort: string | null;
  service_tier: string | null;
  cwd: string;
  parent_session_id: string | null;
  archived: number;
  hidden: number;
  safe_mode: number;
  /** JSON `{name: boolean}` or null. */
  toolset_choices: string | null;
  /** JSON list or null. */
  todos: string | null;
  todo_revision: number;
  compressions: number;
  system_prompt: string | null;
  /** JSON or null. */
  prompt_layout: string | null;
  /** JSON list or null. */
  tool_names: string | null;
  started_at: number;
  last_active: number;
}

export interface NewSession {
  source: string;
  platform?: string | undefined;
  sessionKey?: string | undefined;
  title?: string | undefined;
  model?: string | undefined;
  provider?: string | undefined;
  cwd: string;
}

export interface SessionSummary extends SessionRecord {
  message_count: number;
  preview: string;
}

type Statement = ReturnType<typeof prepare>;
const prepare = (db: Db, sql: string) => db.prepare<unknown[]>(sql);

export class Store {
  readonly path: string;
  readonly db: Db;
  /** Changes only when the store was made anew: event numbers of another epoch mean nothing here. */
  readonly epoch: string;
  #statements = new Map<string, Statement>();

  /** Errors: as openStore. */
  constructor(path: string) {
    this.path = path;
    this.db = openStore(path, stateSchema);
    this.run("INSERT OR IGNORE INTO state_meta (key, value) VALUES ('epoch', ?)", hexId(16));
    this.epoch = this.one<{ value: string }>("SELECT value FROM state_meta WHERE key = 'epoch'")!.value;
  }

  // --- the door to SQLite: prepared once, errors translated ---

  run(sql: string, ...values: unknown[]): { changes: number; id: number } {
    return this.#guard(() => {
      const { changes, lastInsertRowid } = this.#prepared(sql).run(...values);
      return { changes, id: Number(lastInsertRowid) };
    });
  }

  one<T>(sql: string, ...values: unknown[]): T | undefined {
    return this.#guard(() => this.#prepared(sql).get(...values) as T | undefined);
  }

  all<T>(sql: string, ...values: unknown[]): T[] {
    return this.#guard(() => this.#prepared(sql).all(...values) as T[]);
  }

  /** All or nothing; nested calls join the outer one. */
  transaction<T>(work: () => T): T {
    if (this.db.inTransaction) return work();
    return this.#guard(() => this.db.transaction(work).immediate());
  }

  close(): void {
    this.db.close();
  }

  #prepared(sql: string): Statement {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = prepare(this.db, sql)));
    return statement;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (thrown) {
      throw storeError(this.path, thrown);
    }
  }

  // --- sessions ---

  createSession({ source, platform, sessionKey, title, model, provider, cwd }: NewSession): SessionRecord {
    const id = sortableId('ses');
    const now = Date.now();
    this.run(
      'INSERT INTO sessions (id, source, platform, session_key, title, model, provider, cwd, started_at, last_active) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      id,
      source,
      platform ?? null,
      sessionKey ?? null,
      title ?? null,
      model ?? null,
      provider ?? null,
      cwd,
      now,
      now,
    );
    return this.session(id)!;
  }

  session(id: string): SessionRecord | undefined {
    return this.one<SessionRecord>('SELECT * FROM sessions WHERE id = ?', id);
  }

  /** By id, exact title (the most recent one), or `latest`. */
  findSession(name: string): SessionRecord | undefined {
    if (name === 'latest') {
      return this.one<SessionRecord>(`SELECT * FROM sessions WHERE ${HAS_PROMPT} ORDER BY last_active DESC, id DESC LIMIT 1`);
    }
    return (
      this.session(name) ??
      this.one<SessionRecord>('SELECT * FROM sessions WHERE title = ? ORDER BY last_active DESC, id DESC LIMIT 1', name)
    );
  }

  /** Most recent first; sessions without a prompt are left out. */
  listSessions(limit: number): { sessions: SessionSummary[]; total: number } {
    const sessions = this.all<SessionSummary>(
      `SELECT *,
         (SELECT count(*) FROM messages m WHERE m.session_id = sessions.id AND m.active = 1 AND m.position IS NOT NULL AND m.role IN ('user', 'assistant')) AS message_count,
         coalesce((SELECT substr(content, 1, 120) FROM messages m WHERE m.session_id = sessions.id AND m.role = 'user' ORDER BY m.id LIMIT 1), '') AS preview
       FROM sessions WHERE ${HAS_PROMPT} ORDER BY last_active DESC, id DESC LIMIT ?`,
      limit,
    );
    const { total } = this.one<{ total: number }>(`SELECT count(*) AS total FROM sessions WHERE ${HAS_PROMPT}`)!;
    return { sessions, total };
  }

  setTitle(id: string, title: string): void {
    this.run('UPDATE sessions SET title = ? WHERE id = ?', title, id);
  }

  /** `layout`: JSON, where its parts stand. */
  pinSystemPrompt(id: string, prompt: string, layout: string): void {
    this.run('UPDATE sessions SET system_prompt = ?, prompt_layout = ? WHERE id = ?', prompt, layout, id);
  }

  pinTools(id: string, names: readonly string[]): void {
    this.run('UPDATE sessions SET tool_names = ? WHERE id = ?', JSON.stringify(names), id);
  }

  /** With everything that belongs to it. */
  deleteSession(id: string): boolean {
    return this.run('DELETE FROM sessions WHERE id = ?', id).changes > 0;
  }

  /** Sessions opened and never used (a page that was only looked at). */
  forgetEmptySessions(): number {
    return this.run(`DELETE FROM sessions WHERE last_active < ? AND NOT ${HAS_PROMPT}`, Date.now() - limits.turn.emptySessionMs).changes;
  }

  // --- keyed conversations ---

  conversation(sessionKey: string): SessionRecord | undefined {
    return this.one<SessionRecord>(
      'SELECT s.* FROM conversations c JOIN sessions s ON s.id = c.session_id WHERE c.session_key = ?',
      sessionKey,
    );
  }

  bindConversation(sessionKey: string, sessionId: string): void {
    this.run(
      'INSERT INTO conversations (session_key, session_id) VALUES (?, ?) ON CONFLICT (session_key) DO UPDATE SET session_id = excluded.session_id',
      sessionKey,
      sessionId,
    );
  }

  forgetConversation(sessionKey: string): boolean {
    return this.run('DELETE FROM conversations WHERE session_key = ?', sessionKey).changes > 0;
  }
}

const HAS_PROMPT = "EXISTS (SELECT 1 FROM messages p WHERE p.session_id = sessions.id AND p.role = 'user')";
