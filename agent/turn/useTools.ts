/**
 * The tool calls of one answer. Neighbours that only read run side by side, all others one after the
 * other; each leaves a result in the transcript, in the order of the calls, whatever happens to it.
 */
import { isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, systemClock, within, type Clock } from '../../base/time.ts';
import type { ToolCall, ToolResult, Tools } from '../ports.ts';
import { startGuard } from '../toolGuard.ts';
import type { TurnParts } from '../turn.ts';
import { errorResult } from './outcome.ts';

/** Results in the order of the calls; each is stored, then announced, as soon as those before it are. */
export async function useTools(parts: TurnParts, calls: readonly ToolCall[]): Promise<ToolResult[]> {
  const results: ToolResult[] = [];
  for (const group of groups(calls, parts.tools)) {
    const running = sideBySide(group, (call) => useTool(parts, call));
    for (const [index, call] of group.entries()) {
      const { result, durationMs } = await running[index]!;
      parts.transcript.addToolResult(call, result);
      parts.events.emit('tool.complete', {
        tool_id: call.id,
        name: call.name,
        args: call.args,
        result: result.data ?? null,
        result_text: result.text,
        is_error: result.isError,
        duration_s: Math.round(durationMs) / 1_000,
      });
      results.push(result);
    }
  }
  return results;
}

/** Runs of neighbours that may run side by side; every other call is a group of its own. */
function groups(calls: readonly ToolCall[], tools: Tools): ToolCall[][] {
  const all: ToolCall[][] = [];
  let open: ToolCall[] | undefined;
  for (const call of calls) {
    if (!tools.readsOnly(call.name)) {
      all.push([call]);
      open = undefined;
    } else if (open) open.push(call);
    else all.push((open = [call]));
  }
  return all;
}

/** Starts `work` for each item in order, at most `parallelCallsMax` at once. */
function sideBySide<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R>[] {
  const started: Promise<R>[] = [];
  for (const [index, item] of items.entries()) {
    const before = items.length > limits.turn.parallelCallsMax ? started[index - limits.turn.parallelCallsMax] : undefined;
    const one = before ? before.then(() => work(item)) : work(item);
    // Each is awaited in its turn; until then its failure must not count as unhandled.
    one.catch(() => {});
    started.push(one);
  }
  return started;
}

/** Runs one call to its end, the deadline guard or the interrupt. */
async function useTool(parts: TurnParts, call: ToolCall): Promise<{ result: ToolResult; durationMs: number }> {
  const { events, signal, clock = systemClock } = parts;
  const startedAt = clock.monotonic();
  events.emit('tool.start', { tool_id: call.id, name: call.name, args: call.args });
  const result = signal.aborted ? notRun() : call.cut ? cutOff(call) : await guarded(parts, call, clock);
  return { result, durationMs: clock.monotonic() - startedAt };
}

async function guarded(parts: TurnParts, call: ToolCall, clock: Clock): Promise<ToolResult> {
  const { tools, events, signal } = parts;
  const guard = startGuard(call.name, tools.guarded(call.name) ? limits.turn.toolGuardMs : undefined, clock);
  const stop = AbortSignal.any([signal, guard.signal]);
  let over = false;
  const progress = (preview: string) => {
    // One that is left behind has nothing more to say in this turn.
    if (!over) events.emit('tool.progress', { tool_id: call.id, name: call.name, preview });
  };
  const running = tools
    .run(call, { callId: call.id, signal: stop, progress, untimed: guard.untimed })
    .catch((thrown: unknown) => errorResult(thrown));
  try {
    const result = await settledOrLeft(parts, running, stop);
    return result === undefined || stop.aborted ? stopped(result, stop) : result;
  } finally {
    over = true;
    guard.end();
  }
}

/**
 * Waits for the tool. After an abort only briefly: a person who interrupts sees the end at once, and the host is
 * handed what still dies; the deadline guard, which nobody watches, waits until the process group is gone.
 */
function settledOrLeft(
  { signal, onLeft, clock = systemClock }: TurnParts,
  running: Promise<ToolResult>,
  stop: AbortSignal,
): Promise<ToolResult | undefined> {
  const left = Promise.withResolvers<undefined>();
  const leave = () => {
    const ms = signal.aborted ? limits.turn.interruptGraceMs : limits.turn.toolStopMs;
    void within(running, { ms, what: 'stopping a tool', clock }).catch(() => {
      onLeft?.(running);
      left.resolve(undefined);
    });
  };
  if (stop.aborted) leave();
  else stop.addEventListener('abort', leave, { once: true });
  return Promise.race([running, left.promise]).finally(() => stop.removeEventListener('abort', leave));
}

function stopped(result: ToolResult | undefined, stop: AbortSignal): ToolResult {
  const reason = abortReason(stop);
  const why =
    isAgentError(reason) && reason.code === 'TOOL_TIMEOUT'
      ? `TOOL_TIMEOUT (tool_timeout): ${reason.message}`
      : 'Interrupted before it finished.';
  const partial = result?.text && !result.isError ? `\nOutput until then:\n${result.text}` : '';
  return { text: `${why}${partial}`, data: result?.data, isError: true };
}

const cutOff = ({ name }: ToolCall): ToolResult => ({
  text: `Not run: the output limit of this answer was reached within the arguments of ${name}, so the call is incomplete. Repeat it in smaller pieces, for example with several shorter calls.`,
  isError: true,
});

const notRun = (): ToolResult => ({ text: 'Not run: the turn was interrupted.', isError: true });
