/** Logs over HTTP (reference/clients §1.4). */
import { z } from '../../../base/lazyZod.ts';
import { levels, logNames } from '../../../base/closedWords.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';

/** Also the query of the WebSocket `/api/logs/follow`. */
export const LogQuery = z.looseObject({
  /** One of the service, or that of a program of the user's. */
  file: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a log is named with small letters, digits, - and _')
    .default(logNames[0]),
  lines: z.coerce.number().int().min(0).max(limits.dashboard.logLinesMax).default(200),
  /** This severe or worse. */
  level: z.enum(levels).optional(),
  component: z.string().max(100).optional(),
  /** Somewhere in the line, whatever its case. */
  text: z.string().max(200).optional(),
  profile: z.string().optional(),
});

export const readLogs = httpRoute('GET /api/logs', {
  tag: 'Logs',
  summary: 'The last lines of a log, oldest first, raw: one JSON object each, or the words of a foreign program.',
  profile: true,
  query: LogQuery,
  result: z.object({ file: z.string(), lines: z.array(z.string()) }),
  errors: ['NOT_FOUND'],
});

export const listLogs = httpRoute('GET /api/logs/files', {
  tag: 'Logs',
  summary: 'The logs there are: those of the service, and one for each program of the user.',
  profile: true,
  result: z.object({ files: z.array(z.object({ name: z.string(), size: z.number(), modified_at: z.string().nullable() })) }),
});
