/**
 * The gateway RPC (contract §8): what terminal clients say on `run/agent.sock` and browsers on `/api/ws`.
 * Parameters are strict: an unknown one answers 4000 with the field. Records are in rpcRecords.ts, events in
 * rpcEvents.ts, the other subjects beside them, all of it in rpcTable.ts.
 */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { rpcMethod, type Method } from '../method.ts';
import { Surface } from './agent.ts';
import { EventParams } from './rpcEvents.ts';
import { Aside, Message, SessionInfo, SessionRow, Snapshot } from './rpcRecords.ts';
import { OpenRequest } from './rpcRequests.ts';

const SessionId = z.string({ error: 'session_id is missing' });

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
    sources: z.array(z.string()).max(50).optional(),
    exclude_sources: z.array(z.string()).max(50).optional(),
    include_hidden: z.boolean().optional(),
    archived: z.boolean().optional(),
    profile: z.string().optional(),
  }),
  result: z.object({ sessions: z.array(SessionRow), total: z.number() }),
});

/** One row of the list, by id, its unique beginning, exact title, or `latest`. Does not subscribe. Errors: UNKNOWN_SESSION. */
export const sessionGet = rpcMethod('session.get', {
  params: z.strictObject({ session_id: SessionId, profile: z.string().optional() }),
  result: SessionRow,
});

/** Sessions opened a while ago that never got a prompt. `remove` deletes them; answers how many there are, or were. */
export const sessionEmpty = rpcMethod('session.empty', {
  params: z.strictObject({ remove: z.boolean().optional() }),
  result: z.object({ count: z.number() }),
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
    /** From which end `limit` and `offset` count; the rows come oldest first either way. Default `latest`. */
    order: z.enum(['latest', 'oldest']).optional(),
    offset: z.number().int().min(0).optional(),
  }),
  result: z.object({ session_id: z.string(), messages: z.array(Message), asides: z.array(Aside) }),
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
 * Errors: UNKNOWN_SESSION, BUSY, KEY_REUSED, DRAINING, BAD_REQUEST.
 */
export const promptSubmit = rpcMethod('prompt.submit', {
  params: z.strictObject({
    session_id: SessionId,
    text: z.string().regex(/\S/, 'the prompt is empty'),
    idempotency_key: z.string().max(200).optional(),
    surface: Surface.optional(),
    /** What a busy session does with it; default `display.busy_input_mode`. */
    busy: z.enum(['queue', 'interrupt', 'steer']).optional(),
    attachments: z.array(AttachmentInput).max(20).optional(),
    /** Asked by a command or program: may not wait for an answer (`approvals.single_query_mode`). */
    unattended: z.boolean().optional(),
  }),
  result: z.object({ status: z.enum(['streaming', 'queued', 'steered']), message_id: z.number() }),
  // A locked store is waited for.
  timeoutMs: limits.state.promptRetryMs + 10_000,
});

export const sessionMethods: readonly Method[] = [
  sessionCreate,
  sessionList,
  sessionGet,
  sessionEmpty,
  sessionResume,
  sessionHistory,
  sessionInterrupt,
  sessionTitle,
  sessionDelete,
  eventsSince,
  promptSubmit,
];
