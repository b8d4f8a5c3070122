/**
 * The pages of a SQLite file, read without SQLite, which refuses a tree with one bad page in it. Pages that are still
 * in the write-ahead log come from there. File format: https://www.sqlite.org/fileformat2.html.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

/** Page size of our stores. */
const PAGE_BYTES = 4_096;
const HEADER_BYTES = 100;
const WAL_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Pages kept in memory: one path through the deepest tree, and the overflow pages of a row. */
const CACHED_MAX = 256;

export interface Node {
  page: number;
  kind: 'table' | 'index';
  leaf: boolean;
  /** Where its cells begin. */
  cells: number[];
  /** In the order of their keys; none of a leaf. */
  children: number[];
  /** A pointer of the page leads nowhere: the page is damaged in part. */
  torn: boolean;
}

/** Undefined = it is on a page that cannot be read. */
export type Value = null | bigint | number | string | Buffer | undefined;

export interface Row {
  /** Of a table; 0 in an index. */
  rowid: bigint;
  values: Value[];
}

export class PageFile implements Disposable {
  readonly bytes: number;
  /** Pages that are there; a file that was cut short says that it has more. */
  readonly present: number;
  readonly count: number;
  /** The header can be read: what it says of free pages and of the schema version holds. */
  readonly hasHeader: boolean;
  readonly #file: number;
  readonly #log: number | undefined;
  /** Page number → offset of its newest content in the log. */
  readonly #logged = new Map<number, number>();
  readonly #cache = new Map<number, Buffer>();
  readonly #usable: number;

  /** Nobody may write to it meanwhile. */
  constructor(path: string) {
    this.#file = openSync(path, 'r');
    const header = Buffer.alloc(HEADER_BYTES);
    readSync(this.#file, header, 0, HEADER_BYTES, 0);
    const log = existsSync(`${path}-wal`) ? openSync(`${path}-wal`, 'r') : undefined;
    this.#log = log;
    this.bytes = pageBytes(header) ?? (log === undefined ? undefined : logPageBytes(log)) ?? PAGE_BYTES;
    const logged = log === undefined ? 0 : this.#readLog(log);
    this.present = Math.max(Math.floor(fstatSync(this.#file).size / this.bytes), logged);
    this.hasHeader = this.present > 0 && pageBytes(this.page(1)) === this.bytes;
    this.count = Math.max(this.present, this.hasHeader ? this.page(1).readUInt32BE(28) : 0);
    this.#usable = this.bytes - (this.hasHeader ? this.page(1)[20]! : 0);
  }

  [Symbol.dispose](): void {
    closeSync(this.#file);
    if (this.#log !== undefined) closeSync(this.#log);
  }

  page(number: number): Buffer {
    const cached = this.#cache.get(number);
    if (cached) return cached;
    const page = Buffer.alloc(this.bytes);
    const offset = this.#logged.get(number);
    try {
      if (offset !== undefined) readSync(this.#log!, page, 0, this.bytes, offset);
      else readSync(this.#file, page, 0, this.bytes, (number - 1) * this.bytes);
    } catch {
      // The disk cannot read it: an empty page is damaged to everything that looks at it.
    }
    if (this.#cache.size >= CACHED_MAX) this.#cache.delete(this.#cache.keys().next().value!);
    this.#cache.set(number, page);
    return page;
  }

  get version(): number {
    return this.hasHeader ? this.page(1).readInt32BE(60) : 0;
  }

  /** Undefined = not a page of a tree, or damaged beyond use. */
  node(number: number): Node | undefined {
    if (!(number >= 1 && number <= this.count)) return undefined;
    const page = this.page(number);
    const at = number === 1 ? HEADER_BYTES : 0;
    const type = page[at]!;
    if (![2, 5, 10, 13].includes(type)) return undefined;
    const leaf = type >= 10;
    const count = page.readUInt16BE(at + 3);
    const pointers = at + (leaf ? 8 : 12);
    const start = pointers + 2 * count;
    if (start > this.#usable || (!leaf && count === 0 && number !== 1 && !this.#isPage(page.readUInt32BE(at + 8)))) return undefined;
    const all = Array.from({ length: count }, (_, n) => page.readUInt16BE(pointers + 2 * n));
    const cells = all.filter((cell) => cell >= start && cell <= this.#usable - 4);
    const pages = leaf ? [] : [...cells.map((cell) => page.readUInt32BE(cell)), page.readUInt32BE(at + 8)];
    const children = pages.filter((child) => this.#isPage(child) && child !== number);
    const torn = cells.length < count || children.length < pages.length;
    if (torn && (leaf ? cells : children).length === 0) return undefined;
    return { page: number, kind: type === 5 || type === 13 ? 'table' : 'index', leaf, cells, children, torn };
  }

  /** The row of a cell; undefined when it cannot be read. Cells of inner pages of a table have none. */
  row(node: Node, cell: number): Row | undefined {
    try {
      const page = this.page(node.page);
      const size = varint(page, cell + (node.leaf ? 0 : 4));
      const key = node.kind === 'table' ? varint(page, size.next) : { value: 0n, next: size.next };
      const payload = this.#payload(page, key.next, Number(size.value), node.kind);
      const values = payload && valuesOf(payload.bytes, payload.size);
      return values && { rowid: BigInt.asIntN(64, key.value), values };
    } catch {
      return undefined;
    }
  }

  /** Highest row number below a child of an inner page of a table. */
  key({ page }: Node, cell: number): bigint {
    return BigInt.asIntN(64, varint(this.page(page), cell + 4).value);
  }

  /** Pages that hold nothing, as far as their list can be followed. */
  freePages(): Set<number> {
    const free = new Set<number>();
    let trunk = this.hasHeader ? this.page(1).readUInt32BE(32) : 0;
    while (this.#isPage(trunk) && !free.has(trunk)) {
      free.add(trunk);
      const page = this.page(trunk);
      const count = Math.min(page.readUInt32BE(4), this.#usable / 4 - 2);
      for (let n = 0; n < count; n++) free.add(page.readUInt32BE(8 + 4 * n));
      trunk = page.readUInt32BE(0);
    }
    return free;
  }

  /** What the file itself has noted of a page; undefined in a file that keeps no such notes. */
  noteOf(number: number): { kind: 'root' | 'free' | 'overflow' | 'inner'; parent: number } | undefined {
    const perMap = Math.floor(this.#usable / 5) + 1;
    const map = Math.floor((number - 2) / perMap) * perMap + 2;
    if (!this.#hasNotes || map === number || number < 3) return undefined;
    const at = 5 * (number - map - 1);
    const page = this.page(map);
    const kind = ([undefined, 'root', 'free', 'overflow', 'overflow', 'inner'] as const)[page[at]!];
    return kind && { kind, parent: page.readUInt32BE(at + 1) };
  }

  /** With auto-vacuum the second page is a list of notes; it always begins with that of a root. */
  get #hasNotes(): boolean {
    if (this.count < 3) return false;
    if (this.hasHeader) return this.page(1).readUInt32BE(52) > 0;
    return this.page(2)[0] === 1 && this.page(2).readUInt32BE(1) === 0;
  }

  #isPage = (number: number): boolean => number >= 2 && number <= this.count;

  /** The record, up to the first of its overflow pages that is damaged: such a page leads nowhere, or on where it should end. */
  #payload(page: Buffer, at: number, size: number, kind: Node['kind']): { bytes: Buffer; size: number } | undefined {
    const usable = this.#usable;
    if (!(size > 0 && size <= this.count * this.bytes)) return undefined;
    const most = kind === 'table' ? usable - 35 : Math.floor(((usable - 12) * 64) / 255) - 23;
    if (size <= most) return at + size <= usable ? { bytes: page.subarray(at, at + size), size } : undefined;
    const least = Math.floor(((usable - 12) * 32) / 255) - 23;
    const fit = least + ((size - least) % (usable - 4));
    const local = fit <= most ? fit : least;
    if (at + local + 4 > usable) return undefined;
    const parts = [page.subarray(at, at + local)];
    let next = page.readUInt32BE(at + local);
    for (let left = size - local; left > 0 && this.#isPage(next); left -= usable - 4) {
      const overflow = this.page(next);
      next = overflow.readUInt32BE(0);
      if (left > usable - 4 ? !this.#isPage(next) : next !== 0) break;
      parts.push(overflow.subarray(4, 4 + Math.min(left, usable - 4)));
    }
    return { bytes: Buffer.concat(parts), size };
  }

  /** Each frame is proved by the sum of the one before it, so that a damaged one costs itself alone. Answers the pages of the file. */
  #readLog(log: number): number {
    const header = Buffer.alloc(WAL_HEADER_BYTES);
    if (readSync(log, header, 0, WAL_HEADER_BYTES, 0) < WAL_HEADER_BYTES || logPageBytes(log) !== this.bytes) return 0;
    const little = header.readUInt32BE(0) === 0x377f0682;
    const frame = Buffer.alloc(FRAME_HEADER_BYTES + this.bytes);
    let sum = header.subarray(24, 32);
    let uncommitted = new Map<number, number>();
    let pages = 0;
    for (let at = WAL_HEADER_BYTES; readSync(log, frame, 0, frame.length, at) === frame.length; at += frame.length) {
      if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) break;
      const whole = checksum([frame.subarray(0, 8), frame.subarray(FRAME_HEADER_BYTES)], sum, little).equals(frame.subarray(16, 24));
      sum = Buffer.from(frame.subarray(16, 24));
      if (!whole) continue;
      uncommitted.set(frame.readUInt32BE(0), at + FRAME_HEADER_BYTES);
      if (frame.readUInt32BE(4) === 0) continue;
      pages = frame.readUInt32BE(4);
      for (const [page, offset] of uncommitted) this.#logged.set(page, offset);
      uncommitted = new Map();
    }
    return pages;
  }
}

function pageBytes(header: Buffer): number | undefined {
  const bytes = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
  const known = header.toString('latin1', 0, 15) === 'SQLite format 3' && bytes >= 512 && (bytes & (bytes - 1)) === 0;
  return known ? bytes : undefined;
}

function logPageBytes(log: number): number | undefined {
  const header = Buffer.alloc(WAL_HEADER_BYTES);
  readSync(log, header, 0, WAL_HEADER_BYTES, 0);
  return [0x377f0682, 0x377f0683].includes(header.readUInt32BE(0)) ? header.readUInt32BE(8) : undefined;
}

function checksum(parts: readonly Buffer[], seed: Buffer, little: boolean): Buffer {
  let a = seed.readUInt32BE(0);
  let b = seed.readUInt32BE(4);
  for (const part of parts) {
    for (let at = 0; at < part.length; at += 8) {
      a = (a + (little ? part.readUInt32LE(at) : part.readUInt32BE(at)) + b) >>> 0;
      b = (b + (little ? part.readUInt32LE(at + 4) : part.readUInt32BE(at + 4)) + a) >>> 0;
    }
  }
  const sum = Buffer.alloc(8);
  sum.writeUInt32BE(a, 0);
  sum.writeUInt32BE(b, 4);
  return sum;
}

function varint(page: Buffer, at: number): { value: bigint; next: number } {
  if (page[at]! < 0x80) return { value: BigInt(page[at]!), next: at + 1 };
  let value = 0n;
  for (let n = 0; n < 8; n++) {
    const byte = page.readUInt8(at + n);
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return { value, next: at + n + 1 };
  }
  return { value: (value << 8n) | BigInt(page.readUInt8(at + 8)), next: at + 9 };
}

const INTEGER_BYTES = [0, 1, 2, 3, 4, 6, 8];

/** Undefined when the header of the record and its length do not agree. */
function valuesOf(bytes: Buffer, length: number): Value[] | undefined {
  const head = varint(bytes, 0);
  const end = Number(head.value);
  if (end > bytes.length) return undefined;
  const values: Value[] = [];
  let at = end;
  for (let next = head.next; next < end;) {
    const type = varint(bytes, next);
    next = type.next;
    const serial = Number(type.value);
    const size = serial >= 12 ? Math.floor((serial - 12) / 2) : serial === 7 ? 8 : (INTEGER_BYTES[serial] ?? 0);
    if (serial === 10 || serial === 11 || at + size > length) return undefined;
    values.push(at + size > bytes.length ? undefined : valueOf(serial, bytes.subarray(at, at + size)));
    at += size;
  }
  return at === length ? values : undefined;
}

function valueOf(serial: number, bytes: Buffer): Value {
  if (serial === 0) return null;
  if (serial === 7) return bytes.readDoubleBE();
  if (serial === 8 || serial === 9) return BigInt(serial - 8);
  if (serial === 6) return bytes.readBigInt64BE();
  if (serial < 7) return BigInt(bytes.readIntBE(0, bytes.length));
  return serial % 2 === 1 ? bytes.toString('utf8') : Buffer.from(bytes);
}
