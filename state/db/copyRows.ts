/** Writes the rows of a damaged file into a copy: all that can still be read, of every tree that can still be found. */
import type Database from 'better-sqlite3';
import { AgentError } from '../../base/errors.ts';
import type { Db } from './open.ts';
import type { Row, Value } from './pages.ts';
import type { Shape } from './trees.ts';

export interface RowCopy {
  target: Db;
  table: string;
  shape: Shape;
  /** Of `performance.now()`; after it TIMEOUT. */
  deadline: number;
  progress?: (table: string, rows: number) => void;
}

/** Rows copied in one transaction. */
const BATCH = 2_000;

/** `torn`: rows whose longest values could not be read to their end and have the default instead. Errors: TIMEOUT. */
export function copyRows(copy: RowCopy, rows: Iterable<Row>): { copied: number; torn: number } {
  const { target, table, deadline, progress } = copy;
  const statements = new Map<string, Database.Statement<unknown[]>>();
  const counts = { copied: 0, torn: 0 };
  const write = target.transaction((batch: readonly Row[]) => {
    for (const row of batch) {
      const { changes } = insert(copy, statements, row);
      counts.copied += changes;
      if (changes > 0 && row.values.includes(undefined)) counts.torn++;
    }
  });
  const flush = (batch: readonly Row[]): void => {
    if (performance.now() > deadline) throw new AgentError('TIMEOUT', `the recovery of ${table} took too long`);
    write(batch);
    progress?.(table, counts.copied);
  };
  let batch: Row[] = [];
  for (const row of rows) {
    if (row.values.length > copy.shape.columns.length || batch.push(row) < BATCH) continue;
    flush(batch);
    batch = [];
  }
  flush(batch);
  return counts;
}

/** Columns without a value get their default; a row that is there already stays as it is. */
function insert(copy: RowCopy, statements: Map<string, Database.Statement<unknown[]>>, { rowid, values }: Row) {
  const { target, table, shape } = copy;
  const entries: [string, Value][] = shape.withoutRowid ? [] : [['rowid', rowid]];
  for (const [n, { name, isRowid }] of shape.columns.entries()) {
    const value = values[n];
    if (value !== undefined && !isRowid) entries.push([`"${name}"`, value]);
  }
  const names = entries.map(([name]) => name).join(', ');
  let statement = statements.get(names);
  if (!statement) {
    const marks = entries.map(() => '?').join(', ');
    statements.set(names, (statement = target.prepare(`INSERT OR IGNORE INTO "${table}" (${names}) VALUES (${marks})`)));
  }
  return statement.run(...entries.map(([, value]) => value));
}

/** How the rows of a table of the copy are stored. */
export function shapeOf(db: Db, table: string): Shape {
  const [list] = db.pragma(`table_list("${table}")`) as { wr: number }[];
  const columns = db.pragma(`table_info("${table}")`) as { cid: number; name: string; type: string; notnull: number; pk: number }[];
  const withoutRowid = list?.wr === 1;
  const only = columns.filter(({ pk }) => pk > 0);
  const alias = !withoutRowid && only.length === 1 && only[0]!.type.toUpperCase() === 'INTEGER' ? only[0] : undefined;
  const stored = withoutRowid ? storedOrder(db, table).map((cid) => columns[cid]!) : columns;
  return {
    withoutRowid,
    columns: stored.map((column) => ({
      name: column.name,
      type: column.type.toUpperCase(),
      required: column.notnull === 1,
      isRowid: column === alias,
    })),
  };
}

/** In the tree of its key a row begins with the key. */
function storedOrder(db: Db, table: string): number[] {
  const indices = db.pragma(`index_list("${table}")`) as { name: string; origin: string }[];
  const key = indices.find(({ origin }) => origin === 'pk')!;
  return (db.pragma(`index_xinfo("${key.name}")`) as { cid: number }[]).map(({ cid }) => cid);
}
