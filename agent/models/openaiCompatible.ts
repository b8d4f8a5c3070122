/**
 * A provider that speaks the OpenAI chat-completions stream, through the `ai` package. Loaded only when
 * such a provider is used: the package costs 30 MB. Owns the retries (before the first byte only), the
 * time limits and the words for what went wrong; never repeats a request that had begun to answer.
 */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  APICallError,
  jsonSchema,
  streamText,
  tool,
  type JSONSchema7,
  type LanguageModel,
  type ModelMessage as SdkMessage,
  type TextStreamPart,
  type ToolSet,
} from 'ai';
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, sleep } from '../../base/time.ts';
import type { Model, ModelChunk, ModelMessage, ModelRequest, StopReason, ToolSpec } from '../ports.ts';
import { mayRetry, pauseMs, retryAfterMs } from './retry.ts';

export interface EndpointSettings {
  /** Name in config.yaml. */
  provider: string;
  model: string;
  baseUrl: string;
  apiKey: string | undefined;
  /** Where the key comes from, for messages. */
  keyEnv: string | undefined;
  headers: Record<string, string>;
}

export function openaiCompatibleModel(settings: EndpointSettings): Model {
  // The package prints hints about models to stdout otherwise.
  (globalThis as { AI_SDK_LOG_WARNINGS?: boolean }).AI_SDK_LOG_WARNINGS = false;
  const sdk = createOpenAICompatible({
    name: settings.provider,
    baseURL: settings.baseUrl,
    includeUsage: true,
    headers: settings.headers,
    ...(settings.apiKey ? { apiKey: settings.apiKey } : {}),
  });
  const model = sdk(settings.model);
  return {
    provider: settings.provider,
    id: settings.model,
    scripted: false,
    contextWindow: null,
    vision: false,
    effortFor: (level) => level,
    stream: (request) => streamWithRetries(model, settings, request),
  };
}

async function* streamWithRetries(model: LanguageModel, settings: EndpointSettings, request: ModelRequest): AsyncGenerator<ModelChunk> {
  for (let attempt = 0; ; attempt++) {
    let received = false;
    try {
      for await (const chunk of streamOnce(model, request)) {
        received = true;
        yield chunk;
      }
      return;
    } catch (thrown) {
      if (request.signal.aborted) throw abortReason(request.signal);
      if (received) throw cut(settings, thrown);
      const status = APICallError.isInstance(thrown) ? thrown.statusCode : undefined;
      const askedMs = APICallError.isInstance(thrown) ? retryAfterMs(thrown.responseHeaders) : undefined;
      const waitMs = pauseMs(attempt, askedMs);
      if (!mayRetry(status) || attempt >= limits.turn.providerRetriesMax || waitMs === undefined) throw refused(settings, thrown, askedMs);
      yield { type: 'retry', attempt: attempt + 1, waitMs, reason: `${settings.provider}: ${reasonOf(thrown)}` };
      await sleep(waitMs, request.signal);
    }
  }
}

/** One request. Throws what the provider or the network did wrong; a stream without a proper end throws too. */
async function* streamOnce(
  model: LanguageModel,
  { system, messages, tools, signal, reasoningEffort }: ModelRequest,
): AsyncGenerator<ModelChunk> {
  const watchdog = createWatchdog();
  const result = streamText({
    model,
    instructions: system,
    messages: messages.map(toSdkMessage).filter((message) => message !== undefined),
    tools: toSdkTools(tools),
    maxRetries: 0,
    abortSignal: AbortSignal.any([signal, watchdog.signal]),
    ...(reasoningEffort ? { reasoning: reasoningEffort as 'high' } : {}),
    // Errors arrive as parts of the stream; without this the package prints them.
    onError() {},
  });
  let ended = false;
  try {
    for await (const part of result.stream) {
      if (part.type !== 'start') watchdog.fed();
      if (part.type === 'error') throw part.error;
      if (part.type === 'abort') throw watchdog.signal.aborted ? abortReason(watchdog.signal) : abortReason(signal);
      if (part.type === 'finish') ended = true;
      const chunk = toChunk(part);
      if (chunk) yield chunk;
    }
  } finally {
    watchdog.stop();
  }
  if (!ended) throw new AgentError('PROVIDER_CUT', 'the stream ended without saying so');
}

/** Aborts when the provider says nothing for too long: before its first byte, and between two chunks. */
function createWatchdog(): { signal: AbortSignal; fed(): void; stop(): void } {
  const controller = new AbortController();
  const arm = (ms: number, what: string) =>
    setTimeout(() => controller.abort(new AgentError('PROVIDER_FAILED', `no ${what} for ${ms / 1_000} s`)), ms);
  let timer = arm(limits.turn.providerFirstByteMs, 'answer');
  return {
    signal: controller.signal,
    fed() {
      clearTimeout(timer);
      timer = arm(limits.turn.providerIdleMs, 'further text');
    },
    stop: () => clearTimeout(timer),
  };
}

function toChunk(part: TextStreamPart<ToolSet>): ModelChunk | undefined {
  switch (part.type) {
    case 'text-delta':
      return { type: 'text', text: part.text };
    case 'reasoning-delta':
      return { type: 'reasoning', text: part.text };
    case 'tool-call':
      return { type: 'toolCall', call: { id: part.toolCallId, name: part.toolName, args: part.input as unknown } };
    case 'finish': {
      const { inputTokens, outputTokens } = part.totalUsage;
      const usage = inputTokens === undefined || outputTokens === undefined ? null : { input: inputTokens, output: outputTokens };
      return { type: 'finish', reason: stopReasons[part.finishReason] ?? 'other', usage };
    }
    default:
      return undefined;
  }
}

const stopReasons: Record<string, StopReason> = {
  stop: 'stop',
  'tool-calls': 'tool_calls',
  length: 'length',
  'content-filter': 'content_filter',
};

function toSdkTools(tools: readonly ToolSpec[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, parameters }) => [name, tool({ description, inputSchema: jsonSchema(parameters as JSONSchema7) })]),
  );
}

/** An answer without text and calls (cut before its first word) is left out: providers refuse it. */
function toSdkMessage(message: ModelMessage): SdkMessage | undefined {
  switch (message.role) {
    case 'user':
    case 'summary':
      return { role: 'user', content: message.content };
    case 'tool': {
      const output = { type: message.isError ? ('error-text' as const) : ('text' as const), value: message.content };
      return { role: 'tool', content: [{ type: 'tool-result', toolCallId: message.toolCallId, toolName: message.toolName, output }] };
    }
    case 'assistant': {
      const calls = message.toolCalls.map((call) => ({
        type: 'tool-call' as const,
        toolCallId: call.id,
        toolName: call.name,
        input: call.args,
      }));
      const text = message.content ? [{ type: 'text' as const, text: message.content }] : [];
      return calls.length + text.length > 0 ? { role: 'assistant', content: [...text, ...calls] } : undefined;
    }
  }
}

// --- words for what went wrong ---

function cut({ provider }: EndpointSettings, thrown: unknown): AgentError {
  return new AgentError('PROVIDER_CUT', `${provider} ended the stream early (${reasonOf(thrown)}); what it had sent is kept`, {
    cause: thrown,
    fix: 'say "go on" to continue from there',
  });
}

function refused({ provider, keyEnv, model, baseUrl }: EndpointSettings, thrown: unknown, askedMs: number | undefined): AgentError {
  const status = APICallError.isInstance(thrown) ? thrown.statusCode : undefined;
  return new AgentError('PROVIDER_FAILED', `${provider} (${model}): ${reasonOf(thrown)}`, {
    cause: thrown,
    fix: fixOf(status, keyEnv, baseUrl),
    facts: { status: status ?? null },
    ...(askedMs === undefined ? {} : { retryAfterMs: askedMs }),
  });
}

function fixOf(status: number | undefined, keyEnv: string | undefined, baseUrl: string): string {
  if (status === 401 || status === 403)
    return keyEnv ? `check the key in ${keyEnv}` : 'set key_env of the provider and put the key into .env';
  if (status === 404) return 'check model.default and base_url in config.yaml';
  if (status === 429) return 'wait, or use another provider';
  if (status === undefined) return `check that ${baseUrl} is reachable from here`;
  if (status < 500) return 'the provider refuses this request as it is; its own words say why';
  return 'try again later; the provider has trouble';
}

function reasonOf(thrown: unknown): string {
  if (isAgentError(thrown)) return thrown.message;
  if (APICallError.isInstance(thrown) && thrown.statusCode !== undefined && thrown.statusCode !== 200)
    return `it answered ${thrown.statusCode}: ${thrown.message}`;
  const cause = (thrown as { cause?: { code?: string; message?: string; cause?: { code?: string } } } | null)?.cause;
  return cause?.code ?? cause?.cause?.code ?? cause?.message ?? messageOf(thrown);
}
