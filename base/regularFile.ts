/**
 * Reads a file that has to be a regular one. A named pipe or a device of that name would block the reader for ever, or
 * never end; so the type is checked before the file is opened and after.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync, statSync, type Stats } from 'node:fs';
import { errnoOf, messageOf } from './errors.ts';

/** Errors: as `readFileSync`, and ENOTREG for what is neither a regular file nor a link to one (EISDIR for a directory). */
export function readRegularFile(path: string): Buffer {
  refuseOther(path, statSync(path));
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    refuseOther(path, fstatSync(fd));
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

export const readRegularText = (path: string): string => readRegularFile(path).toString('utf8');

/** Why a file could not be read, in a few words. */
export const unreadableWhy = (thrown: unknown): string =>
  errnoOf(thrown) === 'ENOTREG' ? 'not a regular file' : (errnoOf(thrown) ?? messageOf(thrown));

function refuseOther(path: string, stat: Stats): void {
  if (stat.isFile()) return;
  const [code, kind] = stat.isDirectory()
    ? ['EISDIR', 'a directory']
    : ['ENOTREG', stat.isFIFO() ? 'a named pipe' : stat.isSocket() ? 'a socket' : 'a device'];
  throw Object.assign(new Error(`${code}: ${path} is ${kind}, not a regular file`), { code });
}
