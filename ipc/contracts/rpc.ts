/**
 * The gateway RPC (contract §8): what terminal clients say on `run/agent.sock` and browsers on `/api/ws`.
 * Names and payloads of events follow the interface spec and reference/clients §2.4. Parameters are
 * strict: an unknown one answers 4000 with the field.
 */
import { z } from 'zod';
import { notice, rpcMethod, type Method } from '../method.ts';
import { Surface } from './agent.ts';

const SessionId = z.string({ error: 'session_id is missing' });

// --- records ---

export const Message = z.object({
  id: z.number(),
  role: z.enum(['user', 'assistant', 'system', 'tool']),
  content: z.string(),
  tool_calls: z.array(z.object({ id: z.string(), name: z.string(), args: z.unknown() })).nullable(),
  tool_call_id: z.string().nullable(),
  tool_name: z.string().nullable(),
  reasoning: z.string().nullable(),
  /** `stop`, `interrupted`, `error`, … on assistant rows. */
  finish_reason: z.string().nullable(),
  /** RFC 3339. */
  timestamp: z.string(),
});
export type Message = z.infer<typeof Message>;

export const SessionRow = z.object({
  id: z.string(),
  source: z.string(),
  title: z.string().nullable(),
  model: z.string().nullable(),
  started_at: z.string(),
  last_active: z.string(),
  message_count: z.number(),
  preview: z.string(),
  status: z.enum(['idle', 'working']),
});
export type SessionRow = z.infer<typeof SessionRow>;

/** The status bar of a session: payload of `session_info`. */
export const SessionInfo = z.object({
  model: z.string().nullable(),
  provider: z.string().nullable(),
  reasoning_effort: z.string().nullable(),
  /** The model is the scripted rehearsal, not a real one. */
  scripted: z.boolean(),
  cwd: z.string(),
  tools: z.array(z.string()),
  running: z.boolean(),
  title: z.string().nullable(),
  version: z.string(),
  /** Set when no provider is usable: the sentence and the two shortest ways out. */
  credential_warning: z.string().nullable(),
});
export type SessionInfo = z.infer<typeof SessionInfo>;

export const QueuedPrompt = z.object({ id: z.number(), text: z.string() });

/** Everything a surface needs to draw a session it has never seen. */
export const Snapshot = z.object({
  session_id: z.string(),
  messages: z.array(Message),
  status: z.enum(['idle', 'working']),
  /** The running turn as far as it is: text streamed so far and open tool calls. */
  inflight: z
    .object({
      message_id: z.number(),
      text: z.string(),
      reasoning: z.string(),
      tools: z.array(z.object({ tool_id: z.string(), name: z.string(), args: z.unknown() })),
      started_at: z.string(),
    })
    .nullable(),
  queued: z.array(QueuedPrompt),
  open_requests: z.array(z.unknown()),
  pending_connection: z.unknown().nullable(),
  info: SessionInfo,
  /** Number of the last event already contained in this snapshot. */
  latest_seq: z.number(),
  epoch: z.string(),
});
export type Snapshot = z.infer<typeof Snapshot>;

// --- events ---

export const eventTypes = [
  'gateway.ready',
  'gateway.away',
  'message.start',
  'message.delta',
  'reasoning.delta',
  'message.interim',
  'message.complete',
  'tool.start',
  'tool.progress',
  'tool.complete',
  'session_info',
  'session.title',
  'status.update',
  'queue.updated',
  'prompt.accepted',
  'error',
  'notice',
  'sessions.changed',
  'cron.changed',
  'setup.ready',
] as const;
export type EventType = (typeof eventTypes)[number];

/**
 * Every event: `{jsonrpc, method: "event", params: {type, session_id, seq, payload}}`. `seq` rises by one per
 * session and survives a restart of the worker; session-less events have `session_id` and `seq` null.
 */
export const EventParams = z.object({
  type: z.string(),
  session_id: z.string().nullable(),
  seq: z.number().nullable(),
  payload: z.record(z.string(), z.unknown()),
});
export type EventParams = z.infer<typeof EventParams>;
export const event = notice('event', EventParams);

/** Payloads by type; the ones a client switches on. */
export interface EventPayloads {
  'gateway.ready': { protocol: number; version: string; epoch: string; heartbeat_ms: number };
  /** Said by the dashboard to its browsers: the agent worker went away; `gateway.ready` follows when it is back. */
  'gateway.away': { reason: string };
  /**
   * A prompt takes its place in the transcript and its turn begins: drawn by every surface attached to the session,
   * also those that did not send it. A prompt that waits is in `queue.updated` until then.
   */
  'prompt.accepted': { message_id: number; text: string; surface: string };
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
    usage: { input: number; output: number } | null;
    error: { code: string; message: string; fix: string | null } | null;
    duration_ms: number;
  };
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
  session_info: SessionInfo;
  'session.title': { session_id: string; title: string };
  'status.update': { kind: string; text: string };
  'queue.updated': { queued: { id: number; text: string }[] };
}

// --- methods ---

export const sessionCreate = rpcMethod('session.create', {
  params: z.strictObject({
    source: Surface.optional(),
    title: z.string().max(200).optional(),
    cwd: z.string().optional(),
    model: z.string().optional(),
    provider: z.string().optional(),
    profile: z.string().optional(),
  }),
  result: z.object({ session_id: z.string(), messages: z.array(Message), message_count: z.number(), info: SessionInfo }),
});

export const sessionList = rpcMethod('session.list', {
  params: z.strictObject({ limit: z.number().int().min(1).max(500).optional(), profile: z.string().optional() }),
  result: z.object({ sessions: z.array(SessionRow), total: z.number() }),
});

/** By id, exact title, or `latest`. Subscribes the caller to the session's events. Errors: UNKNOWN_SESSION. */
export const sessionResume = rpcMethod('session.resume', {
  params: z.strictObject({ session_id: SessionId, profile: z.string().optional() }),
  result: Snapshot,
});

export const sessionHistory = rpcMethod('session.history', {
  params: z.strictObject({
    session_id: SessionId,
    limit: z.number().int().min(1).max(10_000).optional(),
    before_id: z.number().optional(),
  }),
  result: z.object({ session_id: z.string(), messages: z.array(Message) }),
});

export const sessionInterrupt = rpcMethod('session.interrupt', {
  params: z.strictObject({ session_id: SessionId }),
  result: z.object({ status: z.enum(['interrupted', 'not_interrupted']) }),
});

export const sessionTitle = rpcMethod('session.title', {
  params: z.strictObject({ session_id: SessionId, title: z.string().min(1).max(200).optional() }),
  result: z.object({ session_id: z.string(), title: z.string().nullable() }),
});

export const sessionDelete = rpcMethod('session.delete', {
  params: z.strictObject({ session_id: SessionId }),
  result: z.object({ deleted: z.boolean() }),
});

/** Events after `last_seen`. `truncated` or another `epoch` means: fetch a snapshot with session.resume. Subscribes. */
export const eventsSince = rpcMethod('session.events.since', {
  params: z.strictObject({ session_id: SessionId, last_seen: z.number().int().min(0) }),
  result: z.object({
    events: z.array(EventParams),
    latest_seq: z.number(),
    truncated: z.boolean(),
    count: z.number(),
    epoch: z.string(),
    open_requests: z.array(z.unknown()),
  }),
});

/**
 * Answers only after the user's row is durable. A busy session queues (or interrupts) as
 * `display.busy_input_mode` says. The same `idempotency_key` answers the same message again.
 * Errors: UNKNOWN_SESSION, BUSY, DRAINING, BAD_REQUEST.
 */
export const promptSubmit = rpcMethod('prompt.submit', {
  params: z.strictObject({
    session_id: SessionId,
    text: z.string().min(1, 'the prompt is empty'),
    idempotency_key: z.string().max(200).optional(),
    surface: Surface.optional(),
  }),
  result: z.object({ status: z.enum(['streaming', 'queued', 'steered']), message_id: z.number() }),
});

export const configGet = rpcMethod('config.get', {
  params: z.strictObject({ key: z.string(), session_id: z.string().optional() }),
  result: z.looseObject({ key: z.string(), value: z.unknown() }),
});

export const setupStatus = rpcMethod('setup.status', {
  params: z.strictObject({}),
  result: z.object({
    ready: z.boolean(),
    provider_configured: z.boolean(),
    inference_provider: z.string().nullable(),
    model: z.string().nullable(),
    scripted: z.boolean(),
    free_tier: z.unknown().nullable(),
    other_providers: z.array(z.string()),
    message: z.string().nullable(),
  }),
});

/** Keeps an idle client counted as connected. */
export const clientPing = rpcMethod('client.ping', { params: z.strictObject({}), result: z.object({ at: z.string() }) });

/** Every method of the gateway RPC: what a relayed browser may call. */
export const rpcMethods: readonly Method[] = [
  sessionCreate,
  sessionList,
  sessionResume,
  sessionHistory,
  sessionInterrupt,
  sessionTitle,
  sessionDelete,
  eventsSince,
  promptSubmit,
  configGet,
  setupStatus,
  clientPing,
];
