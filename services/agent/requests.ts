/**
 * Open questions to people: asked of every client that follows the session, answered by the first, withdrawn
 * from the others. A question outlives the clients that saw it; its clock starts when one of them shows it. It
 * ends with its turn, with its session, or with this worker.
 */
import { scopeOf, type Principal } from '../../agent/authority/principal.ts';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import { abortReason, isoTime } from '../../base/time.ts';
import {
  approvalRequest,
  clarifyRequest,
  type ApprovalAnswer,
  type ClarifyAnswer,
  type OpenRequest,
  type RequestKind,
  type WithdrawReason,
} from '../../ipc/contracts/rpcRequests.ts';
import type { Link } from '../../ipc/link.ts';
import type { Method } from '../../ipc/method.ts';
import type { EventLog } from './events.ts';

/** Kinds that this worker asks, with the method that carries each. */
export type AskedKind = 'approval' | 'clarify';
const methods: Readonly<Record<AskedKind, Method>> = { approval: approvalRequest, clarify: clarifyRequest };
type Answers = { approval: ApprovalAnswer; clarify: ClarifyAnswer };

/** `unreachable`: no client follows the session, and nobody can be asked elsewhere. */
type Unanswered = Exclude<WithdrawReason, 'resolved'> | 'unreachable';
export type Settled<K extends AskedKind> = { answer: Answers[K] } | { unanswered: Unanswered };

interface Open {
  id: string;
  sessionId: string;
  /** Whose turn waits: this session, or a hidden one that asks here. */
  askedBy: string;
  kind: AskedKind;
  params: Record<string, unknown>;
  askedAt: number;
  /** Null = not seen yet. */
  expiresAt: number | null;
  seen: boolean;
  /** Of the turn that waits: a chat is asked about its own turns alone. */
  principal: Principal;
  /** From the moment it is seen; null = no limit but that of the unseen. */
  timeoutMs: number | null;
  timer: NodeJS.Timeout;
  /** Takes back what clients were asked. */
  calls: AbortController;
  settle(settled: { answer: unknown } | { unanswered: Unanswered }): void;
}

export interface AskOptions {
  signal: AbortSignal;
  /** The session whose turn waits, when it is not the one that is asked. */
  askedBy?: string;
  principal: Principal;
  timeoutMs: number | null;
}

export interface RequestsOptions {
  events: EventLog;
  log: Logger;
  /** Asks elsewhere too (a chat of the gateway); false = nobody can be asked there. */
  askElsewhere(sessionId: string, request: OpenRequest): Promise<boolean>;
  /** It is over there as well. */
  settledElsewhere(sessionId: string, requestId: string, reason: string): void;
}

export class Requests {
  #options: RequestsOptions;
  #open = new Map<string, Open>();

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** Asks and waits. `params` come without session and id. Errors: BUSY when too many are open. Rejects for nothing else. */
  async ask<K extends AskedKind>(
    sessionId: string,
    kind: K,
    params: Record<string, unknown>,
    { signal, timeoutMs, askedBy = sessionId, principal }: AskOptions,
  ): Promise<Settled<K>> {
    if (signal.aborted) return { unanswered: withdrawReason(signal) };
    if (this.of(sessionId).length >= limits.approvals.openMax)
      throw new AgentError('BUSY', `${limits.approvals.openMax} questions wait for their answer in this session already`);
    const id = `req_${hexId(16)}`;
    const done = Promise.withResolvers<Settled<K>>();
    const request: Open = {
      id,
      sessionId,
      askedBy,
      kind,
      params: { ...params, session_id: sessionId, request_id: id },
      askedAt: Date.now(),
      expiresAt: null,
      seen: false,
      principal,
      timeoutMs,
      timer: setTimeout(() => this.#withdraw(request, 'timeout'), limits.approvals.unseenMs).unref(),
      calls: new AbortController(),
      settle: (settled) => done.resolve(settled as Settled<K>),
    };
    const onAbort = () => this.#withdraw(request, withdrawReason(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    this.#open.set(id, request);
    try {
      this.#announce(request);
      return await done.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  // --- answers ---

  /** The card is on a screen. Null = it is no longer open. */
  shown(sessionId: string, id: string): { expiresAt: number | null } | null {
    const request = this.#find(sessionId, id);
    if (!request) return null;
    if (!request.seen) {
      request.seen = true;
      if (request.timeoutMs !== null) {
        request.expiresAt = Date.now() + request.timeoutMs;
        clearTimeout(request.timer);
        request.timer = setTimeout(() => this.#withdraw(request, 'timeout'), request.timeoutMs).unref();
      }
    }
    return { expiresAt: request.expiresAt };
  }

  /** False = it is no longer open. Errors: BAD_REQUEST for an answer that does not fit. */
  answer(sessionId: string, id: string, result: unknown): boolean {
    const request = this.#find(sessionId, id);
    if (!request) return false;
    const parsed = methods[request.kind].result.safeParse(result);
    if (!parsed.success || !isOffered(request, parsed.data)) {
      const issue = parsed.error?.issues[0];
      throw new AgentError('BAD_REQUEST', `the answer does not fit the question: ${issue?.message ?? 'it is none of its choices'}`, {
        field: ['result', ...(issue?.path ?? [])].join('.'),
      });
    }
    this.#close(request, 'resolved', { answer: parsed.data });
    return true;
  }

  /** Whoever asks elsewhere was gone and is back: it is told again. */
  tellAgain(sessionId: string): void {
    for (const request of this.of(sessionId)) void this.#askElsewhere(request);
  }

  /** Ends with its session. */
  closeSession(sessionId: string): void {
    for (const request of this.of(sessionId)) this.#withdraw(request, 'session_closed');
  }

  // --- what is open ---

  /** Of one session, oldest first. */
  of(sessionId: string): Open[] {
    return [...this.#open.values()].filter((request) => request.sessionId === sessionId);
  }

  list(sessionId: string): OpenRequest[] {
    return this.of(sessionId).map(toOpenRequest);
  }

  isWaiting(sessionId: string): boolean {
    return this.of(sessionId).length > 0;
  }

  /** Whether the session's own turn waits for an answer, wherever it was asked. */
  holdsUp(sessionId: string): boolean {
    return [...this.#open.values()].some(({ askedBy }) => askedBy === sessionId);
  }

  get count(): number {
    return this.#open.size;
  }

  // --- the life of a request ---

  #announce(request: Open): void {
    const { events, log } = this.#options;
    const { sessionId, kind } = request;
    try {
      events.emit(sessionId, null, 'status.update', {
        kind: 'waiting',
        phase: 'start',
        text: kind === 'approval' ? 'Waiting for your approval' : 'Waiting for your answer',
      });
    } catch (thrown) {
      // The store is in trouble; the turn will hear of it. The question itself needs no row.
      log.warn('an open question could not be put on record', { session_id: sessionId, ...errorFields(thrown) });
    }
    for (const link of events.followersOf(sessionId)) void this.#askLink(request, link);
    void this.#askElsewhere(request);
  }

  /** A turn of a chat may have no one else to ask. A turn that the owner began in a chat's session is not asked about there. */
  async #askElsewhere(request: Open): Promise<void> {
    if (scopeOf(request.principal) === undefined) return;
    const { events, askElsewhere } = this.#options;
    const reached = await askElsewhere(request.sessionId, toOpenRequest(request));
    if (!reached && events.followersOf(request.sessionId).length === 0) this.#close(request, 'timeout', { unanswered: 'unreachable' });
  }

  async #askLink(request: Open, link: Link): Promise<void> {
    const { kind, sessionId, id, calls } = request;
    try {
      const answer = await link.call(methods[kind], request.params, { signal: calls.signal });
      this.answer(sessionId, id, answer);
    } catch (thrown) {
      // A client that does not know the question, is gone, or answers nonsense: the others may still answer.
      if (isAgentError(thrown) && !QUIET.has(thrown.code))
        this.#options.log.debug('a client did not answer a question', { session_id: sessionId, request_id: id, ...errorFields(thrown) });
    }
  }

  #withdraw(request: Open, reason: Exclude<WithdrawReason, 'resolved'>): void {
    this.#close(request, reason, { unanswered: reason });
  }

  #close(request: Open, reason: WithdrawReason, settled: { answer: unknown } | { unanswered: Unanswered }): void {
    const { id, sessionId, kind, timer, calls } = request;
    if (!this.#open.delete(id)) return;
    clearTimeout(timer);
    calls.abort(new AgentError('CANCELLED', `the question is over: ${reason}`));
    try {
      this.#options.events.emit(sessionId, null, 'request.cancel', { id, method: kind, reason });
      // No turn may run here that would say what comes next.
      if (!this.isWaiting(sessionId))
        this.#options.events.emit(sessionId, null, 'status.update', { kind: 'waiting', phase: 'end', text: '' });
    } catch {
      this.#options.events.tell(sessionId, 'request.cancel', { id, method: kind, reason });
    }
    this.#options.settledElsewhere(sessionId, id, reason);
    request.settle(settled);
  }

  #find(sessionId: string, id: string): Open | undefined {
    const request = this.#open.get(id);
    return request?.sessionId === sessionId ? request : undefined;
  }
}

const QUIET: ReadonlySet<string> = new Set(['METHOD_NOT_FOUND', 'PEER_GONE', 'CANCELLED']);

/** An approval takes only what its card offers: `always` needs a shape. */
function isOffered({ kind, params }: Open, answer: unknown): boolean {
  return kind !== 'approval' || (params.choices as string[]).includes((answer as ApprovalAnswer).choice);
}

function toOpenRequest({ id, kind, params, askedAt, expiresAt }: Open): OpenRequest {
  return {
    id,
    method: kind satisfies RequestKind,
    params,
    asked_at: isoTime(askedAt),
    expires_at: expiresAt === null ? null : isoTime(expiresAt),
  };
}

function withdrawReason(signal: AbortSignal): Exclude<WithdrawReason, 'resolved'> {
  const reason = abortReason(signal);
  if (!isAgentError(reason)) return 'interrupted';
  return reason.code === 'DRAINING' ? 'shutdown' : reason.code === 'UNKNOWN_SESSION' ? 'session_closed' : 'interrupted';
}
