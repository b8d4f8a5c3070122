/** How many tokens messages take, estimated: the provider's own count stands over this wherever there is one. */
import { limits } from '../../base/limits.ts';
import { textTokens } from '../context/estimate.ts';
import type { ModelMessage } from '../ports.ts';

/** Kept beside each message: a long conversation is measured at the start of every turn. */
const known = new WeakMap<ModelMessage, number>();

export function estimateTokens(messages: readonly ModelMessage[]): number {
  let sum = 0;
  for (const message of messages) sum += messageTokens(message);
  return sum;
}

export function messageTokens(message: ModelMessage): number {
  let tokens = known.get(message);
  if (tokens === undefined) known.set(message, (tokens = measure(message)));
  return tokens;
}

function measure(message: ModelMessage): number {
  const { messageOverheadTokens, imageTokens } = limits.compress;
  const calls = message.role === 'assistant' && message.toolCalls.length > 0 ? textTokens(JSON.stringify(message.toolCalls)) : 0;
  const images = message.role === 'user' ? (message.files ?? []).filter(({ kind }) => kind === 'image').length : 0;
  return textTokens(message.content) + calls + images * imageTokens + messageOverheadTokens;
}
