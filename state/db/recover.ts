/**
 * Offline recovery of a damaged SQLite store: every row that can still be read is copied into a new file,
 * which is checked, counted, and put in the place of the old one; the old one is kept beside it. A page
 * that cannot be read costs the rows on it, not those after it.
 */
import { existsSync, linkSync, readdirSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import Database from 'better-sqlite3';
import { AgentError } from '../../base/errors.ts';
import { syncFile } from '../atomicFile.ts';
import { copyRows, shapeOf } from './copyRows.ts';
import { openReadOnly, reconcile, storeError, type Db, type Schema } from './open.ts';
import { PageFile, type Row } from './pages.ts';
import { Forest, type Entry, type Shape, type Tree } from './trees.ts';

export interface TableCount {
  name: string;
  /** Rows the old file says it has; null = it cannot even be counted. */
  before: number | null;
  after: number;
  /** Rows that lost a part: a long value that goes over a page that cannot be read. */
  torn: number;
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
  /** Its tables as this release makes them, and copies of the file: they say where trees begin whose line in the table of tables is lost. */
  schema?: Schema | undefined;
  copies?: readonly string[] | undefined;
  /** Run on the copy at its end, e.g. to forget what no longer holds. */
  finish?: readonly string[];
  /** Stops with TIMEOUT, leaving nothing behind. */
  maxMs?: number;
  progress?: (table: string, rows: number) => void;
}

/** Makes the copy; changes nothing else. Errors: NOT_FOUND, STORE_CORRUPT when nothing can be read, DISK_FULL, TIMEOUT. */
export function copyReadable(options: RecoverOptions): Recovery {
  const { from, to, maxMs = Infinity } = options;
  if (!existsSync(from)) throw new AgentError('NOT_FOUND', `there is no ${from}`, { fix: 'give the damaged file with --from' });
  const remove = () => ['', '-wal', '-shm', '-journal'].forEach((suffix) => rmSync(to + suffix, { force: true }));
  const deadline = performance.now() + maxMs;
  remove();
  try {
    refuseWithoutRoom(from, to);
    return copyTables(options, deadline);
  } catch (thrown) {
    remove();
    throw storeError(from, thrown);
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

function refuseWithoutRoom(from: string, to: string): void {
  const needed = ['', '-wal'].reduce((sum, suffix) => sum + (statSync(from + suffix, { throwIfNoEntry: false })?.size ?? 0), 0);
  const { bavail, bsize } = statfsSync(dirname(to));
  if (bavail * bsize >= needed) return;
  throw new AgentError('DISK_FULL', `recovering ${from} needs ${Math.ceil(needed / 2 ** 20)} MiB beside it; there is less`, {
    fix: 'free some disk space, then repeat',
  });
}

function copyTables(options: RecoverOptions, deadline: number): Recovery {
  const { from, to, finish = [], progress } = options;
  using file = new PageFile(from);
  const forest = new Forest(file);
  const { entries, version } = schemaOf(file, forest, options);
  const target = new Database(to);
  try {
    target.pragma('auto_vacuum = INCREMENTAL');
    target.pragma('journal_mode = OFF');
    target.pragma('synchronous = OFF');
    target.pragma('foreign_keys = OFF');
    const found = findTrees(forest, entries, target);
    if (!file.hasHeader && found.every(({ tree }) => tree.pages.length === 0))
      throw new AgentError('STORE_CORRUPT', 'it is not a database, or no page of it can be read any more');
    const tables: TableCount[] = [];
    for (const { name, shape, tree, before } of found.filter(({ name }) => !isInternal(name))) {
      const copy = { target, table: name, shape, deadline, ...(progress ? { progress } : {}) };
      const { copied, torn } = copyRows(copy, forest.each(tree));
      tables.push({ name, before, after: copied, torn });
    }
    const sequence = found.find(({ name }) => name === 'sqlite_sequence');
    if (sequence) copySequence(forest.rows(sequence.tree), target);
    for (const { type, sql } of entries) if (type !== 'table' && sql !== null) tryExec(target, sql);
    mendReferences(target);
    target.pragma(`user_version = ${version}`);
    for (const sql of finish) tryExec(target, sql);
    verify(target, to);
    const complete = tables.every(({ before, after, torn }) => before !== null && before <= after && torn === 0);
    return { tables, complete, path: to };
  } finally {
    target.close();
    if (existsSync(to)) syncFile(to);
  }
}

// --- reading what is damaged ---

interface Found {
  name: string;
  shape: Shape;
  tree: Tree;
  before: number | null;
}

/** The tree of each table, made in the target on the way. First those whose beginning is known, then what is left of all others. */
function findTrees(forest: Forest, entries: readonly Entry[], target: Db): Found[] {
  const tables = entries.filter(
    ({ type, name, sql }) => type === 'table' && sql !== null && (!isInternal(name) || name === 'sqlite_sequence'),
  );
  for (const { name, sql } of tables) if (!isInternal(name)) target.exec(sql!);
  const claimed = tables.map(({ name, root }) => {
    const shape = shapeOf(target, name);
    return { name, shape, tree: forest.claim(root, shape.withoutRowid ? 'index' : 'table', shape) };
  });
  const indices = entries.filter(({ type }) => type === 'index').map((entry) => ({ ...entry, tree: forest.claim(entry.root, 'index') }));
  return claimed.map(({ name, shape, tree = { pages: [], holes: [{ page: 0 }] } }) => {
    forest.fill(tree, shape);
    const whole = tree.pages.length > 0 ? tree : (forest.find(shape) ?? tree);
    return {
      name,
      shape,
      tree: whole,
      before: countOf(
        forest,
        whole,
        indices.filter(({ table }) => table === name),
      ),
    };
  });
}

/** Its own rows when its tree has no hole, else the entries of an index that leaves none out. */
function countOf(forest: Forest, tree: Tree, indices: readonly { sql: string | null; tree: Tree | undefined }[]): number | null {
  if (tree.holes.length === 0) return forest.cellsOf(tree) ?? null;
  for (const { sql, tree: index } of indices) {
    const count = index && !/\bWHERE\b/i.test(sql ?? '') ? forest.cellsOf(index) : undefined;
    if (count !== undefined) return count;
  }
  return null;
}

const isInternal = (name: string): boolean => name.startsWith('sqlite_');

/** What the file still says of its tables, then what its copies say of the others, then what this release would make. */
function schemaOf(file: PageFile, forest: Forest, { schema, copies = [] }: RecoverOptions): { entries: Entry[]; version: number } {
  const sources = [
    () => forest.schema(),
    ...copies.map((copy) => () => entriesOfFile(copy)),
    () => (schema ? entriesOfSchema(schema) : []),
  ];
  const entries = new Map<string, Entry>();
  for (const source of sources)
    for (const entry of source()) if (!entries.has(`${entry.type} ${entry.name}`)) entries.set(`${entry.type} ${entry.name}`, entry);
  if (entries.size === 0) throw new AgentError('STORE_CORRUPT', 'it is not a database, or it has no tables any more');
  return { entries: [...entries.values()], version: file.version || (schema?.version ?? 0) };
}

const ENTRIES = 'SELECT type, name, tbl_name AS "table", rootpage AS root, sql FROM sqlite_master ORDER BY rowid';

function entriesOfFile(path: string): Entry[] {
  try {
    const db = openReadOnly(path);
    try {
      return db.prepare(ENTRIES).all() as Entry[];
    } finally {
      db.close();
    }
  } catch {
    // A copy that cannot be read says nothing.
    return [];
  }
}

function entriesOfSchema(schema: Schema): Entry[] {
  const db = new Database(':memory:');
  try {
    if (schema.autoVacuum) db.pragma('auto_vacuum = INCREMENTAL');
    reconcile(db, schema);
    return db.prepare(ENTRIES).all() as Entry[];
  } finally {
    db.close();
  }
}

// --- making the copy whole ---

/** Numbers of rows that are gone are not given again. */
function copySequence(rows: readonly Row[], target: Db): void {
  const update = target.prepare('UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?');
  const insert = target.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)');
  for (const { values } of rows) {
    const [name, seq] = values;
    if (typeof name !== 'string' || typeof seq !== 'bigint') continue;
    if (update.run(seq, name).changes === 0) insert.run(name, seq);
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

// --- changing places ---

const two = (value: number): string => String(value).padStart(2, '0');

/** `state.db.damaged-20261121-121202`; the name says when it was set aside. */
export function asideName(path: string, word: string, at = new Date()): string {
  const day = `${at.getUTCFullYear()}${two(at.getUTCMonth() + 1)}${two(at.getUTCDate())}`;
  const base = `${path}.${word}-${day}-${two(at.getUTCHours())}${two(at.getUTCMinutes())}${two(at.getUTCSeconds())}`;
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!existsSync(name)) return name;
  }
}

/** The store, with what SQLite keeps beside it, gets another name. Nobody may have it open. */
export function setAside(path: string, word = 'damaged'): string {
  const aside = asideName(path, word);
  for (const suffix of ['-wal', '-shm']) if (existsSync(path + suffix)) renameSync(path + suffix, aside + suffix);
  if (existsSync(path)) renameSync(path, aside);
  return aside;
}

/**
 * The copy takes the place of the store in one step. A crash on the way leaves the old store under both names, or
 * the new one in place; the old log of writes never meets the new file.
 */
export function putInPlace(copy: string, path: string, word = 'damaged'): string {
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
