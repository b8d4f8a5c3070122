/** `session_search`: what was said in earlier conversations, by words, or what stands around one place. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import type { SearchHit, SessionSearch } from '../ports.ts';
import { cutMiddle } from './outputCap.ts';
import { defineTool, type Tool } from './registry.ts';

const LIMIT_DEFAULT = 10;
const LIMIT_MAX = 30;
const RADIUS_DEFAULT = 5;
const RADIUS_MAX = 20;
/** Of one message around a place: a whole file in it is not what is looked for. */
const MESSAGE_MAX_CHARS = 2_000;

const Args = z.object({
  query: z.string().min(1).max(500).optional().describe('Words that must all occur; parts of words and "exact phrases" too.'),
  limit: z.number().int().min(1).max(LIMIT_MAX).optional().describe(`Most hits to return (default ${LIMIT_DEFAULT}).`),
  around_message: z.number().int().optional().describe('Instead of a query: the id of a message from an earlier hit.'),
  radius: z.number().int().min(1).max(RADIUS_MAX).optional().describe(`Messages before and after it (default ${RADIUS_DEFAULT}).`),
});

/** `sessionId`: the running session, which is left out: the model has it before it. `scope`: only conversations of that key. */
export function sessionSearchTool(search: SessionSearch, sessionId: string, scope?: string): Tool {
  return {
    ...defineTool({
      name: 'session_search',
      toolset: 'session_search',
      description: 'Searches earlier conversations with the user, newest first, or shows the messages around one that was found.',
      args: Args,
      async run({ query, limit = LIMIT_DEFAULT, around_message, radius = RADIUS_DEFAULT }) {
        if (around_message !== undefined) return around(search, around_message, { radius, scope });
        if (query === undefined) throw new AgentError('BAD_REQUEST', 'session_search needs query or around_message');
        const hits = await search.search(query, { limit, excludeSession: sessionId, scope });
        const text = hits.length ? hits.map(line).join('\n') : `Nothing found for ${JSON.stringify(query)}. Try fewer or shorter words.`;
        return { text, data: { hits }, isError: false };
      },
    }),
    readsOnly: true,
  };
}

function around(
  search: SessionSearch,
  messageId: number,
  options: Parameters<SessionSearch['around']>[1],
): { text: string; data: unknown; isError: boolean } {
  const messages = search.around(messageId, options);
  if (messages.length === 0) throw new AgentError('NOT_FOUND', `there is no message ${messageId}`, { fix: 'take message_id from a hit' });
  const text = messages.map(({ role, text: said, at }) => `[${at}] ${role}: ${cutMiddle(said, MESSAGE_MAX_CHARS)}`).join('\n');
  return { text, data: { messages: messages.length }, isError: false };
}

const line = ({ title, messageId, role, snippet, at, sessionId }: SearchHit): string =>
  `message ${messageId} · ${at} · ${title ?? sessionId} · ${role}: ${snippet}`;
