/** Names and places of the log files (contract §7). */
import { join } from 'node:path';
import { createFileSink, type LogSink } from '../base/log.ts';
import type { ProfilePaths } from './home.ts';

/** Log name → what writes it. The first is the default of `agent logs`. */
export const logNames = ['agent', 'gateway', 'gui', 'cron', 'mcp', 'terminal', 'supervisor', 'desktop', 'errors'] as const;
export type LogName = (typeof logNames)[number];

/** The log of a slot: its own name, except that the dashboard's is `gui`. */
export function logNameOf(slot: string): string {
  const kind = slot.split('@')[0]!;
  return kind === 'dashboard' ? 'gui' : kind;
}

export const logPath = (paths: ProfilePaths, name: string): string => join(paths.logs, `${name}.log`);

export const openLogSink = (paths: ProfilePaths, name: string): LogSink =>
  createFileSink({ file: logPath(paths, name), errorsFile: logPath(paths, 'errors') });
