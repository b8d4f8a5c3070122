/**
 * Hands variables to a program without placing them in its environment block, which every process of the same user can
 * read in `/proc/<pid>/environ` for as long as the program runs. The values travel in a file without a name, which
 * becomes its standard input. The program reads it once, empties it, and has the variables in `process.env`.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hexId } from './ids.ts';

/** Says that standard input holds variables. */
const SEALED_VARIABLE = 'AGENT_SEALED_VARIABLES';
export const sealedMark: Readonly<Record<string, string>> = { [SEALED_VARIABLE]: '1' };

/** A descriptor for the standard input of a program that is started with `sealedMark`; the caller closes it. Errors: those of the system. */
export function sealVariables(variables: Readonly<Record<string, string>>): number {
  const fd = namelessFile();
  try {
    // At a position: the offset, which the reader shares, stays at the beginning.
    const bytes = Buffer.from(JSON.stringify(variables));
    for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at, bytes.length - at, at);
    return fd;
  } catch (thrown) {
    closeSync(fd);
    throw thrown;
  }
}

/** Places what was sealed for this process in `env`; false when nothing was. A value that `env` has already stays. */
export function unsealVariables(env: NodeJS.ProcessEnv = process.env): boolean {
  const isMarked = env[SEALED_VARIABLE] !== undefined;
  delete env[SEALED_VARIABLE];
  if (!isMarked || !isSealedFile(0)) return false;
  const sealed = JSON.parse(readFileSync(0, 'utf8')) as Record<string, string>;
  // An init above this process holds the same file open.
  ftruncateSync(0);
  closeSync(0);
  openSync('/dev/null', 'r');
  for (const [name, value] of Object.entries(sealed)) env[name] ??= value;
  return true;
}

/** Whatever else standard input is, such as a file of the user's, is not touched. */
function isSealedFile(fd: number): boolean {
  const stat = fstatSync(fd);
  return stat.isFile() && stat.nlink === 0;
}

/** In memory where the system has `/dev/shm`. */
function namelessFile(): number {
  for (const dir of ['/dev/shm', tmpdir()]) {
    try {
      return openSync(dir, O_TMPFILE | constants.O_RDWR, 0o600);
    } catch {
      // this folder or its file system has none
    }
  }
  const path = join(tmpdir(), `agent-${hexId(16)}`);
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  unlinkSync(path);
  return fd;
}

/** open(2) of Linux; Node does not name it. Elsewhere it is refused. */
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
