/**
 * Events of the gateway RPC (contract §8): `{jsonrpc, method: "event", params: {type, session_id, seq, payload}}`.
 * Names and payloads follow the interface spec (Events) and reference/clients §2.4.
 */
import { z } from '../../base/lazyZod.ts';
import { notice } from '../method.ts';
import { Attachment, Plan, QueuedPrompt, SessionInfo, TurnProblem, UsageTotals } from './rpcRecords.ts';
import { requestKinds, withdrawReasons } from './rpcRequests.ts';

/** `seq` rises by one per session and survives a restart of the worker; session-less events have `session_id` and `seq` null. */
export const EventParams = z.object({
  type: z.string(),
  session_id: z.string().nullable(),
  seq: z.number().nullable(),
  payload: z.record(z.string(), z.unknown()),
});
export type EventParams = z.infer<typeof EventParams>;
export const event = notice('event', EventParams);

const Empty = z.object({});
const Outcome = z.enum(['complete', 'interrupted', 'error']);
/** Payloads by type. */
export const eventPayloads = {
  'gateway.ready': z.object({ protocol: z.number(), version: z.string(), epoch: z.string(), heartbeat_ms: z.number() }),
  /** Said by the dashboard to its browsers: the agent worker went away; `gateway.ready` follows when it is back. */
  'gateway.away': z.object({ reason: z.string() }),
  /**
   * A prompt takes its place in the transcript: drawn by every surface attached to the session, also those that did
   * not send it. `steered`: it joined the running turn instead of starting one. A prompt that waits is in
   * `queue.updated` until then.
   */
  'prompt.accepted': z.object({
    message_id: z.number(),
    text: z.string(),
    surface: z.string(),
    steered: z.boolean().optional(),
    attachments: z.array(Attachment).optional(),
  }),
  /** The model begins a message; one for each model call of a turn. It may end without text (tool calls alone). */
  'message.start': z.object({ message_id: z.number() }),
  'message.delta': z.object({ text: z.string() }),
  'reasoning.delta': z.object({ text: z.string() }),
  /** Text beside tool calls, finished as a segment of its own. */
  'message.interim': z.object({ message_id: z.number(), text: z.string() }),
  'message.complete': z.object({
    message_id: z.number().nullable(),
    text: z.string(),
    status: Outcome,
    usage: UsageTotals.nullable(),
    error: TurnProblem.nullable(),
    duration_ms: z.number(),
  }),
  /** The model has begun to write the arguments of a call. */
  'tool.generating': z.object({ name: z.string() }),
  /** Interface spec, Events: full arguments. */
  'tool.start': z.object({ tool_id: z.string(), name: z.string(), args: z.unknown() }),
  'tool.progress': z.object({ tool_id: z.string(), name: z.string(), preview: z.string() }),
  /** Interface spec, Events: the parsed result. */
  'tool.complete': z.object({
    tool_id: z.string(),
    name: z.string(),
    args: z.unknown(),
    result: z.unknown(),
    result_text: z.string(),
    is_error: z.boolean(),
    duration_s: z.number(),
  }),
  'todo.updated': Plan,
  /** The status bar: a turn began or ended, the model or its reasoning changed. */
  session_info: SessionInfo,
  'session.title': z.object({ session_id: z.string(), title: z.string() }),
  'session.usage': z.object({ usage: UsageTotals }),
  /** Rows were replaced (compression, undo, truncation): fetch the session again with `session.resume`. */
  'session.changed': z.object({ reason: z.enum(['compressed', 'undone', 'imported']) }),
  /**
   * What the turn does when it does not write: `retry`, `fallback`, `compacting`, `waiting`, `lifecycle`. A kind with a
   * `phase` comes in pairs: each `start` is followed by one `end`, whatever happens.
   */
  'status.update': z.object({ kind: z.string(), text: z.string(), phase: z.enum(['start', 'end']).optional() }),
  'queue.updated': z.object({ queued: z.array(QueuedPrompt) }),
  /** A card goes: it was answered elsewhere, ran out of time, or its turn ended. Clears that card alone. */
  'request.cancel': z.object({ id: z.string(), method: z.enum(requestKinds), reason: z.enum(withdrawReasons) }),
  /** `aside_id`: of the record that a snapshot shows. */
  'btw.complete': z.object({
    aside_id: z.number(),
    task_id: z.string(),
    question: z.string(),
    text: z.string(),
    error: z.string().nullable(),
  }),
  'background.complete': z.object({
    aside_id: z.number(),
    task_id: z.string(),
    session_id: z.string(),
    question: z.string(),
    text: z.string(),
    status: Outcome,
  }),
  'subagent.start': z.object({
    subagent_id: z.string(),
    parent_id: z.string().nullable(),
    goal: z.string(),
    task_index: z.number(),
    task_count: z.number(),
    depth: z.number(),
  }),
  'subagent.progress': z.object({ subagent_id: z.string(), text: z.string(), tool_name: z.string().nullable() }),
  'subagent.complete': z.object({
    subagent_id: z.string(),
    status: z.enum(['complete', 'interrupted', 'error', 'timeout']),
    summary: z.string(),
    duration_s: z.number(),
    model_calls: z.number(),
  }),
  error: z.object({ message: z.string() }),
  notice: z.object({ text: z.string(), level: z.enum(['info', 'warn', 'error']) }),
  /** Lists may have changed: ask again. */
  'sessions.changed': Empty,
  'cron.changed': Empty,
  'setup.ready': z.looseObject({}),
} as const;
export type EventType = keyof typeof eventPayloads;
export type EventPayloads = { [T in EventType]: z.infer<(typeof eventPayloads)[T]> };
