/** Whatever speaks the OpenAI chat stream: aggregators, servers on this machine, a gateway in a company. */
import { chatModel } from '../chat/chatModel.ts';
import type { Adapter } from '../endpoint.ts';

/** One name for all of them: it is the key of their options, and a name from the configuration need not be one. */
const OPTIONS = 'endpoint';

export const compatibleAdapter: Adapter = {
  languageModel: (connection) => chatModel(OPTIONS, connection),
  options: ({ effort }, { kind }) => {
    // The aggregator has an object of its own for it, the same for all makers behind it.
    if (kind === 'openrouter' && effort) return { [OPTIONS]: { reasoning: effort === 'none' ? { enabled: false } : { effort } } };
    return effort ? { [OPTIONS]: { reasoningEffort: effort } } : {};
  },
};
