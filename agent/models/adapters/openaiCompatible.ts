/** Whatever speaks the OpenAI chat stream: aggregators, servers on this machine, a gateway in a company. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Adapter } from '../endpoint.ts';

/** One name for all of them: it is the key of their options, and a name from the configuration need not be one. */
const OPTIONS = 'endpoint';

export const compatibleAdapter: Adapter = {
  languageModel: ({ settings, apiKey, fetch }) =>
    createOpenAICompatible({
      name: OPTIONS,
      baseURL: settings.baseUrl,
      includeUsage: true,
      headers: settings.headers,
      fetch,
      ...(apiKey ? { apiKey } : {}),
    })(settings.model),
  options: ({ effort }, { kind }) => {
    // The aggregator has an object of its own for it, the same for all makers behind it.
    if (kind === 'openrouter' && effort) return { [OPTIONS]: { reasoning: effort === 'none' ? { enabled: false } : { effort } } };
    return effort ? { [OPTIONS]: { reasoningEffort: effort } } : {};
  },
};
