/** Why a program could not be started: the kernel says ENOENT for a missing folder and a missing interpreter, too. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { SlotSpec } from './spec.ts';

export interface MissingFile {
  what: 'program' | 'interpreter' | 'folder';
  path: string;
}

/** Undefined when all of it is there, or it cannot be told. */
export function missingFor({ command: [program], cwd, env }: Pick<SlotSpec, 'command' | 'cwd' | 'env'>): MissingFile | undefined {
  if (!existsSync(cwd)) return { what: 'folder', path: cwd };
  const path = pathOf(program, cwd, env.PATH);
  if (!path) return { what: 'program', path: program };
  const interpreter = interpreterOf(path);
  return interpreter && !existsSync(interpreter) ? { what: 'interpreter', path: interpreter } : undefined;
}

function pathOf(program: string, cwd: string, folders = ''): string | undefined {
  if (isAbsolute(program)) return existsSync(program) ? program : undefined;
  const places = program.includes('/') ? [cwd] : folders.split(delimiter);
  return places.map((folder) => join(folder || '.', program)).find((path) => existsSync(path));
}

/** Of a script: the program after `#!`. */
function interpreterOf(path: string): string | undefined {
  try {
    const fd = openSync(path, 'r');
    try {
      const head = Buffer.alloc(FIRST_LINE_BYTES);
      const bytes = readSync(fd, head, 0, head.length, 0);
      return /^#!\s*(\/\S+)/.exec(head.toString('utf8', 0, bytes))?.[1];
    } finally {
      closeSync(fd);
    }
  } catch {
    return undefined;
  }
}

/** What Linux reads of it. */
const FIRST_LINE_BYTES = 256;
