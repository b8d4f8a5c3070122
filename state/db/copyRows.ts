/**
 * Reading a damaged table: every row that can still be reached goes into the copy. Rows with a number are read
 * upwards, and a page that cannot be read is stepped over by number. Rows that live in the tree of their key
 * (WITHOUT ROWID) are read from both ends, and then once more for each parent they can belong to.
 */
import type Database from 'better-sqlite3';
import { AgentError } from '../../base/errors.ts';
import type { Db } from './open.ts';

export interface RowCopy {
  source: Db;
  target: Db;
  table: string;
  /** Of `performance.now()`; after it TIMEOUT. */
  deadline: number;
  progress?: (table: string, rows: number) => void;
}

/** Rows copied in one transaction. */
const BATCH = 2_000;
/** Largest row number of SQLite. */
const ROWID_MAX = 2n ** 63n - 1n;

/** Answers the rows copied. Errors: TIMEOUT. */
export function copyRows(copy: RowCopy): number {
  const { target, table } = copy;
  const columns = target.pragma(`table_info("${table}")`) as Column[];
  return isWithoutRowid(target, table) ? copyByKey(copy, columns) : copyByNumber(copy, columns);
}

interface Column {
  name: string;
  /** Place in the primary key, from 1; 0 = not in it. */
  pk: number;
}

export function isWithoutRowid(db: Db, table: string): boolean {
  const [row] = db.pragma(`table_list("${table}")`) as { wr: number }[];
  return row?.wr === 1;
}

// --- rows with a number ---

/** Upwards by row number; where a page cannot be read, on at the next row that can be. */
function copyByNumber(copy: RowCopy, columns: readonly Column[]): number {
  const { source, table } = copy;
  const names = namesOf(columns);
  const read = source.prepare(`SELECT rowid, ${names} FROM "${table}" WHERE rowid > ? ORDER BY rowid`).raw().safeIntegers();
  const batches = new Batches(copy, `rowid, ${names}`, columns.length + 1);
  let after: bigint | undefined = -(2n ** 62n);
  while (after !== undefined) {
    const { rows, end } = readSome(read, [after]);
    batches.write(rows);
    if (end === 'last') break;
    after = (rows.at(-1)?.[0] as bigint | undefined) ?? after;
    if (end === 'damaged') after = nextReadable(source, table, after);
  }
  return batches.copied;
}

/** The row number to go on after: found by doubling steps, then halving the last one. Undefined = nothing after it can be read. */
function nextReadable(source: Db, table: string, after: bigint): bigint | undefined {
  const probe = source.prepare(`SELECT rowid, * FROM "${table}" WHERE rowid > ? ORDER BY rowid LIMIT 1`).raw().safeIntegers();
  const fine = (from: bigint): boolean | 'end' => {
    try {
      return probe.get(from) === undefined ? 'end' : true;
    } catch {
      return false;
    }
  };
  let bad = after;
  let step = 1n;
  let good: bigint | undefined;
  while (good === undefined && bad + step < ROWID_MAX) {
    const outcome = fine(bad + step);
    if (outcome === true) good = bad + step;
    // Behind the last row everything is fine and empty.
    else if (outcome === 'end') break;
    else bad += step;
    step *= 2n;
  }
  if (good === undefined) good = bad + step;
  for (let low = bad; good - low > 1n;) {
    const middle: bigint = low + (good - low) / 2n;
    if (fine(middle) === false) low = middle;
    else good = middle;
  }
  return fine(good) === true ? good : undefined;
}

// --- rows in the tree of their key ---

/** A key cannot be counted on past a bad page, so the other side is reached from the end, and what is between through the parents. */
function copyByKey(copy: RowCopy, columns: readonly Column[]): number {
  const batches = new Batches(copy, namesOf(columns), columns.length);
  const [first] = keyOf(columns);
  const place = columns.findIndex(({ name }) => name === first);
  const ends = copySpan(copy, columns, { batches });
  if (ends)
    for (const parent of parentsBetween(copy, first!, [ends.up?.[place], ends.down?.[place]])) copySpan(copy, columns, { batches, parent });
  return batches.copied;
}

interface Span {
  batches: Batches;
  /** Only rows whose key begins with it. */
  parent?: unknown;
}

/** Upwards from its beginning, then downwards from its end, each as far as it can be read. Answers the last rows of both ways; undefined = all is read. */
function copySpan(copy: RowCopy, columns: readonly Column[], span: Span): { up: Row | undefined; down: Row | undefined } | undefined {
  const up = walk(copy, columns, { ...span, up: true });
  if (up.end === 'last') return undefined;
  return { up: up.row, down: walk(copy, columns, { ...span, up: false }).row };
}

type Row = unknown[];

function walk({ source, table }: RowCopy, columns: readonly Column[], { batches, parent, up }: Span & { up: boolean }) {
  const key = keyOf(columns);
  const order = key.map((name) => `"${name}" ${up ? 'ASC' : 'DESC'}`).join(', ');
  const read = (where: readonly string[], values: readonly unknown[]) => {
    const filter = where.length > 0 ? `WHERE ${where.join(' AND ')}` : '';
    const rows = source
      .prepare(`SELECT ${namesOf(columns)} FROM "${table}" ${filter} ORDER BY ${order}`)
      .raw()
      .safeIntegers();
    return readSome(rows, values);
  };
  const [start, begins] = parent === undefined ? [[], []] : [[parent], [`"${key[0]}" = ?`]];
  const rest = parent === undefined ? key : key.slice(1);
  const beyond = `(${rest.map((name) => `"${name}"`).join(', ')}) ${up ? '>' : '<'} (${rest.map(() => '?').join(', ')})`;
  let { rows, end } = read(begins, start);
  let row = rows.at(-1);
  while (end === 'more') {
    batches.write(rows);
    const reached = row!;
    const place = rest.map((name) => reached[columns.findIndex((column) => column.name === name)]);
    ({ rows, end } = read([...begins, beyond], [...start, ...place]));
    row = rows.at(-1) ?? row;
  }
  batches.write(rows);
  return { end, row };
}

/** In the order of the key. */
const keyOf = (columns: readonly Column[]): string[] =>
  columns
    .filter(({ pk }) => pk > 0)
    .toSorted((a, b) => a.pk - b.pk)
    .map(({ name }) => name);

/** The values the first column of the key can have from one to the other, where it names rows of a table that is copied already. */
function parentsBetween({ target, table }: RowCopy, column: string, [low = null, high = null]: readonly [unknown, unknown]): unknown[] {
  const references = target.pragma(`foreign_key_list("${table}")`) as { table: string; from: string; to: string | null }[];
  const reference = references.find(({ from }) => from === column);
  if (!reference?.to) return [];
  const parent = `"${reference.to}"`;
  return target
    .prepare(
      `SELECT DISTINCT ${parent} FROM "${reference.table}" WHERE (@low IS NULL OR ${parent} >= @low) AND (@high IS NULL OR ${parent} <= @high)`,
    )
    .pluck()
    .safeIntegers()
    .all({ low, high });
}

// --- both ---

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => `"${name}"`).join(', ');

/** `more` = the batch is full, `last` = nothing after it, `damaged` = the next row cannot be read. */
function readSome(read: Database.Statement<unknown[]>, values: readonly unknown[]): { rows: Row[]; end: 'more' | 'last' | 'damaged' } {
  const rows: Row[] = [];
  try {
    for (const row of read.iterate(...values) as Iterable<unknown[]>) if (rows.push(row) >= BATCH) return { rows, end: 'more' };
    return { rows, end: 'last' };
  } catch {
    return { rows, end: 'damaged' };
  }
}

/** Writes into the copy; a row that is there already is not counted again. */
class Batches {
  copied = 0;
  readonly #copy: RowCopy;
  readonly #write: Database.Statement<unknown[]>;

  constructor(copy: RowCopy, names: string, width: number) {
    this.#copy = copy;
    const marks = Array(width).fill('?').join(', ');
    this.#write = copy.target.prepare(`INSERT OR IGNORE INTO "${copy.table}" (${names}) VALUES (${marks})`);
  }

  write(rows: readonly Row[]): void {
    const { target, table, deadline, progress } = this.#copy;
    if (performance.now() > deadline) throw new AgentError('TIMEOUT', `the recovery of ${table} took too long`);
    target.transaction(() => {
      for (const row of rows) this.copied += this.#write.run(...row).changes;
    })();
    progress?.(table, this.copied);
  }
}
