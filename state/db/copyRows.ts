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

/** A key cannot be counted on past a bad page, so the other side is reached from the end, and the middle through the parents. */
function copyByKey(copy: RowCopy, columns: readonly Column[]): number {
  const batches = new Batches(copy, namesOf(columns), columns.length);
  if (copySpan(copy, columns, { batches }) === 'last') return batches.copied;
  for (const first of parentsOf(copy, keyOf(columns)[0]!)) copySpan(copy, columns, { batches, first });
  return batches.copied;
}

interface Span {
  batches: Batches;
  /** Only rows whose key begins with it. */
  first?: unknown;
}

/** Upwards from its beginning, then downwards from its end, each as far as it can be read. */
function copySpan(copy: RowCopy, columns: readonly Column[], span: Span): 'last' | 'damaged' {
  if (walk(copy, columns, { ...span, up: true }) === 'last') return 'last';
  walk(copy, columns, { ...span, up: false });
  return 'damaged';
}

function walk({ source, table }: RowCopy, columns: readonly Column[], { batches, first, up }: Span & { up: boolean }): 'last' | 'damaged' {
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
  const [start, begins] = first === undefined ? [[], []] : [[first], [`"${key[0]}" = ?`]];
  const rest = first === undefined ? key : key.slice(1);
  const beyond = `(${rest.map((name) => `"${name}"`).join(', ')}) ${up ? '>' : '<'} (${rest.map(() => '?').join(', ')})`;
  let { rows, end } = read(begins, start);
  while (end === 'more') {
    batches.write(rows);
    const last = rows.at(-1)!;
    const place = rest.map((name) => last[columns.findIndex((column) => column.name === name)]);
    ({ rows, end } = read([...begins, beyond], [...start, ...place]));
  }
  batches.write(rows);
  return end;
}

/** In the order of the key. */
const keyOf = (columns: readonly Column[]): string[] =>
  columns
    .filter(({ pk }) => pk > 0)
    .toSorted((a, b) => a.pk - b.pk)
    .map(({ name }) => name);

/** Every value the first column of the key can have, where it names rows of a table that is copied already. */
function parentsOf({ target, table }: RowCopy, column: string): unknown[] {
  const references = target.pragma(`foreign_key_list("${table}")`) as { table: string; from: string; to: string | null }[];
  const reference = references.find(({ from }) => from === column);
  if (!reference?.to) return [];
  return target.prepare(`SELECT DISTINCT "${reference.to}" FROM "${reference.table}"`).pluck().safeIntegers().all();
}

// --- both ---

const namesOf = (columns: readonly Column[]): string => columns.map(({ name }) => `"${name}"`).join(', ');

/** `more` = the batch is full, `last` = nothing after it, `damaged` = the next row cannot be read. */
function readSome(
  read: Database.Statement<unknown[]>,
  values: readonly unknown[],
): { rows: unknown[][]; end: 'more' | 'last' | 'damaged' } {
  const rows: unknown[][] = [];
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

  write(rows: readonly unknown[][]): void {
    const { target, table, deadline, progress } = this.#copy;
    if (performance.now() > deadline) throw new AgentError('TIMEOUT', `the recovery of ${table} took too long`);
    target.transaction(() => {
      for (const row of rows) this.copied += this.#write.run(...row).changes;
    })();
    progress?.(table, this.copied);
  }
}
