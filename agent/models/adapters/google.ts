/** Google Gemini, the generateContent stream. It caches by itself. */
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { Adapter } from '../endpoint.ts';

export const googleAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createGoogleGenerativeAI({ baseURL: settings.baseUrl, apiKey: apiKey ?? '', headers: settings.headers, fetch })(settings.model),
  // Without it the thoughts come as nothing at all, and a long one looks like a dead line.
  options: ({ effort }) => (effort && effort !== 'none' ? { google: { thinkingConfig: { includeThoughts: true } } } : {}),
};
