/** The family of a model, by its name: the fixed labels under which families are counted and shown. */

const FAMILIES = [
  'claude',
  'deepseek',
  'gemini',
  'gemma',
  'glm',
  'gpt',
  'grok',
  'kimi',
  'llama',
  'minimax',
  'mimo',
  'mistral',
  'nemotron',
  'nova',
  'o1',
  'o3',
  'o4',
  'qwen',
  'step',
  'trinity',
] as const;
export type ModelFamily = (typeof FAMILIES)[number] | 'unknown';

/** The part after an aggregator's slash decides; a label counts where a word begins, so that `nova` is not found in `innovate`. */
export function modelFamily(model: string): ModelFamily {
  const name = model.toLowerCase().split('/').at(-1)!;
  const found = FAMILIES.map((family) => ({ family, at: name.search(new RegExp(`(?<![a-z0-9])${family}(?![a-z])`)) }));
  const first = found.filter(({ at }) => at >= 0).toSorted((a, b) => a.at - b.at)[0];
  return first?.family ?? 'unknown';
}
