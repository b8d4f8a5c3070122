/** Sessions read from the file while the agent worker is down: the same shapes as it would answer, read-only. */
import { statSync } from 'node:fs';
import { AgentError } from '../../base/errors.ts';
import { isoTime } from '../../base/time.ts';
import type { ExportedSession } from '../../ipc/contracts/rpcSessions.ts';
import type { Aside, Message } from '../../ipc/contracts/rpcRecords.ts';
import { openReadOnly, type Db } from '../../state/db/open.ts';

export interface OfflineRow {
  id: string;
  source: string;
  title: string | null;
  last_active: string;
  message_count: number;
  preview: string;
  archived: boolean;
  hidden: boolean;
}

export interface OfflineSessions extends Disposable {
  list(options: { limit: number; hidden: boolean; archived: boolean; sources?: readonly string[] | undefined }): {
    sessions: OfflineRow[];
    total: number;
  };
  /** Id, exact title, unique beginning of an id, or `latest`. Errors: UNKNOWN_SESSION. */
  find(name: string): string;
  messages(id: string): Message[];
  /** Of a file that an older release left: none. */
  asides(id: string): Aside[];
  document(id: string): ExportedSession;
  search(
    query: string,
    limit: number,
  ): { session_id: string; title: string | null; message_id: number; role: string; snippet: string; timestamp: string }[];
  stats(): {
    total: number;
    archived: number;
    hidden: number;
    messages: number;
    by_source: Record<string, number>;
    bytes: number;
    journal_mode: string;
  };
}

const SNIPPET_CHARS = 160;

/** Errors: NOT_FOUND when there is no store yet, STORE_CORRUPT. */
export function openOffline(path: string): OfflineSessions {
  const db = openReadOnly(path);
  return {
    list: (options) => list(db, options),
    find: (name) => find(db, name),
    messages: (id) => messages(db, id),
    asides: (id) => asides(db, id),
    document: (id) => document(db, id),
    search: (query, limit) => search(db, query, limit),
    stats: () => stats(db, path),
    [Symbol.dispose]: () => void db.close(),
  };
}

type Row = Record<string, string | number | null>;

function list(db: Db, { limit, hidden, archived, sources }: Parameters<OfflineSessions['list']>[0]): ReturnType<OfflineSessions['list']> {
  const where = `EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.role = 'user')
    AND s.archived = ${archived ? 1 : 0} ${hidden ? '' : 'AND s.hidden = 0'}
    ${sources ? 'AND s.source IN (SELECT value FROM json_each(@sources))' : ''}`;
  const values = sources ? { sources: JSON.stringify(sources) } : {};
  const rows = db
    .prepare(
      `SELECT s.*, (SELECT count(*) FROM messages m WHERE m.session_id = s.id AND m.active = 1 AND m.role IN ('user', 'assistant')) AS count,
         (SELECT substr(content, 1, 120) FROM messages m WHERE m.session_id = s.id AND m.role = 'user' ORDER BY m.id LIMIT 1) AS preview
       FROM sessions s WHERE ${where} ORDER BY last_active DESC, s.rowid DESC LIMIT @limit`,
    )
    .all({ limit, ...values }) as Row[];
  const { total } = db.prepare(`SELECT count(*) AS total FROM sessions s WHERE ${where}`).get(values) as { total: number };
  return {
    total,
    sessions: rows.map((row) => ({
      id: String(row.id),
      source: String(row.source),
      title: row.title as string | null,
      last_active: isoTime(Number(row.last_active)),
      message_count: Number(row.count),
      preview: String(row.preview ?? ''),
      archived: row.archived === 1,
      hidden: row.hidden === 1,
    })),
  };
}

function find(db: Db, name: string): string {
  const ids = (sql: string, ...values: string[]) => (db.prepare(sql).all(...values) as { id: string }[]).map(({ id }) => id);
  const newest = 'ORDER BY last_active DESC, rowid DESC LIMIT 1';
  if (name === 'latest') {
    const [latest] = ids(
      `SELECT id FROM sessions s WHERE hidden = 0 AND archived = 0 AND EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id) ${newest}`,
    );
    if (latest) return latest;
  }
  const found = ids('SELECT id FROM sessions WHERE id = ?', name)[0] ?? ids(`SELECT id FROM sessions WHERE title = ? ${newest}`, name)[0];
  if (found) return found;
  const beginning = /^ses_\w{2,}$/.test(name) ? ids('SELECT id FROM sessions WHERE id >= ? AND id < ? LIMIT 2', name, `${name}~`) : [];
  if (beginning.length === 1) return beginning[0]!;
  throw new AgentError(
    'UNKNOWN_SESSION',
    beginning.length ? `"${name}" is the beginning of several sessions` : `there is no session "${name}"`,
    {
      fix: '`agent sessions list` shows them',
    },
  );
}

function messages(db: Db, id: string): Message[] {
  const rows = db
    .prepare(
      `SELECT m.*, t.error AS turn_error, t.ended_at - t.started_at AS turn_ms FROM messages m LEFT JOIN turns t ON t.assistant_id = m.id
       WHERE m.session_id = ? AND m.active = 1 AND m.position IS NOT NULL ORDER BY m.position, m.id`,
    )
    .all(id) as Row[];
  const json = (value: string | number | null | undefined) => (typeof value === 'string' && value ? (JSON.parse(value) as never) : null);
  return rows.map((row) => ({
    id: Number(row.id),
    role: row.role as Message['role'],
    content: String(row.content),
    tool_calls: json(row.tool_calls),
    tool_call_id: row.tool_call_id as string | null,
    tool_name: row.tool_name as string | null,
    reasoning: row.reasoning as string | null,
    finish_reason: row.finish_reason as string | null,
    is_error: row.is_error === 1,
    error: json(row.turn_error),
    duration_ms: row.turn_ms as number | null,
    attachments: json(row.attachments),
    kind: (row.kind ?? 'plain') as Message['kind'],
    in_context: row.compacted !== 1,
    timestamp: isoTime(Number(row.timestamp)),
  }));
}

function asides(db: Db, id: string): Aside[] {
  if (!db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'asides'").get()) return [];
  const rows = db
    .prepare(
      `SELECT a.*, (SELECT max(m.id) FROM messages m WHERE m.session_id = a.session_id AND m.active = 1 AND m.position <= a.after_position) AS after_id
       FROM asides a WHERE a.session_id = ? ORDER BY a.after_position, a.at, a.id`,
    )
    .all(id) as Row[];
  return rows.map((row) => ({
    id: Number(row.id),
    task_id: String(row.task_id),
    kind: row.kind as Aside['kind'],
    question: String(row.question),
    text: String(row.text),
    error: row.error as string | null,
    status: row.status as Aside['status'],
    session_id: row.kind === 'background' ? String(row.task_id) : null,
    after_id: row.after_id as number | null,
    timestamp: isoTime(Number(row.at)),
  }));
}

function document(db: Db, id: string): ExportedSession {
  const row = db.prepare('SELECT * FROM sessions WHERE id = ?').get(id) as Row;
  const { platform, model, provider, cwd, parent_session_id, system_prompt, compressions } = row;
  return {
    format: 'agent.session.v1',
    session: {
      id,
      source: String(row.source),
      platform,
      title: row.title as string | null,
      model,
      provider,
      cwd,
      parent_session_id,
      hidden: row.hidden === 1,
      archived: row.archived === 1,
      compressions: compressions ?? 0,
      system_prompt,
      tool_names: row.tool_names ? (JSON.parse(String(row.tool_names)) as string[]) : null,
      started_at: isoTime(Number(row.started_at)),
      last_active: isoTime(Number(row.last_active)),
    },
    messages: messages(db, id),
  };
}

/** Every message is looked at: without the worker nobody keeps the index up to date. */
function search(db: Db, query: string, limit: number): ReturnType<OfflineSessions['search']> {
  const terms = query.split(/\s+/).filter(Boolean);
  const where = terms.map(() => "m.content LIKE ? ESCAPE '\\'").join(' AND ');
  const patterns = terms.map((term) => `%${term.replace(/[\\%_]/g, '\\$&')}%`);
  const rows = db
    .prepare(
      `SELECT m.id, m.session_id, m.role, m.content, m.timestamp, s.title FROM messages m JOIN sessions s ON s.id = m.session_id
       WHERE m.active = 1 AND m.position IS NOT NULL AND s.hidden = 0 AND ${where} ORDER BY m.id DESC LIMIT ?`,
    )
    .all(...patterns, limit) as Row[];
  return rows.map((row) => {
    const content = String(row.content);
    const from = Math.max(0, content.toLowerCase().indexOf(terms[0]!.toLowerCase()) - SNIPPET_CHARS / 3);
    return {
      session_id: String(row.session_id),
      title: row.title as string | null,
      message_id: Number(row.id),
      role: String(row.role),
      snippet: content
        .slice(from, from + SNIPPET_CHARS)
        .replace(/\s+/g, ' ')
        .trim(),
      timestamp: isoTime(Number(row.timestamp)),
    };
  });
}

function stats(db: Db, path: string): ReturnType<OfflineSessions['stats']> {
  const used = "EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.role = 'user')";
  const rows = db
    .prepare(`SELECT source, count(*) AS n, sum(archived) AS archived, sum(hidden) AS hidden FROM sessions s WHERE ${used} GROUP BY source`)
    .all() as {
    source: string;
    n: number;
    archived: number;
    hidden: number;
  }[];
  const sum = (pick: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + pick(row), 0);
  const { n } = db
    .prepare("SELECT count(*) AS n FROM messages WHERE active = 1 AND position IS NOT NULL AND role IN ('user', 'assistant')")
    .get() as { n: number };
  return {
    total: sum((row) => row.n),
    archived: sum((row) => row.archived),
    hidden: sum((row) => row.hidden),
    messages: n,
    by_source: Object.fromEntries(rows.map((row) => [row.source, row.n])),
    bytes: ['', '-wal'].reduce((total, suffix) => total + (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0),
    journal_mode: String(db.pragma('journal_mode', { simple: true })),
  };
}
