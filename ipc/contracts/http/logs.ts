/** Logs over HTTP (reference/clients §1.4). */
import { z } from 'zod';
import { levels, logNames } from '../../../base/closedWords.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';

/** Also the query of the WebSocket `/api/logs/follow`. */
export const LogQuery = z.looseObject({
  file: z.enum(logNames).default(logNames[0]),
  lines: z.coerce.number().int().min(0).max(limits.dashboard.logLinesMax).default(200),
  /** This severe or worse. */
  level: z.enum(levels).optional(),
  component: z.string().max(100).optional(),
  profile: z.string().optional(),
});

export const readLogs = httpRoute('GET /api/logs', {
  tag: 'Logs',
  summary: 'The last lines of a log, oldest first, raw: one JSON object each, or the words of a foreign program.',
  profile: true,
  query: LogQuery,
  result: z.object({ file: z.enum(logNames), lines: z.array(z.string()) }),
});
