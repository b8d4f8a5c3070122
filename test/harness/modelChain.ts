/** A model of the product against a fake vendor, and its answer in one piece. */
import { chainModel, type ChainParts } from '../../agent/models/chain.ts';
import { kindTable, type EndpointSettings, type ProviderKind } from '../../agent/models/kinds.ts';
import { limits } from '../../base/limits.ts';
import type { Model, ModelChunk, ModelRequest } from '../../agent/ports.ts';

export function settingsFor(
  kind: ProviderKind,
  baseUrl: string,
  more: Partial<EndpointSettings> & { keyNames?: string[] } = {},
): EndpointSettings {
  const { keyNames = ['KEY'], ...rest } = more;
  const keys = keyNames.map((env) => ({ env, value: `value-of-${env}` }));
  return {
    provider: kind,
    kind,
    model: kindTable[kind].model ?? 'tiny-1',
    baseUrl,
    apiKey: keys[0]?.value,
    keyEnv: keys[0]?.env,
    keys,
    headers: {},
    firstByteMs: limits.turn.providerFirstByteMs,
    detected: false,
    ...rest,
  };
}

export const chain = (settings: EndpointSettings, more: Partial<ChainParts> = {}): Promise<Model> =>
  chainModel({ routes: [settings], random: () => 0, ...more });

export const asked = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: 'be brief',
  messages: [{ role: 'user', content: 'hi' }],
  tools: [],
  signal: new AbortController().signal,
  ...more,
});

/** Neighbouring pieces of text become one chunk, so that a table can name what is wanted. */
export async function received(model: Model, more: Partial<ModelRequest> = {}): Promise<{ chunks: ModelChunk[]; error: unknown }> {
  const chunks: ModelChunk[] = [];
  try {
    for await (const chunk of model.stream(asked(more))) {
      const last = chunks.at(-1);
      if ((chunk.type === 'text' || chunk.type === 'reasoning') && last?.type === chunk.type) last.text += chunk.text;
      else chunks.push({ ...chunk });
    }
    return { chunks, error: undefined };
  } catch (error) {
    return { chunks, error };
  }
}

export const textOf = (chunks: readonly ModelChunk[]): string => chunks.map((chunk) => (chunk.type === 'text' ? chunk.text : '')).join('');
export const kindsOf = (chunks: readonly ModelChunk[]): string[] => chunks.map(({ type }) => type);
