/**
 * Which model a turn uses, decided from configuration alone, without any network call. Order (interface
 * spec, Free-tier identity): what the session or the configuration names; then a configured provider; then
 * the keys of well-known hosts; then a server found running on this machine; last the rehearsal model, when
 * it is on offer. An identity of the free tier will stand before the keys of hosts.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isNearHost } from '../../base/nearHost.ts';
import { implicitKinds, isProviderKind, kindOf, kindTable, type Credential, type EndpointSettings, type ProviderKind } from './kinds.ts';
import { parseModelName, type NamedModel } from './modelName.ts';
import { rehearsalName } from './rehearsal.ts';

export interface ProviderEntry {
  kind?: string | undefined;
  base_url?: string | undefined;
  key_env?: string | undefined;
  pool?: string[] | undefined;
  models?: string[] | undefined;
  headers?: Record<string, string> | undefined;
  first_byte_timeout_seconds?: number | undefined;
  /** It offers a sign-in. */
  oauth?: object | undefined;
}

/** A model server found on this machine. */
export interface DetectedServer {
  kind: ProviderKind;
  baseUrl: string;
  models: readonly string[];
}

export interface ResolveInput {
  /** `model.default` and `model.provider`. */
  model?: string | undefined;
  provider?: string | undefined;
  /** `model.first_byte_timeout_seconds`: of every provider that names none. */
  firstByteSeconds?: number | undefined;
  /** Chosen for this session; stands over the configuration. */
  session?: { model?: string | undefined; provider?: string | undefined } | undefined;
  providers?: Record<string, ProviderEntry> | undefined;
  aliases?: Record<string, string> | undefined;
  detected?: readonly DetectedServer[] | undefined;
  /** Value of a secret by its variable; undefined when it is not set. */
  secret(name: string): string | undefined;
  /** Access token of a provider that was signed in to; undefined when none serves. */
  bearer?(provider: string): string | undefined;
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

export function resolveModel(input: ResolveInput): Resolution {
  const { provider: named, model: wanted } = chosen(input);
  if (named === rehearsalName.provider) return { kind: 'rehearsal', because: null };
  const tries = (named ? [named] : candidates(input, wanted)).map((name) => tryProvider(name, wanted, input));
  const usable = tries.find((tried) => typeof tried !== 'string');
  if (usable) return { kind: 'endpoint', settings: usable };
  const because = tries.find((tried) => typeof tried === 'string') ?? null;
  return input.demo ? { kind: 'rehearsal', because } : nothing(because, input);
}

/** Providers that could serve right now, by name. */
export function usableProviders(input: ResolveInput): string[] {
  return candidates(input, undefined).filter((name) => typeof tryProvider(name, chosen(input).model ?? 'any', input) !== 'string');
}

/** Settings of one provider, by name or `provider:model`; or the sentence that says why it cannot serve. */
export function resolveNamed(text: string, input: ResolveInput): EndpointSettings | string {
  const { provider, model } = parseModelName(text, namesOf(input));
  return provider === undefined ? tryProvider(model, undefined, input) : tryProvider(provider, model || undefined, input);
}

export function noProvider({ message, fix }: Extract<Resolution, { kind: 'none' }>): AgentError {
  return new AgentError('NO_PROVIDER', message, { fix, facts: { reason: 'no_provider_configured' } });
}

export const namesOf = ({ providers = {}, aliases = {} }: Pick<ResolveInput, 'providers' | 'aliases'>) => ({ providers, aliases });

/** What is wanted: the session's words, then the configuration's. A model name may bring its provider along; a provider named beside it wins. */
function chosen(input: ResolveInput): { provider: string | undefined; model: string | undefined } {
  const read = (text: string | undefined): Partial<NamedModel> => (text === undefined ? {} : parseModelName(text, namesOf(input)));
  const session = read(input.session?.model);
  const configured = read(input.model);
  const usual = input.provider ?? configured.provider;
  const provider = input.session?.provider ?? session.provider ?? usual;
  // The default model belongs to the default provider: another one answers with its own.
  return { provider, model: (session.model ?? (provider === usual ? configured.model : undefined)) || undefined };
}

/** Configured ones first, those that list the wanted model before the others; then the keys of hosts, its maker first; then what runs here. */
function candidates({ providers = {}, secret, detected = [] }: ResolveInput, wanted: string | undefined): string[] {
  const names = Object.keys(providers);
  const lists = (name: string) => (wanted !== undefined && providers[name]!.models?.includes(wanted) ? 0 : 1);
  const makes = (kind: ProviderKind) => (wanted !== undefined && makers.find(({ models }) => models.test(wanted))?.kind === kind ? 0 : 1);
  const implicit = implicitKinds.filter((kind) => !names.includes(kind) && kindTable[kind].keyEnvs.some((name) => secret(name)));
  const found = detected.map(({ kind }) => kind).filter((kind) => !names.includes(kind));
  return [...names.toSorted((a, b) => lists(a) - lists(b)), ...implicit.toSorted((a, b) => makes(a) - makes(b)), ...found];
}

/** Who serves a model of that name; an aggregator's names have a slash. */
const makers: readonly { models: RegExp; kind: ProviderKind }[] = [
  { models: /\//, kind: 'openrouter' },
  { models: /^claude-/, kind: 'anthropic' },
  { models: /^gemini-/, kind: 'google' },
  { models: /^(?:gpt-|o\d|chatgpt)/, kind: 'openai' },
];

/** Settings, or the sentence that says why not. */
function tryProvider(name: string, wanted: string | undefined, input: ResolveInput): EndpointSettings | string {
  const { providers = {}, secret, detected = [] } = input;
  const found = detected.find(({ kind }) => kind === name);
  const entry: ProviderEntry | undefined =
    providers[name] ?? (isProviderKind(name) && name !== 'openai-compatible' ? { kind: name } : undefined);
  if (!entry) return `model.provider names "${name}", which is not under providers in config.yaml`;
  const kind = kindOf(name, entry.kind);
  if (!isProviderKind(kind)) return `provider ${name} is of kind ${kind}, which this version does not speak`;
  const facts = kindTable[kind];
  const baseUrl = entry.base_url ?? (providers[name] ? facts.baseUrl : (found?.baseUrl ?? facts.baseUrl));
  if (!baseUrl) return `provider ${name} has no base_url`;
  const written = keysOf(entry, facts.keyEnvs, secret);
  const bearer = written.length === 0 && entry.oauth ? input.bearer?.(name) : undefined;
  const keys = bearer === undefined ? written : [{ env: `the sign-in of ${name}`, value: bearer }];
  const keyEnvs = entry.key_env ? [entry.key_env] : facts.keyEnvs;
  if (keys.length === 0 && entry.oauth) return `provider ${name} needs a sign-in: agent auth login ${name}`;
  if (keyEnvs.length > 0 && keys.length === 0) return `provider ${name} needs ${keyEnvs.join(' or ')}, which is not set`;
  const isDetected = found !== undefined && providers[name] === undefined;
  // A default meant for another host is not what this server has loaded.
  const offered =
    isDetected && wanted !== undefined && !found.models.includes(wanted) && found.models.length > 0 && input.session?.model === undefined;
  const model = (offered ? undefined : wanted) ?? entry.models?.[0] ?? found?.models[0] ?? facts.model;
  if (!model) return `no model is chosen for provider ${name}: set model.default, or choose one with -m`;
  const [first] = keys;
  const headers = filledHeaders(entry.headers, secret);
  return {
    provider: name,
    kind,
    model,
    baseUrl,
    apiKey: first?.value,
    keyEnv: first?.env,
    keys,
    headers,
    signedIn: bearer !== undefined,
    firstByteMs: firstByteMs(entry.first_byte_timeout_seconds ?? input.firstByteSeconds, baseUrl),
    detected: isDetected,
  };
}

function firstByteMs(seconds: number | undefined, baseUrl: string): number {
  if (seconds !== undefined) return seconds * 1_000;
  const host = URL.parse(baseUrl)?.hostname ?? '';
  return isNearHost(host) ? limits.turn.providerFirstByteLocalMs : limits.turn.providerFirstByteMs;
}

/** Its key, then its pool; the same key is not counted twice. */
function keysOf({ key_env, pool = [] }: ProviderEntry, usual: readonly string[], secret: ResolveInput['secret']): Credential[] {
  const own = key_env ? [key_env] : usual.filter((name) => secret(name)).slice(0, 1);
  const keys: Credential[] = [];
  for (const env of [...own, ...pool]) {
    const value = secret(env);
    if (value && !keys.some((key) => key.value === value)) keys.push({ env, value });
  }
  return keys;
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
    fix: `put OPENAI_API_KEY=… (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY) into ${envFile}, or name a local server: agent config set providers.local.base_url http://127.0.0.1:8080/v1 and agent config set model.default <its model>`,
  };
}
