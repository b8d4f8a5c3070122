/**
 * The gateway RPC (contract §8): what terminal clients say on `run/agent.sock` and browsers on `/api/ws`.
 * Names and payloads of events follow the interface spec and reference/clients §2.4. Parameters are
 * strict: an unknown one answers 4000 with the field.
 */
import { z } from 'zod';
import { rpcMethod, type Method } from '../method.ts';
import { Surface } from './agent.ts';
import { EventParams } from './rpcEvents.ts';
import { OpenRequest } from './rpcRequests.ts';

const SessionId = z.string({ error: 'session_id is missing' });

// --- records ---

/** A file that goes with a prompt. Images reach models that can see; other files are named by path. */
export const Attachment = z.object({
  kind: z.enum(['image', 'file']),
  name: z.string(),
  media_type: z.string(),
  size: z.number(),
  /** Absolute path of our own copy. */
  path: z.string(),
});
export type Attachment = z.infer<typeof Attachment>;

/** Tokens and money of a turn or a session. */
export const UsageTotals = z.object({
  /** Prompt tokens, cached ones included. */
  input: z.number(),
  output: z.number(),
  reasoning: z.number(),
  cache_read: z.number(),
  cache_write: z.number(),
  model_calls: z.number(),
  /** US dollars; null = no price is known for the model. */
  cost_usd: z.number().nullable(),
});
export type UsageTotals = z.infer<typeof UsageTotals>;

export const TodoItem = z.object({
  id: z.string(),
  content: z.string(),
  status: z.enum(['pending', 'in_progress', 'completed', 'cancelled']),
  /** Id of the item this one belongs to (interface spec, Other resources). */
  parent: z.string().optional(),
});
export type TodoItem = z.infer<typeof TodoItem>;
/** The todo list of a session; `revision` rises with each write. */
export const Plan = z.object({ todos: z.array(TodoItem), revision: z.number() });
export type Plan = z.infer<typeof Plan>;

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
  /** Of a failed tool. */
  is_error: z.boolean(),
  /** What went wrong with a turn, on its last assistant row. */
  error: z.object({ code: z.string(), message: z.string(), fix: z.string().nullable() }).nullable(),
  /** From the prompt to the last word of its turn, on its last assistant row. */
  duration_ms: z.number().nullable(),
  attachments: z.array(Attachment).nullable(),
  /** `summary`: stands for the rows before it, which stay readable but no longer reach the model. `steer`: joined a running turn. */
  kind: z.enum(['plain', 'summary', 'steer']),
  /** False for rows that a summary replaced. */
  in_context: z.boolean(),
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
  status: z.enum(['idle', 'working', 'waiting']),
  /** Branched from, or spawned by. */
  parent_session_id: z.string().nullable(),
  archived: z.boolean(),
  /** Made by cron, delegation or `/bg`: left out of lists unless asked for. */
  hidden: z.boolean(),
  usage: UsageTotals,
});
export type SessionRow = z.infer<typeof SessionRow>;

/** The status bar of a session: payload of `session_info`. */
export const SessionInfo = z.object({
  model: z.string().nullable(),
  provider: z.string().nullable(),
  reasoning_effort: z.string().nullable(),
  /** The level actually sent: what the model has nearest to the one asked for. */
  reasoning_effort_wire: z.string().nullable(),
  /** `agent.service_tier` or the session's own; `fast` = the next request asks for the fast tier. */
  service_tier: z.string().nullable(),
  fast: z.boolean(),
  approval_mode: z.enum(['manual', 'smart', 'off']),
  safe_mode: z.boolean(),
  /** Tokens of the model's window, and those of the last prompt; null = unknown. */
  context_max: z.number().nullable(),
  context_used: z.number().nullable(),
  usage: UsageTotals,
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
  /** `waiting`: for an answer of the user (`open_requests`). */
  status: z.enum(['idle', 'working', 'waiting']),
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
  plan: Plan,
  open_requests: z.array(OpenRequest),
  pending_connection: z.unknown().nullable(),
  info: SessionInfo,
  /** Number of the last event already contained in this snapshot. */
  latest_seq: z.number(),
  epoch: z.string(),
});
export type Snapshot = z.infer<typeof Snapshot>;

// --- methods ---

export const sessionCreate = rpcMethod('session.create', {
  params: z.strictObject({
    source: Surface.optional(),
    title: z.string().max(200).optional(),
    cwd: z.string().optional(),
    model: z.string().optional(),
    provider: z.string().optional(),
    reasoning_effort: z.string().optional(),
    parent_session_id: z.string().optional(),
    hidden: z.boolean().optional(),
    /** Neither context files, memory, skills, SOUL.md nor MCP servers, and no settings but those of the model. */
    safe_mode: z.boolean().optional(),
    profile: z.string().optional(),
  }),
  result: z.object({ session_id: z.string(), messages: z.array(Message), message_count: z.number(), info: SessionInfo }),
});

export const sessionList = rpcMethod('session.list', {
  params: z.strictObject({
    limit: z.number().int().min(1).max(500).optional(),
    offset: z.number().int().min(0).optional(),
    order: z.enum(['recent', 'created']).optional(),
    sources: z.array(z.string()).optional(),
    include_hidden: z.boolean().optional(),
    archived: z.boolean().optional(),
    profile: z.string().optional(),
  }),
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
    open_requests: z.array(OpenRequest),
  }),
});

/** A path on this machine, or the bytes. The first bytes decide what it is. */
export const AttachmentInput = z.union([
  z.strictObject({ path: z.string() }),
  z.strictObject({ name: z.string(), data_base64: z.string() }),
]);
export type AttachmentInput = z.infer<typeof AttachmentInput>;

/**
 * Answers only after the user's row is durable. A busy session queues, steers (the text rides along
 * with the next tool result) or is interrupted, as `display.busy_input_mode` says. The same `idempotency_key` answers the same message again.
 * Errors: UNKNOWN_SESSION, BUSY, DRAINING, BAD_REQUEST.
 */
export const promptSubmit = rpcMethod('prompt.submit', {
  params: z.strictObject({
    session_id: SessionId,
    text: z.string().min(1, 'the prompt is empty'),
    idempotency_key: z.string().max(200).optional(),
    surface: Surface.optional(),
    /** What a busy session does with it; default `display.busy_input_mode`. */
    busy: z.enum(['queue', 'interrupt', 'steer']).optional(),
    attachments: z.array(AttachmentInput).max(20).optional(),
    /** Asked by a command or program: may not wait for an answer (`approvals.single_query_mode`). */
    unattended: z.boolean().optional(),
  }),
  result: z.object({ status: z.enum(['streaming', 'queued', 'steered']), message_id: z.number() }),
});

export const sessionMethods: readonly Method[] = [
  sessionCreate,
  sessionList,
  sessionResume,
  sessionHistory,
  sessionInterrupt,
  sessionTitle,
  sessionDelete,
  eventsSince,
  promptSubmit,
];
