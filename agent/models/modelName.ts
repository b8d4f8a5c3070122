/** How people name a model: `provider:model`, `custom:model`, `custom:name:model`, an alias, or the bare name. */
import { implicitKinds, isProviderKind, localKinds, type ProviderKind } from './kinds.ts';

export interface NamedModel {
  provider: string | undefined;
  /** Empty = the provider's own. */
  model: string;
}

export interface Names {
  /** Providers under `providers:`, with their kinds. */
  providers: Readonly<Record<string, { kind?: string | undefined }>>;
  /** The user's short names; they stand over the built-in ones. */
  aliases: Readonly<Record<string, string>>;
}

/** Current names of the vendors' families; the user's own aliases come first. */
export const builtInAliases: Readonly<Record<string, string>> = {
  opus: 'anthropic:claude-opus-5',
  sonnet: 'anthropic:claude-sonnet-5',
  haiku: 'anthropic:claude-haiku-4-5',
  gpt: 'openai:gpt-5',
  'gpt-mini': 'openai:gpt-5-mini',
  gemini: 'google:gemini-pro-latest',
  'gemini-flash': 'google:gemini-flash-latest',
};

/**
 * A colon parts a provider from a model only where what stands before it is a provider: `qwen3:8b` is a model.
 * An alias may name another one; a circle ends at its start.
 */
export function parseModelName(text: string, names: Names): NamedModel {
  const trimmed = text.trim();
  const aliases = { ...builtInAliases, ...names.aliases };
  let name = trimmed;
  for (const seen = new Set<string>(); Object.hasOwn(aliases, name) && !seen.has(name);) {
    seen.add(name);
    name = aliases[name]!.trim();
  }
  const custom = /^custom:(.+)$/s.exec(name)?.[1];
  if (custom !== undefined && !Object.hasOwn(names.providers, 'custom')) return customModel(custom, names);
  const colon = name.indexOf(':');
  const before = name.slice(0, colon);
  return colon > 0 && isProvider(before, names) ? { provider: before, model: name.slice(colon + 1) } : { provider: undefined, model: name };
}

/** `name:model` of a configured provider, or a model of the first one that has an address of its own. */
function customModel(text: string, { providers }: Names): NamedModel {
  const name = Object.keys(providers).find((provider) => text.startsWith(`${provider}:`));
  if (name !== undefined) return { provider: name, model: text.slice(name.length + 1) };
  const first = Object.keys(providers).find(
    (provider) => (providers[provider]!.kind ?? (isProviderKind(provider) ? provider : 'openai-compatible')) === 'openai-compatible',
  );
  return { provider: first ?? 'custom', model: text };
}

const isProvider = (name: string, { providers }: Names): boolean =>
  Object.hasOwn(providers, name) ||
  name === 'demo' ||
  implicitKinds.includes(name as ProviderKind) ||
  localKinds.includes(name as ProviderKind);
