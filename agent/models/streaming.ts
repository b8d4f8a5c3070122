/**
 * The one streaming core behind every provider: a request, its time limits, and the parts of the answer as our chunks.
 * Makes one try. Retries, keys and fallbacks are `chain.ts`; nothing here knows a vendor.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason } from '../../base/time.ts';
import type { ModelChunk, ModelRequest, StopReason, ToolCall, Usage } from '../ports.ts';
import type { Connections } from './connections.ts';
import type { Adapter, CallOptions, Prompt, StreamPart } from './endpoint.ts';
import type { Price } from './facts.ts';
import type { Credential, EndpointSettings } from './kinds.ts';
import { inputOf, promptOf, toolsOf, type AssistantContent } from './prompt.ts';
import { clampLevel, levelsOf } from './reasoning.ts';
import { readCalls, type WrittenCall } from './toolArgs.ts';

export interface Try {
  adapter: Adapter;
  connections: Connections;
  settings: EndpointSettings;
  key: Credential | undefined;
  request: ModelRequest;
  vision: boolean;
  /** Answers of this model's turn by their first call; new ones are added. */
  originals: Map<string, AssistantContent>;
  /** Looked up after the last byte. */
  price(): Promise<Price | null>;
  onHeaders(headers: Record<string, string>): void;
}

/**
 * One answer of nothing, from nowhere: what a first request would load and compile (the fetch of node, the schemas of the
 * package) is there before a turn waits for it. No byte leaves the process; its failure is none.
 */
export async function warmUp(adapter: Adapter, settings: EndpointSettings): Promise<void> {
  const nothing: typeof fetch = async () => {
    await fetch('data:,');
    return new Response('data: {}\n\n', { headers: { 'content-type': 'text/event-stream' } });
  };
  try {
    const prompt: Prompt = [{ role: 'user', content: [{ type: 'text', text: '' }] }];
    const { stream } = await adapter.languageModel({ settings, apiKey: 'none', fetch: nothing, rehearsal: true }).doStream({ prompt });
    for await (const _part of stream);
  } catch {
    // An answer of nothing is refused by some; by then everything was loaded.
  }
}

/** Tells the chunks as they come. Throws what the provider or the network did wrong; a stream without a proper end throws too. */
export async function streamOnce(attempt: Try, tell: (chunk: ModelChunk) => void): Promise<void> {
  const { request } = attempt;
  const watchdog = createWatchdog(attempt.settings);
  const signal = AbortSignal.any([request.signal, watchdog.signal]);
  const answer: Answer = { calls: [], content: [] };
  try {
    const { stream, response } = await open(attempt, signal);
    attempt.onHeaders(response?.headers ?? {});
    watchdog.alive();
    for await (const part of stream) {
      if (part.type === 'raw' || part.type === 'stream-start') watchdog.alive();
      else if (part.type === 'error' && isUnknownEvent(part.error, attempt.adapter)) watchdog.alive();
      else if (part.type === 'error') throw streamError(part.error);
      else watchdog.fed();
      const chunk = toChunk(part, answer);
      if (chunk) tell(chunk);
    }
  } catch (thrown) {
    throw watchdog.signal.aborted ? abortReason(watchdog.signal) : thrown;
  } finally {
    watchdog.stop();
  }
  await ending(answer, attempt, tell);
}

/** The request leaves: everything before it is ours, everything after it the provider's. */
async function open({ adapter, connections, settings, key, request, vision, originals }: Try, signal: AbortSignal) {
  const prompt: Prompt = await promptOf({ ...request, vision, cacheMark: adapter.cacheMark, originals });
  const model = connections.open(adapter, settings, key?.value);
  const effort = clampLevel(request.reasoningEffort, levelsOf(settings.kind, settings.model));
  const options: CallOptions = {
    prompt,
    abortSignal: signal,
    providerOptions: adapter.options({ effort, fast: request.fast === true, cacheKey: request.cacheKey }, settings),
    ...(request.tools.length > 0 ? { tools: toolsOf(request.tools)!, toolChoice: { type: 'auto' } } : {}),
    ...(effort ? { reasoning: effort } : {}),
    // The other dialects send nothing between their events that would be lost to us.
    ...(adapter.knowsEvent ? { includeRawChunks: true } : {}),
  };
  request.onSent?.();
  return model.doStream(options);
}

/**
 * Aborts when the provider sends nothing for too long: before its first part, and between two parts. Signs of life without
 * content (comments, pings) lengthen the wait, up to an upper bound.
 */
function createWatchdog({ provider, firstByteMs }: EndpointSettings): { signal: AbortSignal; alive(): void; fed(): void; stop(): void } {
  const controller = new AbortController();
  const arm = (ms: number, error: () => AgentError) => setTimeout(() => controller.abort(error()), ms);
  let timer = arm(
    firstByteMs,
    () =>
      new AgentError('TIMEOUT', `no answer for ${firstByteMs / 1_000} s`, {
        fix: `a slow model needs longer: agent config set providers.${provider}.first_byte_timeout_seconds ${(2 * firstByteMs) / 1_000}`,
      }),
  );
  let waitsForFirst = true;
  let fedAt = performance.now();
  return {
    signal: controller.signal,
    alive() {
      if (performance.now() - fedAt < Math.max(firstByteMs, limits.turn.providerAliveMaxMs)) timer.refresh();
    },
    fed() {
      fedAt = performance.now();
      // A timer that is pushed back costs less than a new one for each token.
      if (!waitsForFirst) return void timer.refresh();
      clearTimeout(timer);
      const ms = limits.turn.providerIdleMs;
      timer = arm(ms, () => new AgentError('PROVIDER_FAILED', `no further text for ${ms / 1_000} s`));
      waitsForFirst = false;
    },
    stop: () => clearTimeout(timer),
  };
}

/** What the schema of a package did not take, below its error. */
const refusedValue = (error: unknown): unknown =>
  (error as { name?: unknown } | null)?.name === 'AI_TypeValidationError' ? (error as { value?: unknown }).value : undefined;

/** Vendors add events; their documentation asks clients to skip what they do not know. */
function isUnknownEvent(error: unknown, { knowsEvent }: Adapter): boolean {
  const value = refusedValue(error);
  return value !== undefined && knowsEvent?.(value) === false;
}

/** The packages hand over what the provider wrote: a plain object, or an error about its shape. */
function streamError(error: unknown): unknown {
  const value = refusedValue(error) ?? error;
  if (value instanceof Error || typeof value !== 'object' || value === null) return error;
  const data = 'error' in value ? value : { error: value };
  return Object.assign(new Error('it reported an error inside its answer'), { data });
}

interface Answer {
  calls: WrittenCall[];
  /** As the provider will want it back. */
  content: AssistantContent;
  end?: Extract<StreamPart, { type: 'finish' }>;
}

function toChunk(part: StreamPart, answer: Answer): ModelChunk | undefined {
  switch (part.type) {
    case 'text-delta':
      keep(answer, 'text', part.delta, part.providerMetadata);
      return part.delta ? { type: 'text', text: part.delta } : undefined;
    case 'reasoning-start':
      answer.content.push({ type: 'reasoning', text: '', ...marks(part.providerMetadata) });
      return undefined;
    case 'reasoning-delta':
      keep(answer, 'reasoning', part.delta, part.providerMetadata);
      return part.delta ? { type: 'reasoning', text: part.delta } : undefined;
    case 'reasoning-end':
      keep(answer, 'reasoning', '', part.providerMetadata);
      return undefined;
    case 'text-start':
      answer.content.push({ type: 'text', text: '', ...marks(part.providerMetadata) });
      return undefined;
    case 'tool-input-start':
      return { type: 'toolStart', name: part.toolName };
    case 'tool-call':
      answer.calls.push({ id: part.toolCallId, name: part.toolName, input: part.input });
      answer.content.push({
        type: 'tool-call',
        toolCallId: part.toolCallId,
        toolName: part.toolName,
        input: undefined,
        ...marks(part.providerMetadata),
      });
      return undefined;
    case 'finish':
      answer.end = part;
      return undefined;
    default:
      return undefined;
  }
}

const marks = (providerMetadata: Extract<StreamPart, { type: 'text-delta' }>['providerMetadata']) =>
  providerMetadata ? { providerOptions: providerMetadata } : {};

/** Adds to the last part of that type; signatures come with its end. */
function keep({ content }: Answer, type: 'text' | 'reasoning', text: string, metadata: Parameters<typeof marks>[0]): void {
  const last = content.findLast((part) => part.type === type);
  if (last?.type !== type) {
    if (text) content.push({ type, text, ...marks(metadata) });
    return;
  }
  last.text += text;
  if (metadata) last.providerOptions = { ...last.providerOptions, ...metadata };
}

const stopReasons: Record<string, StopReason> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
};

/** Calls come last and all together: half a set of them must not run. */
async function ending(answer: Answer, { originals, price }: Try, tell: (chunk: ModelChunk) => void): Promise<void> {
  const unified = answer.end?.finishReason.unified;
  const raw = answer.end?.finishReason.raw;
  if (unified === 'error' && raw) {
    throw new AgentError('PROVIDER_FAILED', `it ended its answer with ${raw}`, { fix: 'ask again, or choose another model with /model' });
  }
  if (!answer.end || unified === 'interrupted' || unified === 'error') {
    throw answer.content.length > 0 || answer.calls.length > 0
      ? new AgentError('PROVIDER_CUT', 'the stream ended without a finish reason')
      : new AgentError('PROVIDER_FAILED', 'its answer was empty', {
          fix: 'check that base_url is the address of a chat API (it often ends in /v1), or try again',
        });
  }
  const calls = readCalls(answer.calls, unified ?? 'other');
  remember(answer, calls, originals);
  for (const call of calls) tell({ type: 'toolCall', call });
  tell({
    type: 'finish',
    reason: raw === 'pause_turn' ? 'paused' : (stopReasons[unified ?? ''] ?? 'other'),
    usage: withCost(usageOf(answer.end.usage), await price()),
  });
}

/** Only answers that are gone back to: those with calls, and with something the plain words would lose. */
function remember({ content }: Answer, calls: readonly ToolCall[], originals: Try['originals']): void {
  const signed = content.some((part) => part.type === 'reasoning' || part.providerOptions !== undefined);
  if (!calls[0]?.id || !signed) return;
  const inputs = new Map(calls.map(({ id, args }) => [id, inputOf(args)]));
  const whole = content.filter((part) => part.type !== 'text' || part.text !== '');
  originals.set(
    calls[0].id,
    whole.map((part) => (part.type === 'tool-call' ? { ...part, input: inputs.get(part.toolCallId) } : part)),
  );
}

type ProviderUsage = Extract<StreamPart, { type: 'finish' }>['usage'];

function usageOf({ inputTokens, outputTokens }: ProviderUsage): Usage | null {
  if (inputTokens.total === undefined || outputTokens.total === undefined) return null;
  return {
    input: inputTokens.total,
    output: outputTokens.total,
    ...(outputTokens.reasoning ? { reasoning: outputTokens.reasoning } : {}),
    ...(inputTokens.cacheRead ? { cacheRead: inputTokens.cacheRead } : {}),
    ...(inputTokens.cacheWrite ? { cacheWrite: inputTokens.cacheWrite } : {}),
  };
}

const PER_TOKEN = 1e-6;

/** US dollars from the price of a million tokens; a cached token without a price of its own costs a plain one. */
export function withCost(usage: Usage | null, price: Price | null): Usage | null {
  if (!usage || !price) return usage;
  const { cacheRead = 0, cacheWrite = 0 } = usage;
  const plain = Math.max(0, usage.input - cacheRead - cacheWrite);
  const dollars =
    plain * price.input +
    cacheRead * (price.cacheRead ?? price.input) +
    cacheWrite * (price.cacheWrite ?? price.input) +
    usage.output * price.output;
  return { ...usage, costUsd: Math.round(dollars * PER_TOKEN * 1e9) / 1e9 };
}
