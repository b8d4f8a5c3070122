/**
 * Questions of the agent to its owner (contract §8): JSON-RPC requests from the server to every client that follows
 * the session, with a durable `request_id`. The first answer counts; the others hear `request.cancel`. A client that
 * attaches later finds them under `open_requests` and answers with `request.answer`. The clock of a request starts
 * when a client says `request.shown`.
 */
import { z } from '../../base/lazyZod.ts';
import { method, rpcMethod, type Method } from '../method.ts';

export const requestKinds = ['approval', 'clarify'] as const;
export type RequestKind = (typeof requestKinds)[number];
export const withdrawReasons = ['timeout', 'interrupted', 'shutdown', 'resolved', 'session_closed'] as const;
export type WithdrawReason = (typeof withdrawReasons)[number];

const common = { session_id: z.string(), request_id: z.string() };

export const approvalChoices = ['once', 'session', 'always', 'deny'] as const;
export const ApprovalChoice = z.enum(approvalChoices);
export type ApprovalChoice = z.infer<typeof ApprovalChoice>;

export const ApprovalParams = z.object({
  ...common,
  tool_name: z.string(),
  /** What would run, secrets redacted. */
  command: z.string(),
  /** Why it is asked, one sentence for each finding. */
  reasons: z.array(z.string()),
  description: z.string(),
  choices: z.array(ApprovalChoice),
  /** Exactly what `session` and `always` would allow from then on; absent = neither is offered. */
  rule: z.string().optional(),
});
export type ApprovalParams = z.infer<typeof ApprovalParams>;
export const ApprovalAnswer = z.object({ choice: ApprovalChoice });
export type ApprovalAnswer = z.infer<typeof ApprovalAnswer>;

export const ClarifyQuestion = z.object({
  qid: z.string(),
  question: z.string(),
  choices: z.array(z.string()).max(9).optional(),
  multi_select: z.boolean().optional(),
});
export type ClarifyQuestion = z.infer<typeof ClarifyQuestion>;
/** One to five questions. */
export const ClarifyParams = z.object({ ...common, questions: z.array(ClarifyQuestion).min(1).max(5) });
export type ClarifyParams = z.infer<typeof ClarifyParams>;
/** By `qid`; null = not answered. No `answers` = the user declines all of it. */
export const ClarifyAnswer = z.object({ answers: z.record(z.string(), z.string().nullable()).optional() });
export type ClarifyAnswer = z.infer<typeof ClarifyAnswer>;

// --- requests, server to client; they last until somebody answers ---

export const approvalRequest = method('approval', { params: ApprovalParams, result: ApprovalAnswer, timeoutMs: 0 });
export const clarifyRequest = method('clarify', { params: ClarifyParams, result: ClarifyAnswer, timeoutMs: 0 });

/** As snapshots and replays list them. */
export const OpenRequest = z.object({
  id: z.string(),
  method: z.enum(requestKinds),
  params: z.record(z.string(), z.unknown()),
  /** RFC 3339. */
  asked_at: z.string(),
  /** Null while no client has shown it. */
  expires_at: z.string().nullable(),
});
export type OpenRequest = z.infer<typeof OpenRequest>;

// --- methods, client to server ---

const Session = z.string({ error: 'session_id is missing' });

/** The card is on a screen: its clock starts. Idempotent. */
export const requestShown = rpcMethod('request.shown', {
  params: z.strictObject({ session_id: Session, request_id: z.string() }),
  result: z.object({ acknowledged: z.boolean(), expires_at: z.string().nullable() }),
});

/** The answer of a client that never got the request frame, or answers for another. `expired`: it is no longer open. */
export const requestAnswer = rpcMethod('request.answer', {
  params: z.strictObject({ session_id: Session, request_id: z.string(), result: z.record(z.string(), z.unknown()) }),
  result: z.object({ status: z.enum(['ok', 'expired']) }),
});

export const approvalPending = rpcMethod('approval.pending', {
  params: z.strictObject({ session_id: Session }),
  result: z.object({ requests: z.array(OpenRequest) }),
});

/** Neither `request_id` nor `all`: the oldest. */
export const approvalRespond = rpcMethod('approval.respond', {
  params: z.strictObject({
    session_id: Session,
    choice: ApprovalChoice.default('deny'),
    request_id: z.string().optional(),
    all: z.boolean().optional(),
  }),
  result: z.object({ resolved: z.number() }),
});

/** What was allowed for good, and its removal (`agent approvals`). */
export const approvalRules = rpcMethod('approval.rules', {
  params: z.strictObject({ remove: z.string().optional() }),
  result: z.object({
    rules: z.array(
      z.object({
        id: z.string(),
        rule: z.string(),
        tool_name: z.string(),
        /** Key of the chat that allowed it, for which alone it holds; null = the owner. */ chat: z.string().nullable(),
        created_at: z.string(),
      }),
    ),
  }),
});

export const requestMethods: readonly Method[] = [requestShown, requestAnswer, approvalPending, approvalRespond, approvalRules];
export const serverRequests: readonly Method[] = [approvalRequest, clarifyRequest];
