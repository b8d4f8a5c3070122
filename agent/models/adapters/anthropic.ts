/** Anthropic messages. Four cache marks are allowed: the system prompt and the last three messages carry them. */
import { createAnthropic } from '@ai-sdk/anthropic';
import type { Adapter } from '../endpoint.ts';

export const anthropicAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createAnthropic({
      baseURL: settings.baseUrl,
      headers: settings.headers,
      fetch,
      ...(settings.signedIn ? { authToken: apiKey ?? '' } : { apiKey: apiKey ?? '' }),
    })(settings.model),
  options: () => ({}),
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
};
