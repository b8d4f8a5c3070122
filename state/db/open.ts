/**
 * Opening a SQLite store: WAL, one writer, private files, integrity checked, and a schema reached by
 * declarative reconciliation (missing tables, columns and indices are added; nothing is dropped).
 */
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import Database from 'better-sqlite3';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { lockHolder } from './lockHolder.ts';

export type Db = Database.Database;

export interface Table {
  /** Column name → definition as in CREATE TABLE, e.g. `TEXT NOT NULL DEFAULT ''`. */
  columns: Record<string, string>;
  /** Rows live in the tree of the primary key: one page written per insert instead of two. Reached on creation only. */
  withoutRowid?: true;
  /** Table constraints, e.g. `UNIQUE (job_id, scheduled_instant)`. Reached on creation only. */
  constraints?: string[];
  /** Index name → what follows ON, e.g. `messages (session_id, id)`; prefix `unique:` for a unique one. */
  indices?: Record<string, string>;
  /**
   * The same for indices that only make reading faster: where there is no room for one the store opens without it,
   * and the next opening tries again.
   */
  fastIndices?: Record<string, string>;
}

export interface Schema {
  /** Written to `PRAGMA user_version`; the higher number of a newer release is left as it is. */
  version: number;
  tables: Record<string, Table>;
  /** Trigger name → what follows it, e.g. `AFTER DELETE ON messages BEGIN … END`. Made anew when that changed. */
  triggers?: Record<string, string>;
  /**
   * `commit` (default): each transaction is on the disk, not only in the cache of the kernel, when it returns. `explicit`: only
   * those run by `durably`, and all before them; for a store that writes more often than it acknowledges.
   */
  sync?: 'commit' | 'explicit';
  /** Freed pages can be given back in steps (`PRAGMA incremental_vacuum`). Of new files only. */
  autoVacuum?: true;
  /** The command that recovers a damaged file; none for one that is built from others. */
  recovery?: string;
}

/** Errors: STORE_CORRUPT with the recovery command, STORE_BUSY, DISK_FULL, HOME_UNUSABLE. */
export function openStore(path: string, schema: Schema): Db {
  let db: Db | undefined;
  try {
    if (path !== ':memory:') makePrivate(path);
    db = new Database(path, { timeout: limits.state.busyMs });
    if (schema.autoVacuum && db.pragma('page_count', { simple: true }) === 0) db.pragma('auto_vacuum = INCREMENTAL');
    db.pragma('journal_mode = WAL');
    db.pragma(`synchronous = ${schema.sync === 'explicit' ? 'NORMAL' : 'FULL'}`);
    db.pragma('foreign_keys = ON');
    db.pragma('wal_autocheckpoint = 1000');
    checkIntegrity(db, path, schema);
    reconcile(db, schema);
    addFastIndices(db, schema);
    return db;
  } catch (thrown) {
    db?.close();
    throw storeError(path, thrown, schema);
  }
}

/** Runs `work`, a transaction of a store with `sync: 'explicit'`, and has it on the disk when it returns, with all before it. */
export function durably<T>(db: Db, work: () => T): T {
  db.pragma('synchronous = FULL');
  try {
    return work();
  } finally {
    db.pragma('synchronous = NORMAL');
  }
}

/** Someone else's store, for looking. Errors: as openStore, and NOT_FOUND when there is none yet. */
export function openReadOnly(path: string): Db {
  if (!existsSync(path))
    throw new AgentError('NOT_FOUND', `there is no ${path} yet`, { fix: 'it is made when the worker that owns it first runs' });
  try {
    return new Database(path, { readonly: true, fileMustExist: true, timeout: limits.state.busyMs });
  } catch (thrown) {
    throw storeError(path, thrown);
  }
}

/** Before SQLite makes it: the files beside it (-wal, -shm) take its permissions over. */
function makePrivate(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const stat = statSync(path, { throwIfNoEntry: false });
  // Opening a named pipe would block for ever.
  if (stat && !stat.isFile()) {
    throw new AgentError('HOME_UNUSABLE', `${path} is not a regular file, so it cannot be a database`, {
      fix: 'move it aside; an empty database is made in its place, and `agent recover --from` takes a copy',
    });
  }
  closeSync(openSync(path, 'a', 0o600));
  chmodSync(path, 0o600);
}

/** Reads every page, so only where that is quick; a large store says by itself when it meets a bad one. */
function checkIntegrity(db: Db, path: string, schema: Schema): void {
  const pages = db.pragma('page_count', { simple: true }) as number;
  if (pages * (db.pragma('page_size', { simple: true }) as number) > limits.state.integrityCheckMaxBytes) return;
  const verdict = db.pragma('quick_check(1)', { simple: true });
  if (verdict !== 'ok') throw corrupt(path, String(verdict), schema);
}

/** SQLite's and the system's errors in the words of the error table. */
export function storeError(path: string, thrown: unknown, schema?: Pick<Schema, 'recovery'>): unknown {
  if (thrown instanceof AgentError) return thrown;
  const code = (thrown as { code?: string }).code ?? '';
  if (code.startsWith('SQLITE_CORRUPT') || code === 'SQLITE_NOTADB') return corrupt(path, messageOf(thrown), schema);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) {
    const holder = lockHolder(path);
    return new AgentError('STORE_BUSY', `${path} is locked by ${holder ?? 'another process'}`, {
      cause: thrown,
      retryAfterMs: 1_000,
      fix: holder ? `end ${holder}, or let it finish` : 'end the program that has the file open, or let it finish',
    });
  }
  // SHMSIZE: the index of the write-ahead log could not grow.
  if (code === 'SQLITE_FULL' || code === 'SQLITE_IOERR_SHMSIZE' || errnoOf(thrown) === 'ENOSPC' || errnoOf(thrown) === 'EDQUOT') {
    return new AgentError('DISK_FULL', `no room to write ${path}`, { cause: thrown, fix: 'free some disk space, then repeat' });
  }
  if (code.startsWith('SQLITE_') || errnoOf(thrown)) {
    return new AgentError('HOME_UNUSABLE', `cannot open ${path}: ${messageOf(thrown)}`, {
      cause: thrown,
      fix: 'check its owner and permissions',
    });
  }
  return thrown;
}

function corrupt(path: string, what: string, schema?: Pick<Schema, 'recovery'>): AgentError {
  return new AgentError('STORE_CORRUPT', `the database ${path} is damaged: ${what}`, {
    fix: schema?.recovery
      ? `${schema.recovery}${profileFlag(path)} recovers every readable row and keeps the damaged file`
      : 'delete the file: it is built again from other data',
  });
}

/** Stores of other profiles are below the folder of that profile. */
function profileFlag(path: string): string {
  const profile = /\/profiles\/([^/]+)\/(?:cron\/)?[^/]+$/.exec(path)?.[1];
  return profile === undefined ? '' : ` --profile ${profile}`;
}

/** Makes what is missing of the tables, columns, indices and triggers. */
export function reconcile(db: Db, schema: Schema): void {
  db.transaction(() => {
    for (const [name, table] of Object.entries(schema.tables)) {
      const live = new Set((db.pragma(`table_info(${name})`) as { name: string }[]).map((column) => column.name));
      if (live.size === 0) create(db, name, table);
      for (const [column, definition] of Object.entries(table.columns)) {
        if (live.size > 0 && !live.has(column)) db.exec(`ALTER TABLE ${name} ADD COLUMN ${column} ${definition}`);
      }
      for (const [index, on] of Object.entries(table.indices ?? {})) {
        const unique = index.startsWith('unique:');
        db.exec(`CREATE ${unique ? 'UNIQUE ' : ''}INDEX IF NOT EXISTS ${unique ? index.slice(7) : index} ON ${on}`);
      }
    }
    for (const [name, rest] of Object.entries(schema.triggers ?? {})) reconcileTrigger(db, name, rest);
    const current = db.pragma('user_version', { simple: true }) as number;
    if (current < schema.version) db.pragma(`user_version = ${schema.version}`);
  }).immediate();
}

/** Each by itself, and none of them is worth a start that fails. */
function addFastIndices(db: Db, { tables }: Schema): void {
  const wanted = Object.values(tables).flatMap(({ fastIndices = {} }) => Object.entries(fastIndices));
  const live = new Set(db.prepare("SELECT name FROM sqlite_master WHERE type = 'index'").pluck().all());
  for (const [name, on] of wanted) {
    if (live.has(name)) continue;
    try {
      db.exec(`CREATE INDEX IF NOT EXISTS ${name} ON ${on}`);
    } catch (thrown) {
      if (!/^SQLITE_(?:FULL|IOERR|READONLY|BUSY|CANTOPEN|NOMEM)/.test((thrown as { code?: string }).code ?? '')) throw thrown;
      // What it wrote until then is not to fill the disk.
      db.pragma('wal_checkpoint(TRUNCATE)');
      return;
    }
  }
}

function reconcileTrigger(db: Db, name: string, rest: string): void {
  const wanted = `CREATE TRIGGER ${name} ${rest}`;
  const live = db.prepare("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND name = ?").get(name) as { sql: string } | undefined;
  if (live?.sql === wanted) return;
  db.exec(`DROP TRIGGER IF EXISTS ${name}`);
  db.exec(wanted);
}

function create(db: Db, name: string, table: Table): void {
  const lines = [...Object.entries(table.columns).map(([column, definition]) => `${column} ${definition}`), ...(table.constraints ?? [])];
  db.exec(`CREATE TABLE ${name} (${lines.join(', ')})${table.withoutRowid ? ' WITHOUT ROWID' : ''}`);
}
