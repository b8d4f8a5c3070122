/**
 * search.db: full text over state.db, derived and rebuildable. Two FTS5 tables without content, by
 * message id: `words` (whole words; pairs of characters of scripts without spaces) and `parts`
 * (three-letter parts). Follows state.db by a mark: all ids up to it are indexed, or remembered as not
 * yet closed. Opens state.db read-only. Not in the worker's main thread: see searchThread.ts.
 */
import { rmSync } from 'node:fs';
import type Database from 'better-sqlite3';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { openReadOnly, openStore, type Db, type Schema } from '../../state/db/open.ts';
import { folded, parseQuery, partsOf, searchedText, snippetOf, wordsOf } from './searchText.ts';

/** Raised when the text is split in another way: an older index is built anew. */
const VERSION = 1;

const schema: Schema = {
  // Made from state.db, and made again when it is lost.
  sync: 'explicit',
  version: VERSION,
  tables: {
    facts: { columns: { key: 'TEXT PRIMARY KEY', value: 'TEXT NOT NULL' } },
    /** Messages below the mark that were still being written when they were met. */
    open_messages: { columns: { id: 'INTEGER PRIMARY KEY' } },
  },
};
const FTS = `
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 (text, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
  CREATE VIRTUAL TABLE IF NOT EXISTS parts USING fts5 (text, content = '', contentless_delete = 1, detail = none, tokenize = 'trigram case_sensitive 1');`;

interface Row {
  id: number;
  session_id: string;
  role: string;
  content: string;
  tool_calls: string | null;
  timestamp: number;
  /** 1 = to be indexed: shown, closed, of a session that is not hidden. */
  closed: number;
  hidden: number;
  title: string | null;
  session_key: string | null;
}

/** Waiting prompts and streaming answers are not closed; what was taken back is filtered when it is found. */
const ROW = `SELECT m.id, m.session_id, m.role, m.content, m.tool_calls, m.timestamp, s.hidden, s.title, s.session_key,
    (m.position IS NOT NULL AND NOT (m.role = 'assistant' AND m.finish_reason IS NULL)) AS closed
  FROM messages m JOIN sessions s ON s.id = m.session_id`;

export interface Found {
  session_id: string;
  title: string | null;
  message_id: number;
  role: string;
  snippet: string;
  at: number;
}

export interface Asked {
  query: string;
  limit: number;
  /** Only this session, hidden ones too. */
  session?: string | undefined;
  exclude?: string | undefined;
  /** Only conversations with this key. */
  scope?: string | undefined;
}

export class SearchDb {
  readonly #path: string;
  #state: Db;
  #db: Db;
  #statements = new Map<string, Database.Statement<unknown[]>>();
  #mark = 0;
  #merged = false;
  /** Messages in the index: counting them takes 15 ms for a million. */
  #indexed = 0;

  /** A search.db that is damaged, of another version or of another state.db is removed and made anew. Errors: those of state.db, DISK_FULL. */
  constructor(statePath: string, path: string) {
    this.#path = path;
    this.#state = openReadOnly(statePath);
    this.#db = this.#open();
  }

  close(): void {
    this.#db.close();
    this.#state.close();
  }

  // --- building ---

  #open(): Db {
    const epoch = (this.#state.prepare("SELECT value FROM state_meta WHERE key = 'epoch'").get() as { value: string } | undefined)?.value;
    try {
      const { db, whole } = this.#prepared();
      const fact = db.prepare("SELECT value FROM facts WHERE key = 'epoch'").get() as { value: string } | undefined;
      if (whole && fact?.value === epoch && db.pragma('user_version', { simple: true }) === VERSION) return this.#catchUpFrom(db);
      db.close();
    } catch (thrown) {
      if (!isDamage(thrown)) throw thrown;
    }
    return this.rebuild(epoch ?? '');
  }

  /** `whole`: both tables were there, or neither. */
  #prepared(): { db: Db; whole: boolean } {
    const db = openStore(this.#path, schema);
    try {
      const { n } = db.prepare("SELECT count(*) AS n FROM sqlite_master WHERE name IN ('words', 'parts')").get() as { n: number };
      db.exec(FTS);
      return { db, whole: n !== 1 };
    } catch (thrown) {
      db.close();
      throw thrown;
    }
  }

  /** From nothing. What is asked meanwhile is answered from what is there. */
  rebuild(epoch: string): Db {
    for (const suffix of ['', '-wal', '-shm']) rmSync(this.#path + suffix, { force: true });
    const { db } = this.#prepared();
    db.prepare("INSERT OR REPLACE INTO facts (key, value) VALUES ('epoch', ?)").run(epoch);
    return this.#catchUpFrom(db);
  }

  /** The last rows under the mark are taken again, and what state.db no longer has goes. */
  #catchUpFrom(db: Db): Db {
    this.#statements.clear();
    this.#db = db;
    const mark = Number((db.prepare("SELECT value FROM facts WHERE key = 'mark'").get() as { value: string } | undefined)?.value ?? 0);
    this.#mark = Math.max(0, Math.min(mark, this.#lastId()) - limits.search.againMax);
    this.#transaction(() => {
      for (const table of ['words', 'parts'])
        this.#search(`DELETE FROM ${table} WHERE rowid IN (SELECT id FROM words_docsize WHERE id > ?)`).run(this.#mark);
      this.#saveMark();
    });
    this.#indexed = (this.#search('SELECT count(*) AS n FROM words_docsize').get() as { n: number }).n;
    return db;
  }

  /** Indexes the next messages, for about `sliceMs`. Answers whether all are in. */
  step(): boolean {
    const endAt = performance.now() + limits.search.sliceMs;
    do {
      if (this.#batch() === 0) return true;
    } while (performance.now() < endAt);
    return false;
  }

  #batch(): number {
    const rows = this.#source(`${ROW} WHERE m.id > ? ORDER BY m.id LIMIT ?`).all(this.#mark, limits.search.batchMax) as Row[];
    const reopened = rows.length < limits.search.batchMax ? this.#closedMeanwhile() : [];
    if (rows.length === 0 && reopened.length === 0) return 0;
    this.#transaction(() => {
      for (const { id } of reopened) this.#search('DELETE FROM open_messages WHERE id = ?').run(id);
      for (const row of [...reopened, ...rows]) this.#add(row);
      this.#mark = rows.at(-1)?.id ?? this.#mark;
      this.#saveMark();
    });
    this.#merged = false;
    return rows.length + reopened.length;
  }

  #add(row: Row): void {
    if (row.hidden === 1) return;
    if (row.closed === 0) return void this.#search('INSERT OR IGNORE INTO open_messages (id) VALUES (?)').run(row.id);
    const text = folded(searchedText(row));
    this.#search('INSERT INTO words (rowid, text) VALUES (?, ?)').run(row.id, [...new Set(wordsOf(text))].join(' '));
    this.#search('INSERT INTO parts (rowid, text) VALUES (?, ?)').run(row.id, partsOf(text));
    this.#indexed++;
  }

  /** Rows that were still being written when the mark passed them, and are closed or gone now. */
  #closedMeanwhile(): Row[] {
    const open = this.#search('SELECT id FROM open_messages ORDER BY id LIMIT ?').all(limits.search.batchMax) as { id: number }[];
    return open.flatMap(({ id }) => {
      const row = this.#row(id);
      if (!row) this.#search('DELETE FROM open_messages WHERE id = ?').run(id);
      return row?.closed === 1 ? [row] : [];
    });
  }

  /** When all is in: small segments are merged a little at a time, so that questions stay fast. Answers whether that is done. */
  tidy(): boolean {
    if (this.#merged) return true;
    const before = this.#changes();
    for (const table of ['words', 'parts']) this.#search(`INSERT INTO ${table} (${table}, rank) VALUES ('merge', 50)`).run();
    this.#merged = this.#changes() - before < 4;
    return this.#merged;
  }

  #changes(): number {
    return (this.#search('SELECT total_changes() AS n').get() as { n: number }).n;
  }

  /** Entries of messages that were deleted in state.db. Answers how many went. */
  sweep(): number {
    let gone = 0;
    for (let from = 0; ;) {
      const ids = this.#search('SELECT id FROM words_docsize WHERE id > ? ORDER BY id LIMIT 5000').all(from) as { id: number }[];
      if (ids.length === 0) return gone;
      const last = ids.at(-1)!.id;
      const there = new Set(
        (this.#source('SELECT id FROM messages WHERE id > ? AND id <= ?').all(from, last) as { id: number }[]).map(({ id }) => id),
      );
      const stale = ids.filter(({ id }) => !there.has(id));
      this.#transaction(() => {
        for (const { id } of stale) for (const table of ['words', 'parts']) this.#search(`DELETE FROM ${table} WHERE rowid = ?`).run(id);
      });
      gone += stale.length;
      this.#indexed -= stale.length;
      from = last;
    }
  }

  // --- asking ---

  search({ query, limit, session, exclude, scope }: Asked): Found[] {
    const { terms, words, parts } = parseQuery(query);
    if (terms.length === 0) return [];
    const wanted = (row: Row) =>
      row.closed === 1 &&
      row.session_id !== exclude &&
      (session !== undefined || row.hidden === 0) &&
      (scope === undefined || row.session_key === scope);
    const deadline = performance.now() + limits.search.budgetMs;
    if (session !== undefined) return this.#collect(this.#inSession(session), { terms, limit, wanted, deadline, found: [] });
    const found: Found[] = [];
    if (words) this.#collect(this.#matches('words', words), { terms, limit, wanted, deadline, found });
    if (parts && found.length < limit) this.#collect(this.#matches('parts', parts), { terms, limit, wanted, deadline, found });
    return found;
  }

  /** Candidates, newest first, until there are enough. Each is read and looked at: the index only points. */
  #collect(
    candidates: Iterable<number>,
    want: { terms: string[]; limit: number; wanted(row: Row): boolean; deadline: number; found: Found[] },
  ): Found[] {
    const { terms, limit, wanted, deadline, found } = want;
    const seen = new Set(found.map(({ message_id }) => message_id));
    let looked = 0;
    for (const id of candidates) {
      if (found.length >= limit || ++looked > limits.search.candidatesMax || performance.now() > deadline) break;
      const row = seen.has(id) ? undefined : this.#row(id);
      if (!row || !wanted(row)) continue;
      const text = searchedText(row);
      const lower = folded(text);
      if (!terms.every((term) => lower.includes(term))) continue;
      found.push({
        session_id: row.session_id,
        title: row.title,
        message_id: row.id,
        role: row.role,
        snippet: snippetOf(text, terms),
        at: row.timestamp,
      });
    }
    return found;
  }

  *#matches(table: 'words' | 'parts', match: string): Generator<number> {
    const rows = this.#search(`SELECT rowid AS id FROM ${table} WHERE ${table} MATCH ? ORDER BY rowid DESC`).iterate(match);
    for (const row of rows as Iterable<{ id: number }>) yield row.id;
  }

  *#inSession(session: string): Generator<number> {
    const rows = this.#source('SELECT id FROM messages WHERE session_id = ? ORDER BY position DESC').iterate(session);
    for (const row of rows as Iterable<{ id: number }>) yield row.id;
  }

  /** What is indexed, and out of how many. */
  counts(ready: boolean): { indexed: number; total: number } {
    const indexed = this.#indexed;
    if (ready) return { indexed, total: indexed };
    const { n: left } = this.#source('SELECT count(*) AS n FROM messages WHERE id > ?').get(this.#mark) as { n: number };
    return { indexed, total: indexed + left };
  }

  /** Whether nothing is left to index. */
  isCurrent(): boolean {
    return this.#lastId() <= this.#mark && this.#closedMeanwhile().length === 0;
  }

  // --- statements ---

  #row(id: number): Row | undefined {
    return this.#source(`${ROW} WHERE m.id = ? AND m.active = 1`).get(id) as Row | undefined;
  }

  #lastId(): number {
    return (this.#state.prepare('SELECT coalesce(max(id), 0) AS id FROM messages').get() as { id: number }).id;
  }

  #saveMark(): void {
    this.#search("INSERT OR REPLACE INTO facts (key, value) VALUES ('mark', ?)").run(String(this.#mark));
  }

  #source(sql: string): Database.Statement<unknown[]> {
    return this.#statement(this.#state, sql);
  }

  #search(sql: string): Database.Statement<unknown[]> {
    return this.#statement(this.#db, sql);
  }

  #statement(db: Db, sql: string): Database.Statement<unknown[]> {
    let statement = this.#statements.get(sql);
    if (!statement) this.#statements.set(sql, (statement = db.prepare<unknown[]>(sql)));
    return statement;
  }

  #transaction(work: () => void): void {
    this.#db.transaction(work).immediate();
  }

  /** Damaged pages met later: the file goes and is built again. */
  mend(thrown: unknown): boolean {
    if (!isDamage(thrown)) return false;
    this.#db.close();
    const { value } = (this.#state.prepare("SELECT value FROM state_meta WHERE key = 'epoch'").get() as { value: string } | undefined) ?? {
      value: '',
    };
    this.#db = this.rebuild(value);
    return true;
  }
}

/** Of search.db: what SQLite or openStore says of a damaged file. */
function isDamage(thrown: unknown): boolean {
  if (thrown instanceof AgentError) return thrown.code === 'STORE_CORRUPT';
  const code = (thrown as { code?: string }).code ?? '';
  return code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB' || code === 'SQLITE_ERROR';
}
