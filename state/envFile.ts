/** Changing one value of `.env`; every other line stays as it is written. */
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { AgentError, errnoOf } from '../base/errors.ts';
import { writeFileAtomic } from './atomicFile.ts';
import { withFileLock } from './lock.ts';

/** Errors: BAD_REQUEST for what a line cannot hold, DISK_FULL, HOME_UNUSABLE, LOCK_HELD. */
export const setEnvValue = (path: string, name: string, value: string): Promise<void> => change(path, name, lineOf(name, value));

/** Errors: as of setEnvValue. */
export const unsetEnvValue = (path: string, name: string): Promise<void> => change(path, name, undefined);

function change(path: string, name: string, line: string | undefined): Promise<void> {
  return withFileLock(path, () => {
    const own = new RegExp(`^\\s*(?:export\\s+)?${RegExp.escape(name)}\\s*=`);
    const kept = linesOf(path).filter((one) => !own.test(one));
    const lines = line === undefined ? kept : [...kept, line];
    writeFileAtomic(path, lines.length === 0 ? '' : `${lines.join('\n')}\n`);
  });
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8')
      .replace(/\n+$/, '')
      .split('\n')
      .filter((line, _n, all) => all.length > 1 || line !== '');
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw thrown;
  }
}

function lineOf(name: string, value: string): string {
  const written = ["'", '"', '`', ''].map((quote) => `${name}=${quote}${value}${quote}`).find((line) => parseEnv(line)[name] === value);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || /[\r\n\0]/.test(value) || written === undefined) {
    throw new AgentError('BAD_REQUEST', `${name} cannot be written into a line of .env`, {
      field: name,
      fix: 'use one line, without all three kinds of quotes',
    });
  }
  return written;
}
