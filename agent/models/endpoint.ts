/**
 * What a provider's package is to us: a language model of the `@ai-sdk` provider interface, asked directly. The core of
 * `ai` is not loaded: it would cost 8 MB and a chain of stream transforms for each token (measured), for what
 * `streaming.ts` does in a page. One adapter a dialect, loaded when it is first used.
 */
import type { OpenAICompatibleProvider } from '@ai-sdk/openai-compatible';
import type { EndpointSettings, ProviderKind } from './kinds.ts';
import type { ReasoningLevel } from './reasoning.ts';

type PackagedModel = ReturnType<OpenAICompatibleProvider['languageModel']>;
export type CallOptions = Parameters<PackagedModel['doStream']>[0];
export type ProviderOptions = NonNullable<CallOptions['providerOptions']>;
export type Prompt = CallOptions['prompt'];
export type StreamPart = Awaited<ReturnType<PackagedModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never;

/** What is asked of a package's model, and of our own (`chat/`). */
export interface LanguageModel {
  doStream(options: CallOptions): PromiseLike<{
    stream: AsyncIterable<StreamPart>;
    response?: { headers?: Record<string, string> | undefined } | undefined;
  }>;
}

/** What of a request each dialect says in its own way. */
export interface Asked {
  effort: ReasoningLevel | undefined;
  fast: boolean;
  cacheKey: string | undefined;
}

export interface Connection {
  settings: EndpointSettings;
  apiKey: string | undefined;
  /** The one way out of a package: every request of it goes through this. */
  fetch: typeof fetch;
  /** Also what `chat/` would send stays here. */
  rehearsal?: boolean;
}

export interface Adapter {
  languageModel(connection: Connection): LanguageModel;
  /** Options of the whole request. */
  options(asked: Asked, settings: EndpointSettings): ProviderOptions;
  /** Whether an event of the stream has a kind that the dialect knows; absent = every event does. */
  knowsEvent?(event: unknown): boolean;
  /** Set on the system prompt and the last messages; undefined = the provider caches by itself. */
  cacheMark?: ProviderOptions;
}

/** Costs 3 MB and 20 ms a dialect the first time. */
export async function loadAdapter(kind: ProviderKind): Promise<Adapter> {
  switch (kind) {
    case 'openai':
      return (await import('./adapters/openai.ts')).responsesAdapter;
    case 'openai-chat':
      return (await import('./adapters/openai.ts')).chatAdapter;
    case 'anthropic':
      return (await import('./adapters/anthropic.ts')).anthropicAdapter;
    case 'google':
      return (await import('./adapters/google.ts')).googleAdapter;
    default:
      return (await import('./adapters/openaiCompatible.ts')).compatibleAdapter;
  }
}
