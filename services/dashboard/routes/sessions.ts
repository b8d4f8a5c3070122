/** Sessions and their messages: asked of the agent worker of the profile, which owns them. */
import { listMessages, listSessions } from '../../../ipc/contracts/http/sessions.ts';
import { sessionHistory, sessionList } from '../../../ipc/contracts/rpc.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function sessionRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(listSessions, async ({ query: { limit, offset }, profile, signal }) => {
      const { sessions, total } = await agentOf(profile).call(sessionList, { limit: Math.min(500, offset + limit) }, { signal });
      return { sessions: sessions.slice(offset, offset + limit), total, limit, offset };
    }),
    on(listMessages, async ({ params: { id }, query: { limit }, profile, signal }) => {
      const { session_id, messages } = await agentOf(profile).call(sessionHistory, { session_id: id, limit }, { signal });
      return { session_id, messages, pagination: { limit, offset: 0, order: 'latest' as const, returned: messages.length } };
    }),
  ];
}
