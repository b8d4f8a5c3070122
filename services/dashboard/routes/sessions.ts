/** Sessions and their messages over HTTP: asked of the agent worker of the profile, which owns them. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { sessionHistory, sessionList } from '../../../ipc/contracts/rpc.ts';
import type { Client } from '../../../ipc/client.ts';
import { DEFAULT_PROFILE, requireProfile } from '../../../state/home.ts';
import type { Dashboard } from '../http.ts';
import { parseRequest } from '../problem.ts';

const Count = (max: number) => z.coerce.number().int().min(1).max(max);
const List = z.looseObject({
  limit: Count(500).default(50),
  offset: z.coerce.number().int().min(0).max(499).default(0),
  profile: z.string().optional(),
});
const Messages = z.looseObject({ limit: Count(10_000).default(500), profile: z.string().optional() });
const Params = z.object({ id: z.string().min(1).max(200) });

export function addSessionRoutes(app: FastifyInstance, { context }: Dashboard): void {
  /** Errors: UNKNOWN_PROFILE. */
  const agentOf = (profile: string = DEFAULT_PROFILE): Client => {
    requireProfile(context.home, profile);
    return context.peer(profile === DEFAULT_PROFILE ? 'agent' : `agent@${profile}`);
  };

  app.get('/api/sessions', async (request) => {
    const { limit, offset, profile } = parseRequest(List, request.query);
    const { sessions, total } = await agentOf(profile).call(
      sessionList,
      { limit: Math.min(500, offset + limit) },
      { signal: request.signal },
    );
    return { sessions: sessions.slice(offset, offset + limit), total, limit, offset };
  });

  app.get('/api/sessions/:id/messages', async (request) => {
    const { id } = parseRequest(Params, request.params);
    const { limit, profile } = parseRequest(Messages, request.query);
    const { session_id, messages } = await agentOf(profile).call(sessionHistory, { session_id: id, limit }, { signal: request.signal });
    return { session_id, messages, pagination: { limit, offset: 0, order: 'latest', returned: messages.length } };
  });
}
