/** The last lines of a log, raw. */
import { readLogs } from '../../../ipc/contracts/http/logs.ts';
import { logPath } from '../../../state/logs.ts';
import { tailLog } from '../logFile.ts';
import { on, type HttpHandler } from '../route.ts';

export function logRoutes(): HttpHandler[] {
  return [
    on(readLogs, async ({ query: { file, lines: count, level, component }, profile }) => {
      const { lines } = await tailLog(logPath(profile, file), count, { level, component });
      return { file, lines };
    }),
  ];
}
