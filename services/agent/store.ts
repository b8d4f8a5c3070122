/**
 * state.db: sessions, keyed conversations and the facts about the store itself. Every call survives the end of
 * this process, `durably` also the end of the host; errors come in the words of the error table (DISK_FULL, STORE_BUSY, …).
 */
import { hexId, sortableId } from '../../base/ids.ts';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { durably, openStore, storeError, type Db } from '../../state/db/open.ts';
import { stateSchema } from '../../state/db/schemas/state.ts';

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
  /** JSON or null. */
  principal: string | null;
  /** JSON `{name: boolean}` or null. */
  toolset_choices: string | null;
  /** JSON list or null. */
  todos: string | null;
  todo_revision: number;
  compressions: number;
  rewind_count: number;
  /** JSON UsageTotals or null. */
  usage: string | null;
  context_used: number | null;
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
  reasoningEffort?: string | undefined;
  parent?: string | undefined;
  hidden?: boolean | undefined;
  safeMode?: boolean | undefined;
  principal?: string | undefined;
  cwd: string;
}

export interface ListOptions {
  limit: number;
  offset?: number | undefined;
  order?: 'recent' | 'created' | undefined;
  sources?: readonly string[] | undefined;
  excludeSources?: readonly string[] | undefined;
  includeHidden?: boolean | undefined;
  archived?: boolean | undefined;
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
  /** Told of each error that says the file is damaged. */
  onDamage: (error: AgentError) => void = () => {};
  #statements = new Map<string, Statement>();

  /** Errors: as openStore. */
  constructor(path: string) {
    this.path = path;
    this.db = openStore(path, stateSchema);
    try {
      this.run("INSERT OR IGNORE INTO state_meta (key, value) VALUES ('epoch', ?)", hexId(16));
      this.#countOnce();
      this.epoch = this.one<{ value: string }>("SELECT value FROM state_meta WHERE key = 'epoch'")!.value;
    } catch (thrown) {
      this.db.close();
      throw thrown;
    }
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

  /** What `work` stores in a transaction survives the end of the host: for what is acknowledged next. */
  durably<T>(work: () => T): T {
    return durably(this.db, work);
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
      const error = storeError(this.path, thrown, stateSchema);
      if (isAgentError(error) && error.code === 'STORE_CORRUPT') this.onDamage(error);
      throw error;
    }
  }

  /** A store of a release without counts, or one that was recovered: counted once. */
  #countOnce(): void {
    this.transaction(() => {
      if (this.run("INSERT OR IGNORE INTO state_meta (key, value) VALUES ('counts', '1')").changes === 0) return;
      this.run('DELETE FROM session_counts');
      this.run(
        `INSERT INTO session_counts (session_id, stored, messages)
         SELECT session_id, count(*), sum(active = 1 AND position IS NOT NULL AND role IN ('user', 'assistant')) FROM messages GROUP BY session_id`,
      );
      this.run(
        "UPDATE sessions SET used = 1 WHERE used = 0 AND EXISTS (SELECT 1 FROM messages p WHERE p.session_id = sessions.id AND p.role = 'user')",
      );
    });
  }

  // --- sessions ---

  createSession(session: NewSession): SessionRecord {
    const id = sortableId('ses');
    const now = Date.now();
    this.run(
      `INSERT INTO sessions (id, source, platform, session_key, title, model, provider, reasoning_effort, parent_session_id, hidden, safe_mode, principal, cwd, started_at, last_active)
       VALUES (@id, @source, @platform, @sessionKey, @title, @model, @provider, @reasoningEffort, @parent, @hidden, @safeMode, @principal, @cwd, @now, @now)`,
      {
        id,
        now,
        source: session.source,
        cwd: session.cwd,
        platform: session.platform ?? null,
        sessionKey: session.sessionKey ?? null,
        title: session.title ?? null,
        model: session.model ?? null,
        provider: session.provider ?? null,
        reasoningEffort: session.reasoningEffort ?? null,
        parent: session.parent ?? null,
        hidden: session.hidden ? 1 : 0,
        safeMode: session.safeMode ? 1 : 0,
        principal: session.principal ?? null,
      },
    );
    return this.session(id)!;
  }

  session(id: string): SessionRecord | undefined {
    return this.one<SessionRecord>('SELECT * FROM sessions WHERE id = ?', id);
  }

  /**
   * By id, exact title, the beginning of an id that fits one session, or `latest`. A title leads to the most recent
   * session of that name or branched from one. Errors: UNKNOWN_SESSION when a beginning fits several.
   */
  findSession(name: string): SessionRecord | undefined {
    if (name === 'latest') {
      return this.one<SessionRecord>(
        'SELECT * FROM sessions WHERE used = 1 AND hidden = 0 AND archived = 0 ORDER BY last_active DESC, rowid DESC LIMIT 1',
      );
    }
    return this.session(name) ?? this.#byTitle(name) ?? this.#byBeginning(name);
  }

  #byTitle(title: string): SessionRecord | undefined {
    return this.one<SessionRecord>(
      `WITH RECURSIVE line (id) AS (
         SELECT id FROM sessions WHERE title = @title
         UNION SELECT s.id FROM sessions s JOIN line ON s.parent_session_id = line.id
           WHERE s.hidden = 0 AND substr(s.title, 1, length(@title) + 2) = @title || ' #'
       ) SELECT s.* FROM line JOIN sessions s USING (id) ORDER BY s.last_active DESC, s.rowid DESC LIMIT 1`,
      { title },
    );
  }

  #byBeginning(name: string): SessionRecord | undefined {
    if (!/^ses_\w{2,}$/.test(name)) return undefined;
    const ids = this.all<{ id: string }>(
      'SELECT id FROM sessions WHERE id >= ? AND id < ? ORDER BY id LIMIT ?',
      name,
      `${name}~`,
      limits.sessions.ambiguousMax + 1,
    ).map(({ id }) => id);
    if (ids.length > 1) {
      const shown = ids.slice(0, limits.sessions.ambiguousMax).join(', ');
      throw new AgentError(
        'UNKNOWN_SESSION',
        `"${name}" is the beginning of several sessions: ${shown}${ids.length > limits.sessions.ambiguousMax ? ', …' : ''}`,
        {
          fix: 'write more of the id',
        },
      );
    }
    return ids[0] === undefined ? undefined : this.session(ids[0]);
  }

  /** Sessions that got a prompt; of one millisecond the later made first. The index gives the order and the total; counts are kept, not made. */
  listSessions({ limit, offset = 0, order = 'recent', sources, excludeSources, includeHidden = false, archived = false }: ListOptions): {
    sessions: SessionSummary[];
    total: number;
  } {
    const where = [
      'used = 1',
      includeHidden ? 'hidden IN (0, 1)' : 'hidden = 0',
      archived ? 'archived = 1' : 'archived = 0',
      ...(sources ? ['source IN (SELECT value FROM json_each(@sources))'] : []),
      ...(excludeSources ? ['source NOT IN (SELECT value FROM json_each(@excluded))'] : []),
    ].join(' AND ');
    const named = { sources: sources ? JSON.stringify(sources) : null, excluded: excludeSources ? JSON.stringify(excludeSources) : null };
    const by = order === 'created' ? 'started_at DESC, rowid DESC' : 'last_active DESC, rowid DESC';
    const sessions = this.all<SessionSummary>(
      `${SUMMARY} WHERE id IN (SELECT id FROM sessions WHERE ${where} ORDER BY ${by} LIMIT @limit OFFSET @offset) ORDER BY ${by}`,
      { limit, offset, ...named },
    );
    const { total } = this.one<{ total: number }>(`SELECT count(*) AS total FROM sessions WHERE ${where}`, named)!;
    return { sessions, total };
  }

  summary(id: string): SessionSummary | undefined {
    return this.one<SessionSummary>(`${SUMMARY} WHERE id = ?`, id);
  }

  /** Sessions that nobody has used and nobody has opened since then. */
  emptySessions(beforeMs: number): string[] {
    return this.all<{ id: string }>('SELECT id FROM sessions WHERE used = 0 AND last_active < ? ORDER BY id', beforeMs).map(({ id }) => id);
  }

  setTitle(id: string, title: string): void {
    this.run('UPDATE sessions SET title = ? WHERE id = ?', title, id);
  }

  setArchived(id: string, archived: boolean): void {
    this.run('UPDATE sessions SET archived = ? WHERE id = ?', archived ? 1 : 0, id);
  }

  setCwd(id: string, cwd: string): void {
    this.run('UPDATE sessions SET cwd = ? WHERE id = ?', cwd, id);
  }

  /** `layout`: JSON, where its parts stand; null = unknown. */
  pinSystemPrompt(id: string, prompt: string, layout: string | null = null): void {
    this.run('UPDATE sessions SET system_prompt = ?, prompt_layout = ? WHERE id = ?', prompt, layout, id);
  }

  pinTools(id: string, names: readonly string[]): void {
    this.run('UPDATE sessions SET tool_names = ? WHERE id = ?', JSON.stringify(names), id);
  }

  /** With everything that belongs to it. */
  deleteSession(id: string): boolean {
    return this.run('DELETE FROM sessions WHERE id = ?', id).changes > 0;
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

/** The first prompt: the index on place makes it one look-up. */
const preview = (where: string): string =>
  `(SELECT substr(content, 1, 120) FROM messages m WHERE m.session_id = sessions.id AND m.role = 'user' AND ${where} ORDER BY position LIMIT 1)`;

const SUMMARY = `SELECT sessions.*, coalesce((SELECT messages FROM session_counts c WHERE c.session_id = sessions.id), 0) AS message_count,
    coalesce(${preview('position IS NOT NULL AND active = 1')}, ${preview('position IS NULL')}, '') AS preview
  FROM sessions`;
