/**
 * The first page of a SQLite file, made again when it was written over: its header says little that is not
 * known, and the table of tables, whose root it is, has its rows on other pages, where they can be found.
 * File format: https://www.sqlite.org/fileformat2.html.
 */
import { closeSync, openSync, readSync, statSync, writeSync } from 'node:fs';

/** Page size of our stores. */
const PAGE = 4_096;
const HEADER = 100;
const INTERIOR = 0x05;
const LEAF = 0x0d;

/** Changes the file in place: give it a copy. False when there is nothing to be made of it. */
export function restoreFirstPage(path: string): boolean {
  const pages = Math.floor(statSync(path).size / PAGE);
  if (pages < 2) return false;
  const file = openSync(path, 'r+');
  try {
    const first = readPage(file, 1);
    const page = [INTERIOR, LEAF].includes(first[HEADER]!) ? first : schemaRoot(file, pages);
    if (!page) return false;
    header(pages).copy(page);
    writeSync(file, page, 0, PAGE, 0);
    return true;
  } finally {
    closeSync(file);
  }
}

/** Magic, page size, WAL, schema format 4, UTF-8, incremental vacuum as in all files of ours. */
function header(pages: number): Buffer {
  const header = Buffer.alloc(HEADER);
  header.write('SQLite format 3\0', 0, 'latin1');
  header.writeUInt16BE(PAGE, 16);
  header.set([2, 2, 0, 64, 32, 32], 18);
  header.writeUInt32BE(1, 24);
  header.writeUInt32BE(pages, 28);
  header.writeUInt32BE(1, 40);
  header.writeUInt32BE(4, 44);
  header.writeUInt32BE(1, 52);
  header.writeUInt32BE(1, 56);
  header.writeUInt32BE(1, 64);
  header.writeUInt32BE(1, 92);
  return header;
}

function readPage(file: number, number: number): Buffer {
  const page = Buffer.alloc(PAGE);
  readSync(file, page, 0, PAGE, (number - 1) * PAGE);
  return page;
}

/** A root above the pages that hold rows of the table of tables; undefined when there are none, or too many. */
function schemaRoot(file: number, pages: number): Buffer | undefined {
  const leaves: { number: number; last: number }[] = [];
  for (let number = 2; number <= pages; number++) {
    const last = lastSchemaRow(readPage(file, number));
    if (last !== undefined) leaves.push({ number, last });
  }
  leaves.sort((a, b) => a.last - b.last);
  // 12 bytes a child at most: far more than a schema of ours has.
  if (leaves.length === 0 || leaves.length > 200) return undefined;
  const root = Buffer.alloc(PAGE);
  const children = leaves.slice(0, -1);
  let at = PAGE;
  for (const [index, { number, last }] of children.entries()) {
    const key = varint(last);
    at -= 4 + key.length;
    root.writeUInt32BE(number, at);
    key.copy(root, at + 4);
    root.writeUInt16BE(at, HEADER + 12 + 2 * index);
  }
  root[HEADER] = INTERIOR;
  root.writeUInt16BE(children.length, HEADER + 3);
  root.writeUInt16BE(at, HEADER + 5);
  root.writeUInt32BE(leaves.at(-1)!.number, HEADER + 8);
  return root;
}

/** Highest row number of a page that holds nothing but rows of the table of tables; undefined for any other page. */
function lastSchemaRow(page: Buffer): number | undefined {
  if (page[0] !== LEAF) return undefined;
  const cells = page.readUInt16BE(3);
  if (cells === 0 || 8 + 2 * cells > PAGE) return undefined;
  let last = 0;
  for (let index = 0; index < cells; index++) {
    const row = schemaRow(page, page.readUInt16BE(8 + 2 * index));
    if (row === undefined) return undefined;
    last = Math.max(last, row);
  }
  return last;
}

const KINDS = new Set(['table', 'index', 'trigger', 'view']);

/** Its number, when the cell is a record of five fields that begins with a kind of thing. */
function schemaRow(page: Buffer, at: number): number | undefined {
  if (at < 8 || at > PAGE - 8) return undefined;
  const payload = readVarint(page, at);
  const row = readVarint(page, payload.next);
  const headerSize = readVarint(page, row.next);
  const types: number[] = [];
  let next = headerSize.next;
  while (next < row.next + headerSize.value && types.length < 6 && next < PAGE) {
    const type = readVarint(page, next);
    types.push(type.value);
    next = type.next;
  }
  if (types.length !== 5 || types[0]! < 13 || types[0]! % 2 !== 1) return undefined;
  const start = row.next + headerSize.value;
  return KINDS.has(page.toString('utf8', start, start + (types[0]! - 13) / 2)) ? row.value : undefined;
}

function readVarint(page: Buffer, at: number): { value: number; next: number } {
  let value = 0;
  for (let next = at; next < at + 9 && next < PAGE; next++) {
    const byte = page[next]!;
    value = value * 128 + (byte & 0x7f);
    if (byte < 0x80) return { value, next: next + 1 };
  }
  return { value: 0, next: PAGE };
}

function varint(value: number): Buffer {
  const bytes = [value & 0x7f];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift((rest & 0x7f) | 0x80);
  return Buffer.from(bytes);
}
