/** `GET /api/logs?file&lines&level&component`: the last lines of a log, raw (one JSON object each). */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { limits } from '../../../base/limits.ts';
import { levels } from '../../../base/log.ts';
import { DEFAULT_PROFILE, requireProfile } from '../../../state/home.ts';
import { logNames, logPath } from '../../../state/logs.ts';
import type { Dashboard } from '../http.ts';
import { tailLog } from '../logFile.ts';
import { parseRequest } from '../problem.ts';

export const LogQuery = z.looseObject({
  file: z.enum(logNames).default(logNames[0]),
  lines: z.coerce.number().int().min(0).max(limits.dashboard.logLinesMax).default(200),
  level: z.enum(levels).optional(),
  component: z.string().max(100).optional(),
  profile: z.string().optional(),
});

export function addLogRoutes(app: FastifyInstance, { context: { home } }: Dashboard): void {
  app.get('/api/logs', async (request) => {
    const { file, lines: count, level, component, profile = DEFAULT_PROFILE } = parseRequest(LogQuery, request.query);
    const { lines } = await tailLog(logPath(requireProfile(home, profile), file), count, { level, component });
    return { file, lines };
  });
}
