/** Records of the gateway RPC (contract §8): messages, sessions, and everything a surface draws. */
import { z } from '../../base/lazyZod.ts';
import { OpenRequest } from './rpcRequests.ts';

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

/** Why a turn failed. */
export const TurnProblem = z.object({
  code: z.string(),
  message: z.string(),
  fix: z.string().nullable(),
  /** Interface spec, Errors: of a structured refusal by the inference host; seconds. */
  reason: z.string().optional(),
  retry_after: z.number().optional(),
  upgrade_url: z.string().optional(),
  alternates: z.array(z.string()).optional(),
});

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
  error: TurnProblem.nullable(),
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

/** What stands in a conversation without being part of it: a side question, or work in the background. */
export const Aside = z.object({
  id: z.number(),
  task_id: z.string(),
  kind: z.enum(['btw', 'background']),
  question: z.string(),
  /** The answer; of long background work its beginning. */
  text: z.string(),
  error: z.string().nullable(),
  status: z.enum(['running', 'complete', 'interrupted', 'error']),
  /** Where background work is done. */
  session_id: z.string().nullable(),
  /** Message that it stands below; null = above all. */
  after_id: z.number().nullable(),
  /** RFC 3339. */
  timestamp: z.string(),
});
export type Aside = z.infer<typeof Aside>;

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
  /** Those that stand among these messages. */
  asides: z.array(Aside),
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
