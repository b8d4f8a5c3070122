/**
 * One turn, top to bottom: ask the model, run the tools it calls, ask again, until it is done.
 * Error and interrupt are ways to stop, not exceptions: `runTurn` always answers with an outcome.
 * Owns no storage and no process; everything is a port.
 */
import { limits } from '../base/limits.ts';
import { abortReason, type Clock } from '../base/time.ts';
import type { Compressor, EventSink, Model, ModelChunk, ModelMessage, ToolCall, ToolResult, Tools, Transcript } from './ports.ts';
import { openConversation, type Conversation } from './turn/conversation.ts';
import {
  added,
  contextExhausted,
  cutCallNotice,
  failureOf,
  iterationLimit,
  outputLimit,
  shortcomingOf,
  withheld,
  type TurnEnd,
} from './turn/outcome.ts';
import { receive, type Answer } from './turn/receive.ts';
import { useTools } from './turn/useTools.ts';

export { errorResult, turnError, type TurnEnd, type TurnError } from './turn/outcome.ts';

export interface TurnParts {
  model: Model;
  system: string;
  tools: Tools;
  transcript: Transcript;
  events: EventSink;
  /** Aborts when the user, or the end of the worker, interrupts. */
  signal: AbortSignal;
  clock?: Clock;
  /** Model calls, at most. */
  iterationsMax?: number;
  reasoningEffort?: string | undefined;
  /** Asked before each model call: whether it goes to the provider's fast tier. */
  fast?: (() => boolean) | undefined;
  /** As in ModelRequest. */
  cacheKey?: string | undefined;
  onSent?: (() => void) | undefined;
  /** Absent: a conversation that is too long ends its turn. */
  compressor?: Compressor | undefined;
  /** Another model has taken over. */
  onFallback?: ((chunk: Extract<ModelChunk, { type: 'fallback' }>) => void) | undefined;
  /** An interrupted tool that still ends itself; the turn does not wait for it. */
  onLeft?: ((running: Promise<unknown>) => void) | undefined;
}

/** The turn loop. Errors thrown: only those of the transcript (DISK_FULL, STORE_BUSY). */
export async function runTurn(parts: TurnParts): Promise<TurnEnd> {
  const { transcript, events, signal, iterationsMax = limits.turn.iterationsMax } = parts;
  const conversation = openConversation(transcript.messages(), parts.compressor);
  const end: TurnEnd = { status: 'complete', messageId: null, text: '', error: null, usage: null, modelCalls: 0, toolCalls: 0 };
  let cutAnswers = 0;

  while (end.modelCalls < iterationsMax) {
    await conversation.makeRoom();
    if (signal.aborted) return { ...end, ...failureOf(abortReason(signal), signal) };
    end.messageId = transcript.openAssistant();
    events.emit('message.start', { message_id: end.messageId });
    const answer = await ask(parts, conversation, end);
    end.text = answer.text;
    const calls = uniquelyNamed(answer.toolCalls, conversation.messages, end.messageId);
    transcript.closeAssistant(end.messageId, { ...answer, toolCalls: calls });
    if (answer.failure) return { ...end, ...answer.failure };
    if (calls.length === 0 && answer.finishReason === 'content_filter') return { ...end, status: 'error', error: withheld() };

    if (answer.text || calls.length > 0) conversation.add({ role: 'assistant', content: answer.text, toolCalls: calls });
    const cut = calls.find((call) => call.cut);
    cutAnswers = cut ? cutAnswers + 1 : 0;
    if (cut) events.emit('notice', { text: cutCallNotice(cut.name), level: 'warn' });
    if (calls.length > 0) {
      if (answer.text) events.emit('message.interim', { message_id: end.messageId, text: answer.text });
      transcript.toolsStarting();
      const results = await useTools(parts, calls);
      end.toolCalls += calls.length;
      conversation.add(...calls.map((call, index) => toolMessage(call, results[index]!)));
      if (signal.aborted) return { ...end, ...failureOf(abortReason(signal), signal) };
    }
    if (cutAnswers >= limits.turn.cutAnswersMax) return { ...end, status: 'error', error: outputLimit(cutAnswers) };
    // Not taken when nobody would read it any more: it stays in the queue and becomes the next prompt.
    const steered = end.modelCalls < iterationsMax ? transcript.takeSteer() : [];
    conversation.add(...steered.map((content): ModelMessage => ({ role: 'user', content })));
    if (calls.length > 0) continue;
    if (steered.length === 0 && answer.finishReason !== 'paused') {
      const shortcoming = shortcomingOf(answer);
      if (shortcoming) events.emit('notice', { text: shortcoming, level: 'warn' });
      return end;
    }
    events.emit('message.interim', { message_id: end.messageId, text: answer.text });
  }
  return { ...end, status: 'error', error: iterationLimit(iterationsMax) };
}

/** Asks the model; once more after making room when the provider finds the prompt too long. */
async function ask(parts: TurnParts, conversation: Conversation, end: TurnEnd): Promise<Answer> {
  const first = await askOnce(parts, conversation, end);
  if (!overflowed(first)) return first;
  if (!(await conversation.shrink())) return exhausted(first);
  if (parts.signal.aborted) return { ...first, finishReason: 'interrupted', failure: failureOf(abortReason(parts.signal), parts.signal) };
  const second = await askOnce(parts, conversation, end);
  return overflowed(second) ? exhausted(second) : second;
}

async function askOnce(parts: TurnParts, conversation: Conversation, end: TurnEnd): Promise<Answer> {
  end.modelCalls++;
  const answer = await receive(parts, conversation.messages);
  end.usage = added(end.usage, answer.usage);
  if (answer.usage) end.contextTokens = answer.usage.input;
  conversation.counted(answer.usage);
  return answer;
}

const overflowed = ({ failure }: Answer): boolean => failure?.error?.code === 'CONTEXT_OVERFLOW';

const exhausted = (answer: Answer): Answer => ({
  ...answer,
  failure: { status: 'error', error: contextExhausted(answer.failure!.error!.message) },
});

// --- small rules ---

const toolMessage = (call: ToolCall, { text, isError, files }: ToolResult): ModelMessage => ({
  role: 'tool',
  toolCallId: call.id,
  toolName: call.name,
  content: text,
  isError,
  ...(files?.length ? { files } : {}),
});

/** Some servers number their calls from zero in each answer; surfaces and the transcript need ids that do not repeat. */
function uniquelyNamed(calls: ToolCall[], messages: readonly ModelMessage[], messageId: number): ToolCall[] {
  if (calls.length === 0) return calls;
  const taken = new Set(messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map((call) => call.id) : [])));
  return calls.map((call, index) => {
    const id = call.id && !taken.has(call.id) ? call.id : `call_${messageId}_${index}`;
    taken.add(id);
    return { ...call, id };
  });
}
