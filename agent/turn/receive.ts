/** One answer of the model, streamed into events. What was received before a cut or an interrupt is kept. */
import { abortReason } from '../../base/time.ts';
import type { ModelMessage, StopReason, ToolCall, Usage } from '../ports.ts';
import type { TurnParts } from '../turn.ts';
import { failureOf, type Failure } from './outcome.ts';

export interface Answer {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  usage: Usage | null;
  finishReason: StopReason | 'interrupted' | 'error';
  /** Set when the stream did not come to its end. */
  failure?: Failure;
}

/** Never throws what the provider did wrong; half a set of tool calls is dropped. */
export async function receive(parts: TurnParts, messages: ModelMessage[]): Promise<Answer> {
  const { model, system, tools, events, signal, reasoningEffort, fast, cacheKey, onSent, onFallback } = parts;
  const answer: Answer = { text: '', reasoning: '', toolCalls: [], usage: null, finishReason: 'other' };
  const request = { system, messages, tools: tools.specs, signal, reasoningEffort, fast: fast?.(), cacheKey, onSent };
  try {
    for await (const chunk of untilAborted(model.stream(request), signal)) {
      switch (chunk.type) {
        case 'text':
          answer.text += chunk.text;
          events.emit('message.delta', { text: chunk.text });
          break;
        case 'reasoning':
          answer.reasoning += chunk.text;
          events.emit('reasoning.delta', { text: chunk.text });
          break;
        case 'toolStart':
          events.emit('tool.generating', { name: chunk.name });
          break;
        case 'toolCall':
          answer.toolCalls.push(chunk.call);
          break;
        case 'retry':
          events.emit('status.update', { kind: 'retry', text: `${chunk.reason}; asking again (${chunk.attempt}) in ${chunk.waitMs} ms` });
          break;
        case 'fallback':
          onFallback?.(chunk);
          events.emit('status.update', { kind: 'fallback', text: `${chunk.reason}; asking ${chunk.provider}/${chunk.model} instead` });
          break;
        case 'finish':
          answer.usage = chunk.usage;
          answer.finishReason = chunk.reason;
      }
    }
    return answer;
  } catch (thrown) {
    const failure = failureOf(thrown, signal);
    return { ...answer, toolCalls: [], finishReason: failure.status === 'interrupted' ? 'interrupted' : 'error', failure };
  }
}

/** Leaves the stream as soon as the signal aborts, whether or not the source notices. */
function untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = source[Symbol.asyncIterator]();
  let leave: (reason: unknown) => void = () => {};
  const onAbort = () => leave(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  const forget = () => {
    signal.removeEventListener('abort', onAbort);
    iterator.return?.()?.then(undefined, () => {});
  };
  // Not a race with one promise of the abort: that one would keep a reaction for every token.
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      leave = (reason) => {
        forget();
        reject(reason);
      };
      iterator.next().then((result) => {
        if (result.done) forget();
        resolve(result);
      }, leave);
      if (signal.aborted) onAbort();
    });
  const stop = (): Promise<IteratorResult<T>> => {
    forget();
    return Promise.resolve({ value: undefined, done: true });
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: stop }) };
}
