/** Google Gemini, the generateContent stream. It caches by itself. */
import { createGoogleGenerativeAI } from '@ai-sdk/google';
import type { Adapter } from '../endpoint.ts';

/** The package always sends a key; with a sign-in there is none to send. */
const withoutKey =
  (send: typeof fetch): typeof fetch =>
  (address, init) => {
    const headers = new Headers(init?.headers);
    headers.delete('x-goog-api-key');
    return send(address, { ...init, headers });
  };

export const googleAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createGoogleGenerativeAI({
      baseURL: settings.baseUrl,
      apiKey: settings.signedIn ? '' : (apiKey ?? ''),
      headers: { ...settings.headers, ...(settings.signedIn ? { authorization: `Bearer ${apiKey}` } : {}) },
      fetch: settings.signedIn ? withoutKey(fetch) : fetch,
    })(settings.model),
  // Without it the thoughts come as nothing at all, and a long one looks like a dead line.
  options: ({ effort }) => (effort && effort !== 'none' ? { google: { thinkingConfig: { includeThoughts: true } } } : {}),
};
