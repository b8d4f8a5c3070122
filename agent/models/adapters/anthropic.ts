/** Anthropic messages. Four cache marks are allowed: the system prompt and the last three messages carry them. */
import { createAnthropic } from '@ai-sdk/anthropic';
import type { Adapter } from '../endpoint.ts';

export const anthropicAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createAnthropic({ baseURL: settings.baseUrl, apiKey: apiKey ?? '', headers: settings.headers, fetch })(settings.model),
  options: () => ({}),
  cacheMark: { anthropic: { cacheControl: { type: 'ephemeral' } } },
};
