/**
 * What is known of a model beside its name: window, price, sight. The configuration first, then the provider's own
 * list, then the built-in table of tokenlens, of which only the vendor's part is loaded, and only when it is asked for.
 */
import type { ProviderKind } from './kinds.ts';

/** US dollars per million tokens. */
export interface Price {
  input: number;
  output: number;
  cacheRead: number | null;
  cacheWrite: number | null;
}

export interface ModelFacts {
  name: string | null;
  contextWindow: number | null;
  maxOutput: number | null;
  price: Price | null;
  /** Undefined = not known. */
  vision: boolean | undefined;
  tools: boolean | undefined;
}

export const noFacts: ModelFacts = {
  name: null,
  contextWindow: null,
  maxOutput: null,
  price: null,
  vision: undefined,
  tools: undefined,
};

/** The first that knows counts, field by field. */
export function mergedFacts(...sources: readonly (Partial<ModelFacts> | undefined)[]): ModelFacts {
  const facts: Record<string, unknown> = { ...noFacts };
  for (const source of sources.toReversed()) {
    for (const [name, value] of Object.entries(source ?? {})) if (value !== null && value !== undefined) facts[name] = value;
  }
  return facts as unknown as ModelFacts;
}

interface Written {
  context_window?: Record<string, number> | undefined;
  prices?: Record<string, { input: number; output: number; cache_read?: number | undefined }> | undefined;
}

/** `providers.<name>.context_window` and `.prices`. */
export function writtenFacts({ context_window, prices }: Written = {}, model: string): Partial<ModelFacts> {
  const price = prices?.[model];
  return {
    contextWindow: context_window?.[model] ?? null,
    price: price ? { input: price.input, output: price.output, cacheRead: price.cache_read ?? null, cacheWrite: null } : null,
  };
}

interface TableModel {
  name?: string;
  attachment?: boolean;
  tool_call?: boolean;
  modalities?: { input?: readonly string[] };
  limit?: { context?: number; output?: number };
  cost?: { input?: number; output?: number; cache_read?: number; cache_write?: number };
}
type Table = Readonly<Record<string, TableModel>>;

async function tableOf(kind: ProviderKind): Promise<Table> {
  switch (kind) {
    case 'openai':
    case 'openai-chat':
      return (await import('tokenlens/providers/openai')).openaiModels.models;
    case 'anthropic':
      return (await import('tokenlens/providers/anthropic')).anthropicModels.models;
    case 'google':
      return (await import('tokenlens/providers/google')).googleModels.models;
    case 'openrouter':
      return (await import('tokenlens/providers/openrouter')).openrouterModels.models;
    default:
      return {};
  }
}

/** From the built-in table: the model by its name, a dated name by its family. */
export async function tableFacts(kind: ProviderKind, model: string): Promise<Partial<ModelFacts>> {
  const table = await tableOf(kind);
  const found = table[model] ?? table[model.replace(/-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$/, '')] ?? dated(table, model);
  if (!found) return { contextWindow: familyWindow(kind, model) };
  const { name, limit, cost, modalities, tool_call } = found;
  const price =
    cost?.input === undefined || cost.output === undefined
      ? null
      : { input: cost.input, output: cost.output, cacheRead: cost.cache_read ?? null, cacheWrite: cost.cache_write ?? null };
  return {
    name: name ?? null,
    contextWindow: limit?.context || familyWindow(kind, model),
    maxOutput: limit?.output || null,
    price,
    vision: modalities?.input?.includes('image'),
    tools: tool_call,
  };
}

/** Windows that every current model of a family has at least: of models younger than the table. */
const familyWindows: readonly { kinds: readonly ProviderKind[]; models: RegExp; tokens: number }[] = [
  { kinds: ['anthropic'], models: /^claude-/, tokens: 200_000 },
  { kinds: ['openai', 'openai-chat'], models: /^gpt-(?:5(?!.*chat)|[6-9])/, tokens: 400_000 },
  { kinds: ['google'], models: /^gemini-(?!1)/, tokens: 1_048_576 },
];

const familyWindow = (kind: ProviderKind, model: string): number | null =>
  familyWindows.find(({ kinds, models }) => kinds.includes(kind) && models.test(model))?.tokens ?? null;

/** `claude-sonnet-4` where the table has `claude-sonnet-4-20250514` alone. */
function dated(table: Table, model: string): TableModel | undefined {
  const name = Object.keys(table).find((key) => key.startsWith(`${model}-`) && /^\d{8}$/.test(key.slice(model.length + 1)));
  return name === undefined ? undefined : table[name];
}

/** Whether a model nobody knows sees images: the vendors' current ones do, others say so in their names. */
export function guessVision(kind: ProviderKind, model: string): boolean {
  const name = model.toLowerCase();
  if (kind === 'anthropic' || kind === 'google') return true;
  if (/^(?:openai\/)?(?:gpt-3|o1-mini|o3-mini|gpt-oss)/.test(name)) return false;
  if (kind === 'openai' || kind === 'openai-chat') return true;
  return /(?:^|[-_/.])(?:vl|vision|llava|pixtral|gpt-[456]|gpt-4o|claude|gemini|gemma-?[34]|qwen[\d.]*-?vl|llama-?4|minicpm-v|moondream|internvl)/.test(
    name,
  );
}
