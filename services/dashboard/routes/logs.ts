/** The logs there are, and the last lines of one, raw. */
import { statSync } from 'node:fs';
import { AgentError } from '../../../base/errors.ts';
import { isoTime } from '../../../base/time.ts';
import { listLogs, readLogs } from '../../../ipc/contracts/http/logs.ts';
import type { ProfilePaths } from '../../../state/home.ts';
import { rotatedFiles } from '../../../state/logFiles.ts';
import { logFilesOf, logPath } from '../../../state/logs.ts';
import { tailLog } from '../logFile.ts';
import { on, type HttpHandler } from '../route.ts';

export function logRoutes(): HttpHandler[] {
  return [
    on(readLogs, async ({ query: { file, lines: count, level, component, text }, profile }) => {
      const { lines } = await tailLog(requireLog(profile, file), count, { level, component, text });
      return { file, lines };
    }),
    on(listLogs, ({ profile }) => ({ files: logFilesOf(profile).map((name) => sizeOf(profile, name)) })),
  ];
}

/** Errors: NOT_FOUND for a name that is neither ours nor a file. */
export function requireLog(profile: ProfilePaths, name: string): string {
  const known = logFilesOf(profile);
  if (known.includes(name)) return logPath(profile, name);
  throw new AgentError('NOT_FOUND', `there is no log "${name}"`, { fix: `logs: ${known.join(', ')}` });
}

function sizeOf(profile: ProfilePaths, name: string): { name: string; size: number; modified_at: string | null } {
  const stats = rotatedFiles(logPath(profile, name)).map((path) => statSync(path, { throwIfNoEntry: false }));
  const newest = stats[0];
  return {
    name,
    size: stats.reduce((sum, stat) => sum + (stat?.size ?? 0), 0),
    modified_at: newest ? isoTime(Math.round(newest.mtimeMs)) : null,
  };
}
