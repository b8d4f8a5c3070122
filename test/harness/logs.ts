/** The log of a worker, as records. */
import { existsSync, readFileSync } from 'node:fs';
import { logPath } from '../../state/logs.ts';
import type { Home } from '../../state/home.ts';

export interface LogRecord {
  time: string;
  level: string;
  component: string;
  msg: string;
  [field: string]: unknown;
}

export function readLog(home: Home, name: string): LogRecord[] {
  const path = logPath(home, name);
  if (!existsSync(path)) return [];
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogRecord);
}
