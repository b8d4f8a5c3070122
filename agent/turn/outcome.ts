/** How a turn ends, and the words for what went wrong in it. */
import { isAgentError, messageOf, type AgentError } from '../../base/errors.ts';
import { abortReason } from '../../base/time.ts';
import type { ToolResult, Usage } from '../ports.ts';

export interface TurnError {
  code: string;
  message: string;
  fix: string | null;
  /** Of a provider that says more in its refusal (interface spec, Errors); `retry_after` in seconds. */
  reason?: string;
  retry_after?: number;
  upgrade_url?: string;
  alternates?: string[];
}

export interface TurnEnd {
  status: 'complete' | 'interrupted' | 'error';
  /** Row of the last assistant message. */
  messageId: number | null;
  /** Its text; on `interrupted` and `error` what had been received. */
  text: string;
  error: TurnError | null;
  /** Of all model calls together. */
  usage: Usage | null;
  modelCalls: number;
  toolCalls: number;
  /** Tokens of the last prompt as the provider counted them. */
  contextTokens?: number;
}

export type Failure = Pick<TurnEnd, 'status' | 'error'>;

export function failureOf(thrown: unknown, signal: AbortSignal): Failure {
  if (signal.aborted) return { status: 'interrupted', error: interruptError(abortReason(signal)) };
  return { status: 'error', error: turnError(thrown) };
}

/** An interrupt by the user needs no explanation; one by the service does. */
function interruptError(reason: unknown): TurnError | null {
  return isAgentError(reason) && reason.code !== 'CANCELLED' ? turnError(reason) : null;
}

export function turnError(thrown: unknown): TurnError {
  return isAgentError(thrown)
    ? { code: thrown.code, message: thrown.message, fix: thrown.fix ?? null, ...refusalFacts(thrown) }
    : { code: 'INTERNAL', message: messageOf(thrown), fix: 'agent logs agent -n 50 shows the stack' };
}

function refusalFacts({ facts = {}, retryAfterMs }: AgentError): Omit<TurnError, 'code' | 'message' | 'fix'> {
  const { reason, upgrade_url: upgradeUrl, alternates } = facts;
  return {
    ...(typeof reason === 'string' ? { reason } : {}),
    ...(retryAfterMs === undefined ? {} : { retry_after: Math.ceil(retryAfterMs / 1_000) }),
    ...(typeof upgradeUrl === 'string' ? { upgrade_url: upgradeUrl } : {}),
    ...(Array.isArray(alternates) && alternates.length > 0 ? { alternates: alternates as string[] } : {}),
  };
}

/** What the model reads of a tool that threw. */
export function errorResult(thrown: unknown): ToolResult {
  const code = isAgentError(thrown) ? `${thrown.code}: ` : '';
  const fix = isAgentError(thrown) && thrown.fix ? ` (${thrown.fix})` : '';
  return { text: `${code}${messageOf(thrown)}${fix}`, isError: true };
}

export const iterationLimit = (max: number): TurnError => ({
  code: 'ITERATION_LIMIT',
  message: `the turn was stopped after ${max} model calls`,
  fix: 'say "go on" to continue, or raise agent.max_turns',
});

export const cutCallNotice = (name: string): string =>
  `The output limit was reached within a call of ${name}. The call was not run; the model is asked to repeat it in smaller pieces.`;

export const outputLimit = (answers: number): TurnError => ({
  code: 'OUTPUT_LIMIT',
  message: `${answers} answers in a row reached the output limit within a tool call, so none of these calls was run`,
  fix: 'ask for smaller steps, or choose a model with a larger output limit: /model',
});

export const withheld = (): TurnError => ({
  code: 'CONTENT_FILTERED',
  message: 'the provider withheld the answer, or the rest of it (its content filter)',
  fix: 'ask in other words, or let another model answer: /model',
});

/** What a reader would not see in the answer itself; undefined = nothing. */
export function shortcomingOf({ text, finishReason }: { text: string; finishReason: string }): string | undefined {
  if (finishReason === 'length') return 'The answer stops here: the model has reached its limit of output. Say "go on" to continue.';
  return text.trim() === '' ? 'The model gave no answer.' : undefined;
}

export const contextExhausted = (why: string): TurnError => ({
  code: 'CONTEXT_EXHAUSTED',
  message: `the conversation no longer fits the model's window, and compression could not help: ${why}`,
  fix: '/compress here 0 summarises all of it, /new starts afresh, /model chooses one with a larger window',
});

/** A count that one of the two does not know is that of the other. */
export function added(sum: Usage | null, more: Usage | null): Usage | null {
  if (!sum || !more) return sum ?? more;
  const total: Usage = { input: sum.input + more.input, output: sum.output + more.output };
  for (const key of ['reasoning', 'cacheRead', 'cacheWrite', 'costUsd'] as const) {
    if (sum[key] !== undefined || more[key] !== undefined) total[key] = (sum[key] ?? 0) + (more[key] ?? 0);
  }
  return total;
}
