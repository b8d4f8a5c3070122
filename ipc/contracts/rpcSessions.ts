/** What can be done with a session beside talking in it. */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';
import { Surface } from './agent.ts';
import { Message, Plan, QueuedPrompt, UsageTotals } from './rpcRecords.ts';

const SessionId = z.string({ error: 'session_id is missing' });

// --- the running turn ---

/** The text joins the running turn with its next tool result, or is queued when none runs. Errors: UNKNOWN_SESSION. */
export const sessionSteer = rpcMethod('session.steer', {
  params: z.strictObject({ session_id: SessionId, text: z.string().min(1), surface: Surface.optional() }),
  result: z.object({ status: z.enum(['steered', 'queued', 'streaming']), message_id: z.number() }),
});

/** Waiting prompts, by their number in the list counted from 1. They survive a restart. Answers the list as it is then. */
export const sessionQueue = rpcMethod('session.queue', {
  params: z.strictObject({
    session_id: SessionId,
    action: z.enum(['list', 'add', 'edit', 'remove', 'move', 'clear']),
    index: z.number().int().min(1).optional(),
    /** Instead of `index`, which is another one once the queue has moved on. */
    message_id: z.number().int().optional(),
    to: z.number().int().min(1).optional(),
    text: z.string().min(1).optional(),
  }),
  result: z.object({ queued: z.array(QueuedPrompt) }),
});

/** A side question about the conversation as it stands, in one call without tools: the session is not touched. Answered by `btw.complete`. */
export const promptBtw = rpcMethod('prompt.btw', {
  params: z.strictObject({ session_id: SessionId, text: z.string().min(1) }),
  result: z.object({ task_id: z.string() }),
});

/** An independent hidden session that works on the text. Answered by `background.complete` on the session that asked. */
export const promptBackground = rpcMethod('prompt.background', {
  params: z.strictObject({ session_id: SessionId, text: z.string().min(1), surface: Surface.optional() }),
  result: z.object({ task_id: z.string(), session_id: z.string() }),
});

// --- the transcript ---

/** A new session with the same conversation, up to `count` exchanges back from its end (0 = all of it). Running turns are left out. */
export const sessionBranch = rpcMethod('session.branch', {
  params: z.strictObject({ session_id: SessionId, title: z.string().max(200).optional(), count: z.number().int().min(0).optional() }),
  result: z.object({ session_id: z.string(), title: z.string().nullable(), parent_session_id: z.string(), message_count: z.number() }),
});

/** Takes back the last exchanges; answers the text of the earliest prompt taken back. Rows are kept, not shown. Errors: BUSY. */
export const sessionUndo = rpcMethod('session.undo', {
  params: z.strictObject({ session_id: SessionId, count: z.number().int().min(1).max(100).optional() }),
  result: z.object({ removed: z.number(), text: z.string().nullable() }),
});

/**
 * Replaces what came before by a summary. Prompts that arrive meanwhile wait; an interrupt does not stop it. `keep`
 * exchanges stay verbatim (default: by size). `aborted` leaves everything as it was: nothing to gain, or the summary
 * would not have been smaller. Errors: BUSY, NO_PROVIDER, PROVIDER_FAILED.
 */
export const sessionCompress = rpcMethod('session.compress', {
  params: z.strictObject({
    session_id: SessionId,
    keep: z.number().int().min(0).max(100).optional(),
    focus: z.string().max(500).optional(),
  }),
  result: z.object({
    status: z.enum(['compressed', 'aborted']),
    /** Why it was aborted, or what was done, as a sentence. */
    note: z.string(),
    removed: z.number(),
    before_tokens: z.number(),
    after_tokens: z.number(),
  }),
  timeoutMs: 0,
});

export const sessionUsage = rpcMethod('session.usage', {
  params: z.strictObject({ session_id: SessionId }),
  result: z.object({
    usage: UsageTotals,
    by_model: z.array(z.object({ provider: z.string(), model: z.string(), usage: UsageTotals })),
    turns: z.number(),
    compressions: z.number(),
    context_used: z.number().nullable(),
    context_max: z.number().nullable(),
  }),
});

/** What the next prompt would be made of; one computation for `/context`, `agent prompt-size` and this. Tokens are estimates unless `context_source` is `provider`. */
export const contextBreakdown = rpcMethod('session.context_breakdown', {
  params: z.strictObject({ session_id: SessionId }),
  result: z.object({
    categories: z.array(z.object({ id: z.string(), label: z.string(), bytes: z.number(), tokens: z.number() })),
    context_used: z.number(),
    context_max: z.number().nullable(),
    context_percent: z.number().nullable(),
    estimated_total: z.number(),
    context_source: z.enum(['provider', 'estimate']),
    model: z.string().nullable(),
    context_files: z.array(
      z.object({
        label: z.string(),
        path: z.string(),
        chars: z.number(),
        est_tokens: z.number(),
        loaded: z.boolean(),
        /** `loaded`, `truncated`, `blocked: <why>`, `shadowed by <file>`, `missing`, `unreadable: <why>`. */
        status: z.string(),
      }),
    ),
  }),
});

/** The fixed part of every prompt, without a session (`agent prompt-size`). */
export const promptSize = rpcMethod('prompt.size', {
  params: z.strictObject({ platform: z.string().optional(), cwd: z.string().optional() }),
  result: z.object({
    platform: z.string(),
    categories: z.array(z.object({ id: z.string(), label: z.string(), bytes: z.number(), tokens: z.number() })),
    total_bytes: z.number(),
    total_tokens: z.number(),
    tools: z.array(z.object({ name: z.string(), toolset: z.string(), bytes: z.number(), tokens: z.number() })),
    context_files: z.array(z.object({ path: z.string(), chars: z.number(), est_tokens: z.number(), status: z.string() })),
  }),
});

// --- many sessions ---

export const SearchHit = z.object({
  session_id: z.string(),
  title: z.string().nullable(),
  message_id: z.number(),
  role: z.string(),
  /** Plain text around the first place found. */
  snippet: z.string(),
  timestamp: z.string(),
});

/** Full text: words, parts of words, and scripts without spaces. `ready: false`: the index is being built; what it has is answered. */
export const sessionSearch = rpcMethod('session.search', {
  params: z.strictObject({
    query: z.string().min(1).max(500),
    limit: z.number().int().min(1).max(200).optional(),
    session_id: z.string().optional(),
    profile: z.string().optional(),
  }),
  result: z.object({ hits: z.array(SearchHit), ready: z.boolean(), indexed: z.number(), total: z.number() }),
});

export const sessionArchive = rpcMethod('session.archive', {
  params: z.strictObject({ session_id: SessionId, archived: z.boolean() }),
  result: z.object({ session_id: z.string(), archived: z.boolean() }),
});

/** Removes sessions that nobody used for so long. Running, archived and keyed ones stay unless named. `dry_run` only counts. */
export const sessionPrune = rpcMethod('session.prune', {
  params: z.strictObject({
    older_than_days: z.number().min(0),
    source: z.string().optional(),
    dry_run: z.boolean().optional(),
    include_archived: z.boolean().optional(),
  }),
  result: z.object({ removed: z.number(), skipped_open: z.number(), freed_bytes: z.number() }),
  timeoutMs: 120_000,
});

export const sessionStats = rpcMethod('session.stats', {
  params: z.strictObject({}),
  result: z.object({
    total: z.number(),
    archived: z.number(),
    hidden: z.number(),
    messages: z.number(),
    by_source: z.record(z.string(), z.number()),
    bytes: z.number(),
    indexed: z.number(),
    journal_mode: z.string(),
  }),
});

/** A whole conversation as one document; `import` takes it back (another id when that one is taken and differs). */
export const ExportedSession = z.object({
  format: z.literal('agent.session.v1'),
  session: z.looseObject({ id: z.string(), source: z.string(), title: z.string().nullable(), started_at: z.string() }),
  messages: z.array(Message),
});
export type ExportedSession = z.infer<typeof ExportedSession>;

export const sessionExport = rpcMethod('session.export', {
  params: z.strictObject({ session_id: SessionId }),
  result: ExportedSession,
  timeoutMs: 60_000,
});

export const sessionImport = rpcMethod('session.import', {
  params: z.strictObject({ sessions: z.array(z.unknown()).min(1).max(100) }),
  result: z.object({
    imported_ids: z.array(z.string()),
    skipped_ids: z.array(z.string()),
    errors: z.array(z.object({ index: z.number(), message: z.string() })),
    /** Of those that were taken: what was changed, a title that was cut. Absent of an older agent. */
    warnings: z.array(z.object({ index: z.number(), message: z.string() })).optional(),
  }),
  timeoutMs: 60_000,
});

/** A surface is done with the session: it stops following it. Nothing is lost; a running turn goes on. */
export const sessionClose = rpcMethod('session.close', {
  params: z.strictObject({ session_id: SessionId }),
  result: z.object({ closed: z.boolean() }),
});

export const sessionPlan = rpcMethod('session.plan', { params: z.strictObject({ session_id: SessionId }), result: Plan });

/** Working directory of the next turn. Errors: BUSY, BAD_REQUEST. */
export const sessionCwd = rpcMethod('session.cwd', {
  params: z.strictObject({ session_id: SessionId, cwd: z.string() }),
  result: z.object({ cwd: z.string() }),
});

export const moreSessionMethods: readonly Method[] = [
  sessionSteer,
  sessionQueue,
  promptBtw,
  promptBackground,
  sessionBranch,
  sessionUndo,
  sessionCompress,
  sessionUsage,
  contextBreakdown,
  promptSize,
  sessionSearch,
  sessionArchive,
  sessionPrune,
  sessionStats,
  sessionExport,
  sessionImport,
  sessionClose,
  sessionPlan,
  sessionCwd,
];
