/**
 * Reasoning levels: what each model has, and which one is sent for the one asked for. A table of families, so that a
 * status bar can show the level without loading a provider's package; the packages map levels to effort or budget.
 */
import { AgentError } from '../../base/errors.ts';
import type { ProviderKind } from './kinds.ts';

/** Contract §11, from least to most. */
export const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type ReasoningLevel = (typeof reasoningLevels)[number];

const ALL: readonly ReasoningLevel[] = reasoningLevels;
const NONE: readonly ReasoningLevel[] = [];
/** What the chat APIs of local servers and aggregators have in common. */
const COMMON: readonly ReasoningLevel[] = ['none', 'low', 'medium', 'high'];

interface Family {
  models: RegExp;
  levels: readonly ReasoningLevel[];
}

/** First match counts. Sources: the vendors' model pages, as carried by the catalogues of the provider packages. */
const openaiFamilies: readonly Family[] = [
  { models: /^(?:gpt-3|gpt-4|chatgpt|gpt-5(?:\.\d+)?-chat)/, levels: NONE },
  { models: /^o\d/, levels: ['low', 'medium', 'high'] },
  { models: /^gpt-5-pro/, levels: ['high'] },
  { models: /^gpt-5\.\d+-pro/, levels: ['medium', 'high', 'xhigh'] },
  { models: /^gpt-5(?:-mini|-nano|-codex)?(?:-\d{4}|$)/, levels: ['minimal', 'low', 'medium', 'high'] },
  { models: /^gpt-5\.1/, levels: COMMON },
  { models: /^gpt-5/, levels: ['none', 'low', 'medium', 'high', 'xhigh'] },
  { models: /^gpt-oss/, levels: ['low', 'medium', 'high'] },
  { models: /^gpt-/, levels: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
];
const anthropicFamilies: readonly Family[] = [
  { models: /^claude-(?:instant|v?2|3-5|3-haiku|3-opus|3-sonnet)/, levels: NONE },
  { models: /^claude-(?:opus|sonnet)-4-6/, levels: ['none', 'low', 'medium', 'high', 'max'] },
  { models: /^claude-(?:3|opus-4-[015]|sonnet-4-[05]|haiku-4|opus-4-\d{8}|sonnet-4-\d{8})/, levels: ALL },
  { models: /^claude-fable/, levels: ['low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^claude-/, levels: ['none', 'low', 'medium', 'high', 'xhigh', 'max'] },
];
const googleFamilies: readonly Family[] = [
  { models: /^gemini-(?:1|2\.0)/, levels: NONE },
  { models: /^gemini-2\.5-pro/, levels: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'] },
  { models: /^gemini-2\.5/, levels: ALL },
  { models: /^gemini-3-pro/, levels: ['low', 'high'] },
  { models: /^gemini-/, levels: ['minimal', 'low', 'medium', 'high'] },
  { models: /^/, levels: NONE },
];

/** Levels a model takes; empty = it takes none and is sent none. */
export function levelsOf(kind: ProviderKind, model: string): readonly ReasoningLevel[] {
  const bare = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  switch (kind) {
    case 'openai':
    case 'openai-chat':
      return levelsIn(openaiFamilies, bare) ?? COMMON;
    case 'anthropic':
      return levelsIn(anthropicFamilies, bare) ?? COMMON;
    case 'google':
      return levelsIn(googleFamilies, bare) ?? NONE;
    case 'openrouter':
      return ['none', 'minimal', 'low', 'medium', 'high', 'xhigh'];
    default:
      return levelsIn(openaiFamilies, bare) ?? COMMON;
  }
}

const levelsIn = (families: readonly Family[], model: string): readonly ReasoningLevel[] | undefined =>
  families.find(({ models }) => models.test(model))?.levels;

/** The nearest level the model has: the same, else the next lower, else the next higher. Undefined = nothing is sent. */
export function clampLevel(asked: string | undefined, levels: readonly ReasoningLevel[]): ReasoningLevel | undefined {
  const at = reasoningLevels.indexOf(asked as ReasoningLevel);
  if (at < 0) return undefined;
  const nearest = [...reasoningLevels.slice(0, at + 1).toReversed(), ...reasoningLevels.slice(at + 1)];
  return nearest.find((level) => levels.includes(level));
}

/** Errors: MODEL_SWITCH_ERR_BAD_REASONING. */
export function requireLevel(text: string): ReasoningLevel {
  const level = text.trim().toLowerCase() as ReasoningLevel;
  if (reasoningLevels.includes(level)) return level;
  throw new AgentError('MODEL_SWITCH_ERR_BAD_REASONING', `"${text}" is no reasoning level`, {
    fix: `one of ${reasoningLevels.join(', ')}`,
    facts: { levels: reasoningLevels },
  });
}
