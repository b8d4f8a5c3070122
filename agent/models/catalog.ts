/**
 * Lists of models as their providers give them, and a short look for servers on this machine. Every request is bounded
 * in time and size; what a list does not say stays null. Errors: PROVIDER_FAILED.
 */
import { AgentError, errnoOf, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ModelFacts } from './facts.ts';
import { kindTable, localKinds, type EndpointSettings, type ProviderKind } from './kinds.ts';
import type { DetectedServer } from './resolve.ts';

export interface CatalogModel extends Partial<ModelFacts> {
  id: string;
}

type Source = Pick<EndpointSettings, 'provider' | 'kind' | 'baseUrl' | 'apiKey' | 'headers' | 'signedIn'>;

/** Errors: PROVIDER_FAILED, and the signal's reason. */
export async function listModels(source: Source, signal: AbortSignal): Promise<CatalogModel[]> {
  const { url, headers } = requestOf(source);
  const body = await readJson(
    url,
    { ...headers, ...source.headers },
    AbortSignal.any([signal, AbortSignal.timeout(limits.models.catalogMs)]),
  ).catch((thrown: unknown) => {
    throw isAgentError(thrown) ? thrown : unreachable(source, thrown);
  });
  return parseList(source.kind, body).slice(0, limits.models.catalogModelsMax);
}

/** Servers on this machine, looked for on the usual ports of the loopback address. Nothing there is an answer too: never throws. */
export async function findLocalServers(
  signal: AbortSignal,
  ports: (kind: ProviderKind) => number = (kind) => kindTable[kind].localPort!,
): Promise<DetectedServer[]> {
  const found = await Promise.all(localKinds.map((kind) => probe(kind, ports(kind), signal)));
  return found.filter((server) => server !== undefined);
}

async function probe(kind: ProviderKind, port: number, signal: AbortSignal): Promise<DetectedServer | undefined> {
  const baseUrl = `http://127.0.0.1:${port}/v1`;
  const { url } = requestOf({ provider: kind, kind, baseUrl, apiKey: undefined, headers: {} });
  try {
    const body = await readJson(url, {}, AbortSignal.any([signal, AbortSignal.timeout(limits.models.probeMs)]));
    if (!looksLike(kind, body)) return undefined;
    return { kind, baseUrl, models: parseList(kind, body).map(({ id }) => id) };
  } catch {
    return undefined;
  }
}

/** Port 8080 belongs to anybody: a server that does not say what it is is not sent a conversation. */
function looksLike(kind: ProviderKind, body: Json): boolean {
  if (kind === 'ollama') return Array.isArray(body.models);
  const rows = rowsOf(body.data);
  return body.object === 'list' && rows.length > 0 && (kind !== 'llamacpp' || rows.some((row) => row.owned_by === 'llamacpp'));
}

// --- asking ---

function requestOf(source: Source): { url: string; headers: Record<string, string> } {
  const { kind, baseUrl, apiKey, signedIn } = source;
  const base = baseUrl.replace(/\/+$/, '');
  if (signedIn) {
    const { url, headers } = requestOf({ ...source, apiKey: undefined, signedIn: false });
    const { 'x-api-key': _key, 'x-goog-api-key': _other, ...rest } = headers;
    return { url, headers: { ...rest, authorization: `Bearer ${apiKey}` } };
  }
  switch (kind) {
    case 'anthropic':
      return { url: `${base}/models?limit=1000`, headers: { 'x-api-key': apiKey ?? '', 'anthropic-version': '2023-06-01' } };
    case 'google':
      return { url: `${base}/models?pageSize=1000`, headers: { 'x-goog-api-key': apiKey ?? '' } };
    case 'ollama':
      return { url: `${base.replace(/\/v1$/, '')}/api/tags`, headers: {} };
    default:
      return { url: `${base}/models`, headers: apiKey ? { authorization: `Bearer ${apiKey}` } : {} };
  }
}

type Json = Record<string, unknown>;

/** A list larger than its limit is refused before it fills the memory. */
async function readJson(url: string, headers: Record<string, string>, signal: AbortSignal): Promise<Json> {
  const response = await fetch(url, { headers: { accept: 'application/json', ...headers }, signal, redirect: 'error' });
  if (!response.ok) {
    await response.body?.cancel();
    throw new AgentError('PROVIDER_FAILED', `the list of models: it answered ${response.status}`, { facts: { status: response.status } });
  }
  const decoder = new TextDecoder();
  let text = '';
  let size = 0;
  for await (const chunk of response.body ?? []) {
    if ((size += chunk.byteLength) > limits.models.catalogMaxBytes) {
      throw new AgentError('PROVIDER_FAILED', `the list of models is larger than ${limits.models.catalogMaxBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  const value = JSON.parse(text) as unknown;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error('the list of models is no object');
  return value as Json;
}

function unreachable({ provider, baseUrl }: Source, thrown: unknown): AgentError {
  const cause = (thrown as { cause?: unknown } | null)?.cause;
  const why =
    thrown instanceof DOMException && thrown.name === 'TimeoutError' ? `no answer within ${limits.models.catalogMs} ms` : undefined;
  return new AgentError(
    'PROVIDER_FAILED',
    `${provider}: the list of models at ${baseUrl}: ${why ?? errnoOf(cause) ?? messageOf(cause ?? thrown)}`,
    {
      cause: thrown,
      fix: `check that ${baseUrl} is reachable from here`,
    },
  );
}

// --- reading ---

function parseList(kind: ProviderKind, body: Json): CatalogModel[] {
  switch (kind) {
    case 'google':
      return rowsOf(body.models).flatMap(googleModel);
    case 'ollama':
      return rowsOf(body.models).flatMap(({ name }) => (typeof name === 'string' ? [{ id: name }] : []));
    case 'anthropic':
      return rowsOf(body.data).flatMap(anthropicModel);
    default:
      return rowsOf(body.data).flatMap((row) => openaiModel(row, kind));
  }
}

const rowsOf = (value: unknown): Json[] =>
  Array.isArray(value) ? value.filter((row): row is Json => typeof row === 'object' && row !== null) : [];
const positive = (value: unknown): number | null => (typeof value === 'number' && value > 0 ? value : null);
const text = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

function googleModel({ name, displayName, inputTokenLimit, outputTokenLimit, supportedGenerationMethods: methods }: Json): CatalogModel[] {
  if (typeof name !== 'string' || (Array.isArray(methods) && !methods.includes('generateContent'))) return [];
  return [
    {
      id: name.replace(/^models\//, ''),
      name: text(displayName),
      contextWindow: positive(inputTokenLimit),
      maxOutput: positive(outputTokenLimit),
    },
  ];
}

function anthropicModel({ id, display_name, max_input_tokens, max_tokens }: Json): CatalogModel[] {
  if (typeof id !== 'string') return [];
  return [{ id, name: text(display_name), contextWindow: positive(max_input_tokens), maxOutput: positive(max_tokens) }];
}

/** Not for conversations: the list of OpenAI holds everything it sells. */
const OTHER_TRADES = /embedding|tts|whisper|dall-e|image|audio|moderation|realtime|transcribe|sora|davinci|babbage|search-api/;

/** The common shape, with what aggregators and local servers add to it. */
function openaiModel(row: Json, kind: ProviderKind): CatalogModel[] {
  const { id, name, context_length, max_context_length, max_model_len, meta, top_provider, pricing, architecture, supported_parameters } =
    row;
  if (typeof id !== 'string' || (kind.startsWith('openai') && kind !== 'openai-compatible' && OTHER_TRADES.test(id))) return [];
  const inputs = objectOf(architecture).input_modalities;
  return [
    {
      id,
      name: text(name),
      contextWindow:
        positive(context_length) ?? positive(max_context_length) ?? positive(max_model_len) ?? positive(objectOf(meta).n_ctx_train),
      maxOutput: positive(objectOf(top_provider).max_completion_tokens),
      price: aggregatorPrice(objectOf(pricing)),
      vision: Array.isArray(inputs) ? inputs.includes('image') : undefined,
      tools: Array.isArray(supported_parameters) ? supported_parameters.includes('tools') : undefined,
    },
  ];
}

const objectOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});

/** US dollars a token, as text, negative where it depends on the model behind. */
function aggregatorPrice({ prompt, completion, input_cache_read, input_cache_write }: Json): ModelFacts['price'] {
  const million = (value: unknown) =>
    value === undefined || Number(value) < 0 || Number.isNaN(Number(value)) ? null : Math.round(Number(value) * 1e12) / 1e6;
  const input = million(prompt);
  const output = million(completion);
  return input === null || output === null
    ? null
    : { input, output, cacheRead: million(input_cache_read), cacheWrite: million(input_cache_write) };
}
