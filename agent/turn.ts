/**
 * One turn, top to bottom: ask the model, run the tools it calls, ask again, until it is done.
 * Error and interrupt are ways to stop, not exceptions: `runTurn` always answers with an outcome.
 * Owns no storage and no process; everything is a port.
 */
import { AgentError, isAgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { abortReason, systemClock, within, type Clock } from '../base/time.ts';
import type { EventSink, Model, ModelMessage, StopReason, ToolCall, ToolResult, Tools, Transcript, Usage } from './ports.ts';

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
  /** Whether the model call that leaves now asks for the fast tier. */
  fast?: () => boolean;
  /** Stable name of the conversation. */
  cacheKey?: string | undefined;
}

export interface TurnError {
  code: string;
  message: string;
  fix: string | null;
}

export interface TurnEnd {
  status: 'complete' | 'interrupted' | 'error';
  /** Row of the last assistant message. */
  messageId: number | null;
  /** Its text; on `interrupted` and `error` what had been received. */
  text: string;
  error: TurnError | null;
  usage: Usage | null;
  modelCalls: number;
  toolCalls: number;
}

/** The turn loop. Errors thrown: only those of the transcript (DISK_FULL, STORE_BUSY). */
export async function runTurn(parts: TurnParts): Promise<TurnEnd> {
  const { transcript, events, signal, iterationsMax = limits.turn.iterationsMax } = parts;
  const messages = transcript.messages();
  const end: TurnEnd = { status: 'complete', messageId: null, text: '', error: null, usage: null, modelCalls: 0, toolCalls: 0 };

  while (end.modelCalls < iterationsMax) {
    end.modelCalls++;
    end.messageId = transcript.openAssistant();
    events.emit('message.start', { message_id: end.messageId });
    const answer = await receive(parts, messages);
    end.text = answer.text;
    end.usage = added(end.usage, answer.usage);
    const calls = uniquelyNamed(answer.toolCalls, messages, end.messageId);
    transcript.closeAssistant(end.messageId, { ...answer, toolCalls: calls });
    if (answer.failure) return { ...end, ...answer.failure };
    if (calls.length === 0) return end;

    if (answer.text) events.emit('message.interim', { message_id: end.messageId, text: answer.text });
    messages.push({ role: 'assistant', content: answer.text, toolCalls: calls });
    transcript.toolsStarting();
    for (const call of calls) {
      const result = await useTool(parts, call);
      end.toolCalls++;
      messages.push({ role: 'tool', toolCallId: call.id, toolName: call.name, content: result.text, isError: result.isError });
    }
    if (signal.aborted) return { ...end, ...failureOf(abortReason(signal), signal) };
  }
  return { ...end, status: 'error', error: iterationLimit(iterationsMax) };
}

// --- asking the model ---

interface Answer {
  text: string;
  reasoning: string;
  toolCalls: ToolCall[];
  usage: Usage | null;
  finishReason: StopReason | 'interrupted' | 'error';
  /** Set when the stream did not come to its end. */
  failure?: Pick<TurnEnd, 'status' | 'error'>;
}

/** Streams one answer into events. What was received before a cut or an interrupt is kept; half a set of tool calls is not. */
async function receive(parts: TurnParts, messages: ModelMessage[]): Promise<Answer> {
  const { model, system, tools, events, signal, reasoningEffort, cacheKey } = parts;
  const answer: Answer = { text: '', reasoning: '', toolCalls: [], usage: null, finishReason: 'other' };
  try {
    const request = { system, messages, tools: tools.specs, signal, reasoningEffort, cacheKey, fast: parts.fast?.() };
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
        case 'toolCall':
          answer.toolCalls.push(chunk.call);
          break;
        case 'retry':
          events.emit('status.update', { kind: 'retry', text: `${chunk.reason}; asking again (${chunk.attempt}) in ${chunk.waitMs} ms` });
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
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = () => aborted.reject(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted.promise]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    iterator.return?.()?.then(undefined, () => {});
  }
}

// --- using a tool ---

/** Runs one call to its end, the deadline guard or the interrupt; each of them leaves a result in the transcript. */
async function useTool({ tools, transcript, events, signal, clock = systemClock }: TurnParts, call: ToolCall): Promise<ToolResult> {
  const startedAt = clock.monotonic();
  events.emit('tool.start', { tool_id: call.id, name: call.name, args: call.args });
  const progress = (preview: string) => events.emit('tool.progress', { tool_id: call.id, name: call.name, preview });
  const result = signal.aborted ? notRun() : await guarded({ tools, call, signal, clock, progress });
  transcript.addToolResult(call, result);
  events.emit('tool.complete', {
    tool_id: call.id,
    name: call.name,
    args: call.args,
    result: result.data ?? null,
    result_text: result.text,
    is_error: result.isError,
    duration_s: Math.round(clock.monotonic() - startedAt) / 1_000,
  });
  return result;
}

interface GuardedCall {
  tools: Tools;
  call: ToolCall;
  signal: AbortSignal;
  clock: Clock;
  progress: (preview: string) => void;
}

async function guarded({ tools, call, signal, clock, progress }: GuardedCall): Promise<ToolResult> {
  const guardMs = limits.turn.toolGuardMs;
  const guard = new AbortController();
  const cancelGuard = tools.guarded(call.name)
    ? clock.after(guardMs, () =>
        guard.abort(new AgentError('TOOL_TIMEOUT', `${call.name} took longer than ${guardMs / 1_000} s and was stopped`)),
      )
    : () => {};
  const stop = AbortSignal.any([signal, guard.signal]);
  const running = tools.run(call, { callId: call.id, signal: stop, progress }).catch((thrown: unknown) => errorResult(thrown));
  try {
    const result = await settledOrLeft(running, stop, clock);
    return result === undefined || stop.aborted ? stopped(result, stop) : result;
  } finally {
    cancelGuard();
  }
}

/** Waits for the tool; after an abort only as long as it takes to kill a process group. */
function settledOrLeft(running: Promise<ToolResult>, stop: AbortSignal, clock: Clock): Promise<ToolResult | undefined> {
  const left = Promise.withResolvers<undefined>();
  const leave = () =>
    void within(running, { ms: limits.turn.toolStopMs, what: 'stopping a tool', clock }).catch(() => left.resolve(undefined));
  if (stop.aborted) leave();
  else stop.addEventListener('abort', leave, { once: true });
  return Promise.race([running, left.promise]).finally(() => stop.removeEventListener('abort', leave));
}

function stopped(result: ToolResult | undefined, stop: AbortSignal): ToolResult {
  const reason = abortReason(stop);
  const why =
    isAgentError(reason) && reason.code === 'TOOL_TIMEOUT' ? `TOOL_TIMEOUT: ${reason.message}` : 'Interrupted before it finished.';
  const partial = result?.text && !result.isError ? `\nOutput until then:\n${result.text}` : '';
  return { text: `${why}${partial}`, data: result?.data, isError: true };
}

const notRun = (): ToolResult => ({ text: 'Not run: the turn was interrupted.', isError: true });

/** What the model reads of a tool that threw. */
export function errorResult(thrown: unknown): ToolResult {
  const code = isAgentError(thrown) ? `${thrown.code}: ` : '';
  const fix = isAgentError(thrown) && thrown.fix ? ` (${thrown.fix})` : '';
  return { text: `${code}${messageOf(thrown)}${fix}`, isError: true };
}

// --- small rules ---

function failureOf(thrown: unknown, signal: AbortSignal): Pick<TurnEnd, 'status' | 'error'> {
  if (signal.aborted) return { status: 'interrupted', error: interruptError(abortReason(signal)) };
  return { status: 'error', error: turnError(thrown) };
}

/** An interrupt by the user needs no explanation; one by the service does. */
function interruptError(reason: unknown): TurnError | null {
  return isAgentError(reason) && reason.code !== 'CANCELLED' ? turnError(reason) : null;
}

export function turnError(thrown: unknown): TurnError {
  return isAgentError(thrown)
    ? { code: thrown.code, message: thrown.message, fix: thrown.fix ?? null }
    : { code: 'INTERNAL', message: messageOf(thrown), fix: 'agent logs agent -n 50 shows the stack' };
}

const iterationLimit = (max: number): TurnError => ({
  code: 'ITERATION_LIMIT',
  message: `the turn was stopped after ${max} model calls`,
  fix: 'say "go on" to continue, or raise agent.max_turns',
});

function added(sum: Usage | null, more: Usage | null): Usage | null {
  if (!sum || !more) return sum ?? more;
  return { input: sum.input + more.input, output: sum.output + more.output };
}

/** Some servers number their calls from zero in each answer; surfaces and the transcript need ids that do not repeat. */
function uniquelyNamed(calls: ToolCall[], messages: readonly ModelMessage[], messageId: number): ToolCall[] {
  const taken = new Set(messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls.map((call) => call.id) : [])));
  return calls.map((call, index) => {
    const id = call.id && !taken.has(call.id) ? call.id : `call_${messageId}_${index}`;
    taken.add(id);
    return { ...call, id };
  });
}
