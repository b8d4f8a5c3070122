/**
 * The trees of a SQLite file whose pages may be damaged. A page that cannot be read leaves a hole in its tree; what
 * hangs below it is found among the pages that no tree reaches. A tree whose line in the table of tables is lost is
 * found by what its rows look like.
 */
import type { Node, PageFile, Row } from './pages.ts';

export interface Entry {
  type: string;
  name: string;
  table: string;
  root: number;
  sql: string | null;
}

/** What the rows of a table look like, in the order they are stored. */
export interface Shape {
  withoutRowid: boolean;
  columns: { name: string; type: string; required: boolean; isRowid: boolean }[];
}

/** A page that cannot be read, and the row numbers below it where they are known. */
export interface Hole {
  page: number;
  low?: bigint | undefined;
  high?: bigint | undefined;
}

export interface Tree {
  pages: number[];
  holes: Hole[];
}

/** Far deeper than a tree of 2^32 pages. */
const DEPTH_MAX = 20;

export class Forest {
  readonly #file: PageFile;
  readonly #free: Set<number>;
  /** Pages that belong to a tree. */
  readonly #taken = new Set<number>();
  /** Beginnings of trees and branches that no page leads to; found when first needed. */
  #tops: Node[] | undefined;

  constructor(file: PageFile) {
    this.#file = file;
    this.#free = file.freePages();
  }

  /** Lines of the table of tables, wherever they can be read. */
  schema(): Entry[] {
    const tree = this.#walk({ page: 1 }, 'table');
    const entries = this.rows(tree).map(entryOf);
    if (tree.holes.length > 0) entries.push(...this.#lostSchema());
    this.#tops = undefined;
    return entries.filter((entry) => entry !== undefined);
  }

  /** The tree that begins at `root`; undefined when that is certainly not its beginning. */
  claim(root: number, kind: Node['kind'], shape?: Shape): Tree | undefined {
    if (!(root > 1 && root <= this.#file.count) || this.#taken.has(root) || this.#free.has(root)) return undefined;
    const node = this.#file.node(root);
    const isOther = node && (node.kind !== kind || (shape && !this.#fits(node, shape, true)));
    return isOther || !this.#mayBeRoot(root) ? undefined : this.#walk({ page: root }, kind);
  }

  /** A tree that nothing leads to and that looks like it. Only after all others are claimed. */
  find(shape: Shape): Tree | undefined {
    const kind = kindOf(shape);
    const top = this.#orphanTops().find((node) => node.kind === kind && this.#mayBeRoot(node.page) && this.#fits(node, shape));
    return top && this.#walk({ page: top.page }, kind);
  }

  /** Adds what is left below its holes. Only after all trees are claimed. */
  fill(tree: Tree, shape: Shape): void {
    const kind = kindOf(shape);
    if (tree.holes.length === 0) return;
    for (const node of this.#orphanTops()) {
      if (node.kind !== kind || !tree.holes.some((hole) => this.#hangsBelow(node, hole)) || !this.#fits(node, shape)) continue;
      this.#walk({ page: node.page }, kind, tree);
    }
  }

  /** Undefined when a page of it cannot be read. */
  cellsOf({ pages, holes }: Tree): number | undefined {
    if (holes.length > 0) return undefined;
    const nodes = pages.map((page) => this.#file.node(page)!);
    return nodes.reduce((sum, node) => sum + (holdsRows(node) ? node.cells.length : 0), 0);
  }

  rows(tree: Tree): Row[] {
    return [...this.each(tree)];
  }

  *each({ pages }: Tree): Generator<Row> {
    for (const page of pages) {
      const node = this.#file.node(page);
      if (!node || (node.kind === 'table' && !node.leaf)) continue;
      for (const cell of node.cells) {
        const row = this.#file.row(node, cell);
        if (row) yield row;
      }
    }
  }

  // --- walking ---

  #walk(from: Hole, kind: Node['kind'], tree: Tree = { pages: [], holes: [] }, depth = 0): Tree {
    const node = this.#file.node(from.page);
    if (this.#taken.has(from.page) || depth > DEPTH_MAX) return tree;
    this.#taken.add(from.page);
    if (!node || node.kind !== kind || node.torn) tree.holes.push(from);
    if (!node || node.kind !== kind) return tree;
    tree.pages.push(node.page);
    const bounded = kind === 'table' && !node.torn && !node.leaf;
    const keys = bounded ? node.cells.map((cell) => this.#file.key(node, cell)) : [];
    for (const [n, page] of node.children.entries()) {
      const bounds = bounded ? { low: keys[n - 1] ?? from.low, high: keys[n] ?? from.high } : {};
      this.#walk({ page, ...bounds }, kind, tree, depth + 1);
    }
    return tree;
  }

  // --- what no tree reaches ---

  #orphanTops(): Node[] {
    if (this.#tops) return this.#tops.filter(({ page }) => !this.#taken.has(page));
    const nodes: Node[] = [];
    for (let page = 2; page <= this.#file.present; page++) {
      if (this.#taken.has(page) || this.#free.has(page)) continue;
      const note = this.#file.noteOf(page)?.kind;
      const node = note === 'free' || note === 'overflow' ? undefined : this.#file.node(page);
      if (node && !node.torn && node.cells.every((cell) => !holdsRows(node) || this.#file.row(node, cell))) nodes.push(node);
    }
    const below = new Set(nodes.flatMap(({ children }) => children));
    return (this.#tops = nodes.filter(({ page }) => !below.has(page)));
  }

  #mayBeRoot(page: number): boolean {
    return (this.#file.noteOf(page)?.kind ?? 'root') === 'root';
  }

  #hangsBelow(node: Node, { page, low, high }: Hole): boolean {
    const note = this.#file.noteOf(node.page);
    if (note) return note.kind === 'inner' && note.parent === page;
    if (node.kind === 'index') return true;
    const first = this.#firstRow(node)?.rowid;
    return first !== undefined && (low === undefined || first > low) && (high === undefined || first <= high);
  }

  #lostSchema(): (Entry | undefined)[] {
    return this.#orphanTops()
      .filter((node) => node.kind === 'table' && entryOf(this.#firstRow(node)) !== undefined)
      .flatMap((node) => this.rows(this.#walk({ page: node.page }, 'table')).map(entryOf));
  }

  #firstRow(node: Node): Row | undefined {
    let at: Node | undefined = node;
    for (let depth = 0; at && !holdsRows(at) && depth < DEPTH_MAX; depth++) at = this.#file.node(at.children[0]!);
    return at && at.cells.length > 0 ? this.#file.row(at, at.cells[0]!) : undefined;
  }

  /** Its first row could be one of this table. */
  #fits(node: Node, shape: Shape, mayBeEmpty = false): boolean {
    const row = this.#firstRow(node);
    if (!row) return mayBeEmpty;
    if (row.values.length > shape.columns.length) return false;
    return shape.columns.every(({ type, required, isRowid }, n) => {
      const value = row.values[n];
      if (value === undefined) return true;
      if (value === null) return isRowid || !required;
      if (isRowid) return false;
      if (type === 'TEXT') return typeof value === 'string';
      if (type === 'INTEGER') return typeof value === 'bigint';
      return true;
    });
  }
}

const kindOf = ({ withoutRowid }: Shape): Node['kind'] => (withoutRowid ? 'index' : 'table');

const holdsRows = ({ kind, leaf }: Node): boolean => leaf || kind === 'index';

const KINDS = new Set(['table', 'index', 'trigger', 'view']);

function entryOf(row: Row | undefined): Entry | undefined {
  const [type, name, table, root, sql] = row?.values ?? [];
  if (row?.values.length !== 5 || typeof type !== 'string' || !KINDS.has(type)) return undefined;
  if (typeof name !== 'string' || typeof table !== 'string') return undefined;
  return { type, name, table, root: Number(root ?? 0), sql: typeof sql === 'string' ? sql : null };
}
