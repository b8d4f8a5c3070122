/**
 * Which model a turn uses, decided from configuration alone, without any network call. Order (interface
 * spec, Free-tier identity): what the session or `model.provider` names; then a configured provider; then
 * OPENAI_API_KEY of the host; last the rehearsal model, when it is on offer. An identity of the free tier
 * will stand between the last two.
 */
import { AgentError } from '../../base/errors.ts';
import type { Model } from '../ports.ts';
import { rehearsalModel, rehearsalName } from './rehearsal.ts';
import type { EndpointSettings } from './openaiCompatible.ts';

export interface ProviderEntry {
  kind?: string | undefined;
  base_url?: string | undefined;
  key_env?: string | undefined;
  models?: string[] | undefined;
  headers?: Record<string, string> | undefined;
}

export interface ResolveInput {
  /** `model.default` and `model.provider`. */
  model?: string | undefined;
  provider?: string | undefined;
  /** Chosen for this session; stands over the configuration. */
  session?: { model?: string | undefined; provider?: string | undefined } | undefined;
  providers?: Record<string, ProviderEntry> | undefined;
  /** Value of a secret by its variable; undefined when it is not set. */
  secret(name: string): string | undefined;
  /** The rehearsal model is on offer. */
  demo: boolean;
  /** Where secrets stand, for the advice. */
  envFile: string;
}

export type Resolution =
  | { kind: 'endpoint'; settings: EndpointSettings }
  /** `because` is set when a configured provider could not be used. */
  | { kind: 'rehearsal'; because: string | null }
  | { kind: 'none'; because: string | null; message: string; fix: string };

const OPENAI_URL = 'https://api.openai.com/v1';
const OPENAI_KEY = 'OPENAI_API_KEY';
const OPENAI_MODEL = 'gpt-5';

/** Provider kinds this release speaks. */
const SPOKEN = new Set(['openai-compatible', 'openai']);

export function resolveModel(input: ResolveInput): Resolution {
  const named = input.session?.provider ?? input.provider;
  const wanted = input.session?.model ?? input.model;
  if (named === rehearsalName.provider) return { kind: 'rehearsal', because: null };
  const tries = named ? [tryProvider(named, wanted, input)] : candidates(input, wanted).map((name) => tryProvider(name, wanted, input));
  const usable = tries.find((tried) => typeof tried !== 'string');
  if (usable) return { kind: 'endpoint', settings: usable };
  const because = tries.find((tried) => typeof tried === 'string') ?? null;
  return input.demo ? { kind: 'rehearsal', because } : nothing(because, input);
}

/** Providers that could serve right now, by name. */
export function usableProviders(input: ResolveInput): string[] {
  return candidates(input, undefined).filter((name) => typeof tryProvider(name, input.model ?? 'any', input) !== 'string');
}

/** Loads what the resolution needs and makes the model. Errors: NO_PROVIDER. */
export async function createModel(resolution: Resolution): Promise<Model> {
  switch (resolution.kind) {
    case 'rehearsal':
      return rehearsalModel();
    case 'none':
      throw noProvider(resolution);
    case 'endpoint': {
      const { openaiCompatibleModel } = await import('./openaiCompatible.ts');
      return openaiCompatibleModel(resolution.settings);
    }
  }
}

export function noProvider({ message, fix }: Extract<Resolution, { kind: 'none' }>): AgentError {
  return new AgentError('NO_PROVIDER', message, { fix, facts: { reason: 'no_provider_configured' } });
}

/** Configured ones first, those that list the wanted model before the others; then the host's own key. */
function candidates({ providers = {}, secret }: ResolveInput, wanted: string | undefined): string[] {
  const names = Object.keys(providers);
  const lists = (name: string) => (wanted !== undefined && providers[name]!.models?.includes(wanted) ? 0 : 1);
  const implicit = secret(OPENAI_KEY) && !names.includes('openai') ? ['openai'] : [];
  return [...names.toSorted((a, b) => lists(a) - lists(b)), ...implicit];
}

/** Settings, or the sentence that says why not. */
function tryProvider(name: string, wanted: string | undefined, { providers = {}, secret }: ResolveInput): EndpointSettings | string {
  const entry = providers[name] ?? (name === 'openai' ? { kind: 'openai' } : undefined);
  if (!entry) return `model.provider names "${name}", which is not under providers in config.yaml`;
  const kind = entry.kind ?? (name === 'openai' ? 'openai' : 'openai-compatible');
  if (!SPOKEN.has(kind)) return `provider ${name} is of kind ${kind}, which this version does not speak yet`;
  const baseUrl = entry.base_url ?? (kind === 'openai' ? OPENAI_URL : undefined);
  if (!baseUrl) return `provider ${name} has no base_url`;
  const keyEnv = entry.key_env ?? (kind === 'openai' ? OPENAI_KEY : undefined);
  const apiKey = keyEnv ? secret(keyEnv) : undefined;
  if (keyEnv && !apiKey) return `provider ${name} needs ${keyEnv}, which is not set`;
  const model = wanted ?? entry.models?.[0] ?? (kind === 'openai' ? OPENAI_MODEL : undefined);
  if (!model) return `no model is chosen for provider ${name}: set model.default`;
  return { provider: name, model, baseUrl, apiKey, keyEnv, headers: filledHeaders(entry.headers, secret) };
}

function filledHeaders(headers: Record<string, string> = {}, secret: ResolveInput['secret']): Record<string, string> {
  const fill = (value: string) => value.replace(/\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}/g, (whole, name: string) => secret(name) ?? whole);
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value)]));
}

function nothing(because: string | null, { envFile }: ResolveInput): Resolution {
  return {
    kind: 'none',
    because,
    message: `no model provider is configured (no_provider_configured)${because ? `: ${because}` : ''}`,
    fix: `put ${OPENAI_KEY}=… into ${envFile}, or name a local server: agent config set providers.local.base_url http://127.0.0.1:8080/v1 and agent config set model.default <its model>`,
  };
}
