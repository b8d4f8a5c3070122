/**
 * Events of the gateway RPC (contract §8): `{jsonrpc, method: "event", params: {type, session_id, seq, payload}}`.
 * Names and payloads follow the interface spec (Events) and reference/clients §2.4.
 */
import { z } from 'zod';
import { notice } from '../method.ts';
import type { Plan, SessionInfo, UsageTotals } from './rpc.ts';
import type { RequestKind, WithdrawReason } from './rpcRequests.ts';

export const eventTypes = [
  'gateway.ready',
  'gateway.away',
  'prompt.accepted',
  'message.start',
  'message.delta',
  'reasoning.delta',
  'message.interim',
  'message.complete',
  'tool.generating',
  'tool.start',
  'tool.progress',
  'tool.complete',
  'todo.updated',
  'session_info',
  'session.title',
  'session.usage',
  'session.changed',
  'status.update',
  'queue.updated',
  'request.cancel',
  'btw.complete',
  'background.complete',
  'subagent.start',
  'subagent.progress',
  'subagent.complete',
  'error',
  'notice',
  'sessions.changed',
  'cron.changed',
  'setup.ready',
] as const;
export type EventType = (typeof eventTypes)[number];

/** `seq` rises by one per session and survives a restart of the worker; session-less events have `session_id` and `seq` null. */
export const EventParams = z.object({
  type: z.string(),
  session_id: z.string().nullable(),
  seq: z.number().nullable(),
  payload: z.record(z.string(), z.unknown()),
});
export type EventParams = z.infer<typeof EventParams>;
export const event = notice('event', EventParams);

/** Payloads by type. */
export interface EventPayloads {
  'gateway.ready': { protocol: number; version: string; epoch: string; heartbeat_ms: number };
  /** Said by the dashboard to its browsers: the agent worker went away; `gateway.ready` follows when it is back. */
  'gateway.away': { reason: string };
  /**
   * A prompt takes its place in the transcript: drawn by every surface attached to the session, also those that did
   * not send it. `steered`: it joined the running turn instead of starting one. A prompt that waits is in
   * `queue.updated` until then.
   */
  'prompt.accepted': { message_id: number; text: string; surface: string; steered?: boolean };
  /** The model begins a message; one for each model call of a turn. It may end without text (tool calls alone). */
  'message.start': { message_id: number };
  'message.delta': { text: string };
  'reasoning.delta': { text: string };
  /** Text beside tool calls, finished as a segment of its own. */
  'message.interim': { message_id: number; text: string };
  'message.complete': {
    message_id: number | null;
    text: string;
    status: 'complete' | 'interrupted' | 'error';
    usage: UsageTotals | null;
    error: { code: string; message: string; fix: string | null } | null;
    duration_ms: number;
  };
  /** The model has begun to write the arguments of a call. */
  'tool.generating': { name: string };
  'tool.start': { tool_id: string; name: string; args: unknown };
  'tool.progress': { tool_id: string; name: string; preview: string };
  'tool.complete': {
    tool_id: string;
    name: string;
    args: unknown;
    result: unknown;
    result_text: string;
    is_error: boolean;
    duration_s: number;
  };
  'todo.updated': Plan;
  session_info: SessionInfo;
  'session.title': { session_id: string; title: string };
  'session.usage': { usage: UsageTotals };
  /** Rows were replaced (compression, undo, truncation): fetch the session again with `session.resume`. */
  'session.changed': { reason: 'compressed' | 'undone' | 'imported' };
  /**
   * What the turn does when it does not write: `retry`, `fallback`, `compacting`, `waiting`, `lifecycle`. A kind with a
   * `phase` comes in pairs: each `start` is followed by one `end`, whatever happens.
   */
  'status.update': { kind: string; text: string; phase?: 'start' | 'end' };
  'queue.updated': { queued: { id: number; text: string }[] };
  /** A card goes: it was answered elsewhere, ran out of time, or its turn ended. Clears that card alone. */
  'request.cancel': { id: string; method: RequestKind; reason: WithdrawReason };
  'btw.complete': { task_id: string; question: string; text: string; error: string | null };
  'background.complete': { task_id: string; session_id: string; text: string; status: 'complete' | 'interrupted' | 'error' };
  'subagent.start': { subagent_id: string; parent_id: string | null; goal: string; task_index: number; task_count: number; depth: number };
  'subagent.progress': { subagent_id: string; text: string; tool_name: string | null };
  'subagent.complete': {
    subagent_id: string;
    status: 'complete' | 'interrupted' | 'error' | 'timeout';
    summary: string;
    duration_s: number;
    model_calls: number;
  };
  error: { message: string };
  notice: { text: string; level: 'info' | 'warn' | 'error' };
}
