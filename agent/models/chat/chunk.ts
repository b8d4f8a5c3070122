/**
 * One frame of an OpenAI chat stream, checked by hand: a schema over each token is a third of what the token costs
 * (docs/adr/0028). Checks what is read here and nothing else; an error that the provider put into the stream is thrown.
 */
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

interface FunctionDelta {
  name?: string | null;
  /** Some servers write the object itself. */
  arguments?: string | object | null;
}

export interface ToolDelta {
  index?: number | null;
  id?: string | null;
  function: FunctionDelta;
  /** Signed thoughts of Gemini behind such a server. */
  extra_content?: { google?: { thought_signature?: string | null } | null } | null;
}

export interface Delta {
  content?: string | { type: string; text?: unknown; thinking?: unknown }[] | null;
  /** Anything but text stands for none. */
  refusal?: unknown;
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: ToolDelta[] | null;
  /** What `tool_calls` replaced; older servers still write it. */
  function_call?: FunctionDelta | null;
}

export interface ChatUsage {
  prompt_tokens?: number | null;
  completion_tokens?: number | null;
  prompt_tokens_details?: { cached_tokens?: number | null } | null;
  completion_tokens_details?: { reasoning_tokens?: number | null } | null;
}

export interface ChatChunk {
  delta: Delta | null;
  finishReason: string | null;
  usage: ChatUsage | null;
}

/** Errors: PROVIDER_FAILED for what is no chunk; what the provider says went wrong, as an Error with its words as `data`. */
export function readChunk(text: string): ChatChunk {
  const value = parsed(text);
  if (!isRecord(value)) throw malformed('is no object', text);
  const { error, choices, usage } = value;
  if (error !== undefined && error !== null) throw providerError(error, value);
  if (!Array.isArray(choices)) throw malformed('has no choices', text);
  if (!isNothing(usage) && !isUsage(usage)) throw malformed('has a wrong usage', text);
  const choice: unknown = choices[0];
  const told = { usage: (usage as ChatUsage | undefined) ?? null };
  if (choice === undefined) return { ...told, delta: null, finishReason: null };
  if (!isRecord(choice) || !isText(choice.finish_reason)) throw malformed('has a wrong choice', text);
  const { delta = choice.message, finish_reason } = choice;
  if (!isNothing(delta) && !isDelta(delta)) throw malformed('has a wrong delta', text);
  return { ...told, delta: (delta as Delta | undefined) ?? null, finishReason: (finish_reason as string | undefined) ?? null };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed('is no JSON', text);
  }
}

const malformed = (how: string, text: string): AgentError =>
  new AgentError('PROVIDER_FAILED', `a frame of its stream ${how}: ${text.slice(0, limits.models.errorTextMaxChars)}`, {
    fix: 'check that base_url is the address of a chat API (it often ends in /v1) and not of a page',
  });

/** The words of a stream's error frame; failure.ts looks into `data`. */
function providerError(error: unknown, data: Record<string, unknown>): Error {
  const said = isRecord(error) && typeof error.message === 'string' ? error.message : JSON.stringify(error);
  return Object.assign(new Error(said), { data });
}

// --- what is read ---

const isNothing = (value: unknown): value is undefined | null => value === undefined || value === null;
const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): boolean => typeof value === 'string' || isNothing(value);
const isCount = (value: unknown): boolean => typeof value === 'number' || isNothing(value);

function isDelta(delta: unknown): boolean {
  if (!isRecord(delta)) return false;
  const { content, reasoning_content, reasoning, tool_calls, function_call } = delta;
  return (
    (isText(content) || (Array.isArray(content) && content.every((part) => isRecord(part) && typeof part.type === 'string'))) &&
    isText(reasoning_content) &&
    isText(reasoning) &&
    (isNothing(function_call) || isFunctionDelta(function_call)) &&
    (isNothing(tool_calls) || (Array.isArray(tool_calls) && tool_calls.every(isToolDelta)))
  );
}

function isToolDelta(call: unknown): boolean {
  if (!isRecord(call) || !isFunctionDelta(call.function)) return false;
  const { index, id, extra_content: extra } = call;
  const google = isRecord(extra) ? extra.google : undefined;
  return isCount(index) && isText(id) && (isNothing(google) || (isRecord(google) && isText(google.thought_signature)));
}

const isFunctionDelta = (value: unknown): boolean =>
  isRecord(value) && isText(value.name) && (isText(value.arguments) || isRecord(value.arguments));

function isUsage(usage: unknown): boolean {
  if (!isRecord(usage)) return false;
  const { prompt_tokens_details: prompt, completion_tokens_details: completion } = usage;
  return (
    isCount(usage.prompt_tokens) &&
    isCount(usage.completion_tokens) &&
    (isNothing(prompt) || (isRecord(prompt) && isCount(prompt.cached_tokens))) &&
    (isNothing(completion) || (isRecord(completion) && isCount(completion.reasoning_tokens)))
  );
}
