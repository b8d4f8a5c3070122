/**
 * The frames of an OpenAI chat stream as the parts that every provider's package gives. Which fragment of a call belongs
 * to which call is the package's own knowledge (`StreamingToolCallTracker`); here is what stands around it.
 */
import { StreamingToolCallTracker } from '@ai-sdk/provider-utils';
import type { StreamPart } from '../endpoint.ts';
import { readChunk, type ChatUsage, type Delta, type ToolDelta } from './chunk.ts';
import { ThinkTags } from './thinkTags.ts';

type Finish = Extract<StreamPart, { type: 'finish' }>;
type Unified = Finish['finishReason']['unified'];

const TEXT_ID = 'text';
const REASONING_ID = 'reasoning';

export class ChatParts {
  #emit: (part: StreamPart) => void;
  #tracker: StreamingToolCallTracker<TextDelta>;
  /** Calls whose name has not come yet, and those that have one. */
  #nameless = new Map<number, TextDelta>();
  #named = new Set<number>();
  #began = false;
  #tags = new ThinkTags((kind, text) => this.#say(kind, text));
  #open: 'text' | 'reasoning' | undefined;
  #refused = false;
  #finishReason: string | null = null;
  #usage: ChatUsage | null = null;

  /** `metadataKey`: under which the provider finds its own marks again in the next prompt. */
  constructor(metadataKey: string, emit: (part: StreamPart) => void) {
    this.#emit = emit;
    this.#tracker = new StreamingToolCallTracker<TextDelta>(
      { enqueue: emit },
      {
        extractMetadata: (delta) => {
          const thoughtSignature = delta.extra_content?.google?.thought_signature;
          return thoughtSignature ? { [metadataKey]: { thoughtSignature } } : undefined;
        },
        buildToolCallProviderMetadata: (metadata) => metadata,
      },
    );
  }

  /** Errors: as readChunk. */
  read(data: string): void {
    // An empty frame is what some proxies send to keep a connection alive.
    if (data === '[DONE]' || data.trim() === '') return this.alive();
    const { delta, finishReason, usage } = readChunk(data);
    if (!this.#began) {
      // A first frame without text is a sign of life too.
      this.#began = true;
      this.#emit({ type: 'response-metadata' });
    }
    if (usage) this.#usage = usage;
    if (finishReason !== null) this.#finishReason = finishReason;
    if (delta) this.#readDelta(delta);
  }

  /** The server has sent something that means nothing yet. */
  alive(): void {
    this.#emit({ type: 'raw', rawValue: null });
  }

  /** Closes what is open. Says nothing of an end that the provider did not say. */
  end(): void {
    this.#tags.end();
    this.#close();
    for (const call of this.#nameless.values()) this.#tracker.processDelta(call);
    this.#tracker.flush();
    if (this.#finishReason === null) return;
    const unified = this.#refused && this.#finishReason === 'stop' ? 'content-filter' : (unifiedReasons[this.#finishReason] ?? 'other');
    this.#emit({ type: 'finish', finishReason: { unified, raw: this.#finishReason }, usage: usageOf(this.#usage) });
  }

  #readDelta({ content, refusal, reasoning_content, reasoning, tool_calls, function_call }: Delta): void {
    const thought = reasoning_content ?? reasoning;
    if (thought) this.#say('reasoning', thought);
    if (typeof content === 'string') {
      if (content) this.#tags.push(content);
    } else if (content) {
      for (const part of content) {
        if (part.type === 'text' && typeof part.text === 'string' && part.text) this.#tags.push(part.text);
        else if (part.type === 'thinking') this.#sayThinking(part.thinking);
      }
    }
    if (typeof refusal === 'string' && refusal) {
      this.#refused = true;
      this.#say('text', refusal);
    }
    const calls = tool_calls?.length ? tool_calls : function_call ? [{ index: 0, function: function_call }] : [];
    if (calls.length === 0) return;
    this.#tags.end();
    if (this.#open === 'reasoning') this.#close();
    for (const call of calls) this.#readCall({ ...call, function: { ...call.function, arguments: textOf(call.function.arguments) } });
  }

  /** `[{type: 'text', text}]`, as Mistral writes it. */
  #sayThinking(thinking: unknown): void {
    if (!Array.isArray(thinking)) return;
    const text = thinking
      .map((part: { type?: unknown; text?: unknown } | null) => (part?.type === 'text' && typeof part.text === 'string' ? part.text : ''))
      .join('');
    if (text) this.#say('reasoning', text);
  }

  #say(kind: 'text' | 'reasoning', delta: string): void {
    const id = kind === 'text' ? TEXT_ID : REASONING_ID;
    if (this.#open !== kind) {
      this.#close();
      this.#open = kind;
      this.#emit({ type: `${kind}-start`, id });
    }
    this.#emit({ type: `${kind}-delta`, id, delta });
  }

  #close(): void {
    if (this.#open === 'text') this.#emit({ type: 'text-end', id: TEXT_ID });
    else if (this.#open === 'reasoning') this.#emit({ type: 'reasoning-end', id: REASONING_ID });
    this.#open = undefined;
  }

  /** Some servers send the first fragment of a call without its name, which the tracker refuses: it is held back until then. */
  #readCall(call: TextDelta): void {
    const { index } = call;
    if (index === undefined || index === null || this.#named.has(index)) return this.#tracker.processDelta(call);
    const held = this.#nameless.get(index);
    const whole: TextDelta = {
      index,
      id: held?.id ?? call.id ?? null,
      function: { ...call.function, arguments: (held?.function.arguments ?? '') + (call.function.arguments ?? '') },
      extra_content: held?.extra_content ?? call.extra_content ?? null,
    };
    if (call.function.name === undefined || call.function.name === null) return void this.#nameless.set(index, whole);
    this.#nameless.delete(index);
    this.#named.add(index);
    this.#tracker.processDelta(whole);
  }
}

/** With its arguments as text. */
type TextDelta = ToolDelta & { function: { arguments: string | null } };

const textOf = (args: string | object | null | undefined): string | null =>
  typeof args === 'object' && args !== null ? JSON.stringify(args) : (args ?? null);

const unifiedReasons: Record<string, Unified> = {
  stop: 'stop',
  length: 'length',
  // Mistral, and servers that pass on the word of another vendor.
  model_length: 'length',
  max_tokens: 'length',
  content_filter: 'content-filter',
  function_call: 'tool-calls',
  tool_calls: 'tool-calls',
  // Servers that pass on the word of their engine.
  eos: 'stop',
  end_turn: 'stop',
  tool_use: 'tool-calls',
};

function usageOf(usage: ChatUsage | null): Finish['usage'] {
  const input = usage?.prompt_tokens ?? 0;
  const output = usage?.completion_tokens ?? 0;
  const cacheRead = usage?.prompt_tokens_details?.cached_tokens ?? 0;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens ?? 0;
  return {
    inputTokens: { total: usage ? input : undefined, noCache: input - cacheRead, cacheRead, cacheWrite: undefined },
    outputTokens: { total: usage ? output : undefined, text: Math.max(0, output - reasoning), reasoning },
  };
}
