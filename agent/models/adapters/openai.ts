/** OpenAI: the responses API (`openai`), and the older chat API (`openai-chat`). Nothing is stored at their side. */
import { createOpenAI } from '@ai-sdk/openai';
import type { Adapter, Asked, Connection } from '../endpoint.ts';

const provider = ({ settings, apiKey, fetch }: Connection) =>
  createOpenAI({ baseURL: settings.baseUrl, apiKey: apiKey ?? '', headers: settings.headers, fetch });

const common = ({ fast, cacheKey }: Asked) => ({
  ...(fast ? { serviceTier: 'priority' as const } : {}),
  ...(cacheKey ? { promptCacheKey: cacheKey } : {}),
});

export const responsesAdapter: Adapter = {
  languageModel: (connection) => provider(connection).responses(connection.settings.model),
  options: (asked) => ({
    openai: { ...common(asked), store: false, ...(asked.effort && asked.effort !== 'none' ? { reasoningSummary: 'auto' } : {}) },
  }),
};

export const chatAdapter: Adapter = {
  languageModel: (connection) => provider(connection).chat(connection.settings.model),
  options: (asked) => ({ openai: common(asked) }),
};
