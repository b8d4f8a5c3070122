/** Anthropic messages. Four cache marks are allowed: the system prompt and the last three messages carry them. */
import { createAnthropic } from '@ai-sdk/anthropic';
import type { Adapter } from '../endpoint.ts';

const EVENTS: ReadonlySet<unknown> = new Set(['message_start', 'content_block_stop', 'message_delta', 'message_stop', 'ping', 'error']);
const BLOCKS: ReadonlySet<unknown> = new Set(['text', 'thinking', 'redacted_thinking', 'tool_use']);
const DELTAS: ReadonlySet<unknown> = new Set(['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta', 'citations_delta']);

export const anthropicAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createAnthropic({
      baseURL: settings.baseUrl,
      headers: settings.headers,
      fetch,
      ...(settings.signedIn ? { authToken: apiKey ?? '' } : { apiKey: apiKey ?? '' }),
    })(settings.model),
  options: () => ({}),
  knowsEvent: (event) => {
    const {
      type,
      delta,
      content_block: block,
    } = event as { type?: unknown; delta?: { type?: unknown }; content_block?: { type?: unknown } };
    if (type === 'content_block_delta') return DELTAS.has(delta?.type);
    if (type === 'content_block_start') return BLOCKS.has(block?.type);
    return EVENTS.has(type);
  },
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
};
