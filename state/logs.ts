/** Names and places of the log files (contract §7). */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { logNames } from '../base/closedWords.ts';
import { limits } from '../base/limits.ts';
import { createFileSink, type LogSink } from '../base/log.ts';
import type { LogFileOptions } from '../base/logFile.ts';
import type { Config } from './config/schema.ts';
import type { ProfilePaths } from './home.ts';

/** The log of a slot: its own name, except that the dashboard's is `gui`. */
export function logNameOf(slot: string): string {
  const kind = slot.split('@')[0]!;
  return kind === 'dashboard' ? 'gui' : kind;
}

export const logPath = (paths: ProfilePaths, name: string): string => join(paths.logs, `${name}.log`);

/** The logs of the service, then the others that lie there: of programs in `services:`. */
export function logFilesOf(paths: ProfilePaths): string[] {
  const found = existsSync(paths.logs) ? readdirSync(paths.logs) : [];
  const others = found.flatMap((file) => /^([a-z0-9][a-z0-9_-]{0,63})\.log$/.exec(file)?.[1] ?? []);
  return [...new Set<string>([...logNames, ...others.toSorted()])];
}

const MB = 1_000_000;

/** How large a log gets and how many old files it keeps, as config.yaml says (contract §7: 5 MB, three files). */
export function logSizes(logging: Config['logging']): Pick<LogFileOptions, 'maxBytes' | 'keep'> {
  const { max_size_mb: maxMb, backup_count: keep = limits.logs.filesMax - 1 } = logging ?? {};
  return { maxBytes: maxMb === undefined ? limits.logs.fileMaxBytes : maxMb * MB, keep };
}

/** What `logs/` and `crash/` of a profile may take together. */
export const logBudgetBytes = (logging: Config['logging']): number =>
  logging?.budget_mb === undefined ? limits.logs.budgetBytes : logging.budget_mb * MB;

export const openLogSink = (paths: ProfilePaths, name: string, logging?: Config['logging']): LogSink =>
  createFileSink({ file: logPath(paths, name), errorsFile: logPath(paths, 'errors'), sizes: logSizes(logging) });
