/**
 * Offline recovery of a damaged SQLite store: every row that can still be read is copied into a new file,
 * which is checked, counted, and put in the place of the old one; the old one is kept beside it. A page
 * that cannot be read costs the rows on it, not those after it.
 */
import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readSync,
  readdirSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AgentError } from '../../base/errors.ts';
import { copyRows } from './copyRows.ts';
import { restoreFirstPage } from './firstPage.ts';
import { storeError, type Db } from './open.ts';

export interface TableCount {
  name: string;
  /** Rows the old file says it has; null = it cannot even be counted. */
  before: number | null;
  after: number;
}

export interface Recovery {
  tables: TableCount[];
  /** Nothing that could be counted is missing. */
  complete: boolean;
  /** The finished copy. */
  path: string;
}

export interface RecoverOptions {
  from: string;
  /** Where the copy is made; it must be on the file system of the final place. */
  to: string;
  /** Run on the copy at its end, e.g. to forget what no longer holds. */
  finish?: readonly string[];
  /** Stops with TIMEOUT, leaving nothing behind. */
  maxMs?: number;
  progress?: (table: string, rows: number) => void;
}

/** No header of ours claims more; the file stays sparse. */
const PAD_MAX = 64 * 2 ** 30;

/** Makes the copy; changes nothing else. Errors: NOT_FOUND, STORE_CORRUPT when nothing can be read, DISK_FULL, TIMEOUT. */
export function copyReadable({ from, to, finish = [], maxMs = Infinity, progress }: RecoverOptions): Recovery {
  if (!existsSync(from)) throw new AgentError('NOT_FOUND', `there is no ${from}`, { fix: 'give the damaged file with --from' });
  const work = `${to}.source`;
  const remove = (path: string) => ['', '-wal', '-shm', '-journal'].forEach((suffix) => rmSync(path + suffix, { force: true }));
  const deadline = performance.now() + maxMs;
  remove(work);
  remove(to);
  try {
    refuseWithoutRoom(from, to);
    for (const suffix of ['', '-wal'])
      if (existsSync(from + suffix)) copyFileSync(from + suffix, work + suffix, constants.COPYFILE_FICLONE);
    pad(work);
    return copyTables({ work, to, finish, deadline, ...(progress ? { progress } : {}) });
  } catch (thrown) {
    remove(to);
    throw storeError(from, thrown);
  } finally {
    remove(work);
  }
}

/** Every page can be read and every index fits. False also for a file without tables, and one that cannot be opened. */
export function isWhole(path: string): boolean {
  try {
    const db = new Database(path, { readonly: true, fileMustExist: true });
    try {
      return (
        db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table'").get() !== undefined &&
        db.pragma('integrity_check(1)', { simple: true }) === 'ok'
      );
    } finally {
      db.close();
    }
  } catch {
    return false;
  }
}

/** A file that was cut short: what is missing counts as pages that cannot be read. */
function pad(path: string): void {
  const file = openSync(path, 'r');
  const head = Buffer.alloc(32);
  readSync(file, head, 0, 32, 0);
  closeSync(file);
  const wanted = head.readUInt16BE(16) * head.readUInt32BE(28);
  if (head.toString('latin1', 0, 15) === 'SQLite format 3' && wanted > statSync(path).size && wanted < PAD_MAX) truncateSync(path, wanted);
}

/** Twice the size is needed for a while: the copy that is read, and the one that is written. */
function refuseWithoutRoom(from: string, to: string): void {
  const needed = 2 * ['', '-wal'].reduce((sum, suffix) => sum + (statSync(from + suffix, { throwIfNoEntry: false })?.size ?? 0), 0);
  const { bavail, bsize } = statfsSync(dirname(to));
  if (bavail * bsize >= needed) return;
  throw new AgentError('DISK_FULL', `recovering ${from} needs ${Math.ceil(needed / 2 ** 20)} MiB beside it; there is less`, {
    fix: 'free some disk space, then repeat',
  });
}

interface Copying {
  work: string;
  to: string;
  finish: readonly string[];
  deadline: number;
  progress?: (table: string, rows: number) => void;
}

function copyTables({ work, to, finish, deadline, progress }: Copying): Recovery {
  using source = readable(work);
  const { entries, version } = schemaOf(source.db);
  const target = new Database(to);
  try {
    target.pragma('auto_vacuum = INCREMENTAL');
    target.pragma('journal_mode = OFF');
    target.pragma('synchronous = OFF');
    target.pragma('foreign_keys = OFF');
    for (const { sql } of entries.filter(({ type }) => type === 'table')) target.exec(sql);
    const tables: TableCount[] = [];
    for (const { name } of entries.filter(({ type }) => type === 'table')) {
      const before = countOf(source.db, name);
      const after = copyRows({ source: source.db, target, table: name, deadline, ...(progress ? { progress } : {}) });
      tables.push({ name, before, after });
    }
    copySequence(source.db, target);
    for (const { sql } of entries.filter(({ type }) => type !== 'table')) tryExec(target, sql);
    mendReferences(target);
    target.pragma(`user_version = ${version}`);
    for (const sql of finish) tryExec(target, sql);
    verify(target, to);
    return { tables, complete: tables.every(({ before, after }) => before !== null && before <= after), path: to };
  } finally {
    target.close();
    sync(to);
  }
}

// --- reading what is damaged ---

/** The copy, opened. A header that was written over is put back first. */
function readable(work: string): { db: Db } & Disposable {
  try {
    return opened(work);
  } catch (thrown) {
    if (!restoreFirstPage(work)) throw thrown;
    return opened(work);
  }
}

function opened(path: string): { db: Db } & Disposable {
  const db = new Database(path);
  try {
    db.pragma('cell_size_check = OFF');
    db.prepare('SELECT count(*) FROM sqlite_master').get();
    return { db, [Symbol.dispose]: () => db.close() };
  } catch (thrown) {
    db.close();
    throw thrown;
  }
}

interface Entry {
  type: string;
  name: string;
  sql: string;
}

function schemaOf(db: Db): { entries: Entry[]; version: number } {
  const entries = db
    .prepare("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid")
    .all() as Entry[];
  if (entries.length === 0) throw new AgentError('STORE_CORRUPT', 'the file has no tables any more');
  return { entries, version: db.pragma('user_version', { simple: true }) as number };
}

function countOf(db: Db, table: string): number | null {
  try {
    return (db.prepare(`SELECT count(*) AS n FROM "${table}"`).get() as { n: number }).n;
  } catch {
    return null;
  }
}

// --- making the copy whole ---

/** Numbers of rows that are gone are not given again. */
function copySequence(source: Db, target: Db): void {
  try {
    const rows = source.prepare('SELECT name, seq FROM sqlite_sequence').all() as { name: string; seq: number }[];
    const update = target.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?');
    const insert = target.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
    for (const { name, seq } of rows) if (update.run(seq, name).changes === 0) insert.run(name, seq);
  } catch {
    // The highest row that is left counts then.
  }
}

/** A row whose parent is lost gets a bare one, so that it can be found; where that cannot be, it goes. */
function mendReferences(target: Db): void {
  type Violation = { table: string; parent: string; fkid: number };
  const violations = target.pragma('foreign_key_check') as Violation[];
  // By value, not by row: rows in the tree of their key have no number.
  for (const { table, parent, fkid } of new Map(violations.map((found) => [`${found.table} ${found.fkid}`, found])).values()) {
    const key = (target.pragma(`foreign_key_list("${table}")`) as { id: number; from: string; to: string }[]).find(
      ({ id }) => id === fkid,
    )!;
    const lost = `SELECT DISTINCT "${key.from}" FROM "${table}" AS child WHERE "${key.from}" IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM "${parent}" AS parent WHERE parent."${key.to}" = child."${key.from}")`;
    for (const value of target.prepare(lost).pluck().safeIntegers().all()) {
      try {
        target.prepare(`INSERT INTO "${parent}" ("${key.to}") VALUES (?)`).run(value);
      } catch {
        target.prepare(`DELETE FROM "${table}" WHERE "${key.from}" = ?`).run(value);
      }
    }
  }
}

/** An index or trigger that cannot be made is made by the worker at its next start, or not at all. */
function tryExec(db: Db, sql: string): void {
  try {
    db.exec(sql);
  } catch {
    // See above.
  }
}

function verify(target: Db, path: string): void {
  const verdict = target.pragma('integrity_check(1)', { simple: true });
  if (verdict !== 'ok') throw new AgentError('STORE_CORRUPT', `the recovered ${path} is not whole: ${String(verdict)}`);
}

function sync(path: string): void {
  if (!existsSync(path)) return;
  const file = openSync(path, 'r+');
  fsyncSync(file);
  closeSync(file);
}

// --- changing places ---

const two = (value: number): string => String(value).padStart(2, '0');

/** `state.db.corrupt-20261121-121202`; the name says when it was set aside. */
export function asideName(path: string, word: string, at = new Date()): string {
  const day = `${at.getUTCFullYear()}${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
  const base = `${path}.${word}-${day}-${two(at.getUTCHours())}${two(at.getUTCMinutes())}${two(at.getUTCSeconds())}`;
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!existsSync(name)) return name;
  }
}

/** The store, with what SQLite keeps beside it, gets another name. Nobody may have it open. */
export function setAside(path: string, word = 'corrupt'): string {
  const aside = asideName(path, word);
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  if (existsSync(path)) renameSync(path, aside);
  return aside;
}

/**
 * The copy takes the place of the store in one step. A crash on the way leaves the old store under both names, or
 * the new one in place; the old log of writes never meets the new file.
 */
export function putInPlace(copy: string, path: string, word = 'corrupt'): string {
  const aside = asideName(path, word);
  if (existsSync(path)) linkSync(path, aside);
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  renameSync(copy, path);
  return aside;
}

/** Where the damaged store stands with its log of writes: a recovery that was cut short had set the log aside already. */
export function damagedSource(path: string): string {
  const { ino } = statSync(path);
  const dir = dirname(path);
  const aside = readdirSync(dir).find(
    (name) => name.startsWith(`${basename(path)}.`) && existsSync(join(dir, `${name}-wal`)) && statSync(join(dir, name)).ino === ino,
  );
  return aside === undefined ? path : join(dir, aside);
}

/** Of state.db: numbers of events of the old file mean nothing any more, and counts are made anew. */
export const finishState: readonly string[] = ["DELETE FROM state_meta WHERE key IN ('epoch', 'counts')"];
