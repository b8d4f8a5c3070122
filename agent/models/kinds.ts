/** The kinds of provider this release speaks: where each listens, which key it takes, and what it answers with by default. */

export const providerKinds = [
  'openai',
  'openai-chat',
  'anthropic',
  'google',
  'openrouter',
  'openai-compatible',
  'ollama',
  'lmstudio',
  'llamacpp',
] as const;
export type ProviderKind = (typeof providerKinds)[number];

export interface KindFacts {
  /** Address of the API; undefined = the configuration must name one. */
  baseUrl: string | undefined;
  /** Variables that hold its key, the first one that is set counts. Empty = no key is needed. */
  keyEnvs: readonly string[];
  /** Answers when nobody chose a model: names that the vendor keeps pointing at a current one where there is such a name. */
  model: string | undefined;
  /** A server on this machine, looked for on this port. */
  localPort: number | undefined;
  /** Its key in the environment alone makes it usable, without a word in config.yaml. */
  implicit: boolean;
}

const remote = (baseUrl: string, keyEnvs: readonly string[], model: string, implicit = true): KindFacts => ({
  baseUrl,
  keyEnvs,
  model,
  localPort: undefined,
  implicit,
});
const local = (localPort: number): KindFacts => ({
  baseUrl: `http://127.0.0.1:${localPort}/v1`,
  keyEnvs: [],
  model: undefined,
  localPort,
  implicit: false,
});

export const kindTable: Readonly<Record<ProviderKind, KindFacts>> = {
  openai: remote('https://api.openai.com/v1', ['OPENAI_API_KEY'], 'gpt-5'),
  'openai-chat': remote('https://api.openai.com/v1', ['OPENAI_API_KEY'], 'gpt-5', false),
  anthropic: remote('https://api.anthropic.com/v1', ['ANTHROPIC_API_KEY'], 'claude-sonnet-5'),
  google: remote(
    'https://generativelanguage.googleapis.com/v1beta',
    ['GOOGLE_GENERATIVE_AI_API_KEY', 'GEMINI_API_KEY'],
    'gemini-flash-latest',
  ),
  openrouter: remote('https://openrouter.ai/api/v1', ['OPENROUTER_API_KEY'], 'openrouter/auto'),
  'openai-compatible': { baseUrl: undefined, keyEnvs: [], model: undefined, localPort: undefined, implicit: false },
  ollama: local(11_434),
  lmstudio: local(1_234),
  llamacpp: local(8_080),
};

export const isProviderKind = (name: string): name is ProviderKind => Object.hasOwn(kindTable, name);

/** Hosts whose key alone makes them usable, in the order in which they are tried. */
export const implicitKinds: readonly ProviderKind[] = providerKinds.filter((kind) => kindTable[kind].implicit);
export const localKinds: readonly ProviderKind[] = providerKinds.filter((kind) => kindTable[kind].localPort !== undefined);

/** The dialect of a provider: as written, else by its name, else the common one. */
export const kindOf = (name: string, written: string | undefined): string => written ?? (isProviderKind(name) ? name : 'openai-compatible');

/** One key of a provider. */
export interface Credential {
  /** Variable it stands in; the name under which people hear of it. */
  env: string;
  value: string;
}

/** Everything needed to ask one model of one provider. */
export interface EndpointSettings {
  /** Name in config.yaml, or the kind where nothing is written. */
  provider: string;
  kind: ProviderKind;
  model: string;
  baseUrl: string;
  /** The first of `keys`. */
  apiKey: string | undefined;
  /** Where it comes from, for messages. */
  keyEnv: string | undefined;
  /** All keys that may serve, in the order of the configuration; empty where none is needed. */
  keys: readonly Credential[];
  headers: Record<string, string>;
  /** Its key is the access token of a sign-in: sent as a bearer, renewed before it ends. */
  signedIn?: boolean;
  /** How long its first byte may take. */
  firstByteMs: number;
  /** Found running on this machine, not configured. */
  detected: boolean;
}
