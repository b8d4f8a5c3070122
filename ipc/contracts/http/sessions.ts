/** Sessions and their messages over HTTP (reference/clients §1.4). They are the agent worker's of that profile. */
import { z } from 'zod';
import { httpRoute } from '../../httpRoute.ts';
import { Message, SessionRow } from '../rpcRecords.ts';

const Count = (max: number) => z.coerce.number().int().min(1).max(max);
const Id = z.object({ id: z.string().min(1).max(200) });

export const listSessions = httpRoute('GET /api/sessions', {
  tag: 'Sessions',
  summary: 'Sessions, the most recently used first.',
  profile: true,
  query: z.looseObject({ limit: Count(500).default(50), offset: z.coerce.number().int().min(0).max(499).default(0) }),
  result: z.object({ sessions: z.array(SessionRow), total: z.number(), limit: z.number(), offset: z.number() }),
});

export const listMessages = httpRoute('GET /api/sessions/:id/messages', {
  tag: 'Sessions',
  summary: 'The last messages of a session, oldest first.',
  profile: true,
  params: Id,
  query: z.looseObject({ limit: Count(10_000).default(500) }),
  result: z.object({
    session_id: z.string(),
    messages: z.array(Message),
    pagination: z.object({ limit: z.number(), offset: z.number(), order: z.enum(['latest', 'oldest']), returned: z.number() }),
  }),
  errors: ['UNKNOWN_SESSION'],
});
