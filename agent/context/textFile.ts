/**
 * Reading a text file that somebody else wrote. Whatever stands at the path (a FIFO, a device, a
 * directory, a circle of links, a gigabyte, a picture) costs no more than a look and never throws.
 */
import { closeSync, readSync } from 'node:fs';
import { errnoOf } from '../../base/errors.ts';
import { kindWords, openPlainFile, type PlainFile } from '../../base/regularFile.ts';

export type TextFile =
  | { kind: 'text'; text: string; sizeBytes: number; mtimeMs: number }
  | { kind: 'missing' }
  /** `why` continues "it cannot be used: …". */
  | { kind: 'unusable'; why: string };

const unusable = (why: string): TextFile => ({ kind: 'unusable', why });

export function readTextFile(path: string, maxBytes: number): TextFile {
  let file: PlainFile;
  try {
    file = openPlainFile(path);
  } catch (thrown) {
    return failed(errnoOf(thrown));
  }
  if (file.kind !== 'file') return unusable(`it is ${kindWords[file.kind]}`);
  const { fd, stat } = file;
  try {
    if (stat.size > maxBytes) return unusable(`it has ${stat.size} bytes, more than ${maxBytes}`);
    const bytes = readAll(fd, stat.size);
    if (bytes.includes(0)) return unusable('it is binary');
    return { kind: 'text', text: decode(bytes), sizeBytes: stat.size, mtimeMs: stat.mtimeMs };
  } catch (thrown) {
    return thrown instanceof TypeError ? unusable('it is not UTF-8 text') : failed(errnoOf(thrown));
  } finally {
    closeSync(fd);
  }
}

function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let length = 0;
  while (length < size) {
    const got = readSync(fd, bytes, length, size - length, length);
    if (got === 0) break;
    length += got;
  }
  return bytes.subarray(0, length);
}

/** Throws TypeError for what is no UTF-8; a byte order mark at the beginning is dropped, as editors do. */
const decode = (bytes: Buffer): string => new TextDecoder('utf-8', { fatal: true }).decode(bytes);

function failed(errno: string | undefined): TextFile {
  if (errno === 'ENOENT' || errno === 'ENOTDIR') return { kind: 'missing' };
  if (errno === 'ELOOP') return unusable('its links lead in a circle');
  if (errno === 'EACCES' || errno === 'EPERM') return unusable('this user may not read it');
  return unusable(`it cannot be read (${errno ?? 'error'})`);
}
