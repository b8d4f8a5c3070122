/**
 * Turns asked for by other workers: one session per chat, one run per idempotency key. A repeated call
 * joins the running turn or gets its recorded outcome, also after a restart of either side.
 */
import { AgentError, type ErrorCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, within } from '../../base/time.ts';
import { resetConversation, runTurn, stopConversation, turnProgress, type TurnOutcome } from '../../ipc/contracts/agent.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import type { ParamsOf } from '../../ipc/method.ts';
import { noProvider } from '../../agent/models/resolve.ts';
import type { EventLog } from './events.ts';
import type { ModelDesk } from './models.ts';
import { settleCutTurn } from './recover.ts';
import type { Requests } from './requests.ts';
import type { SessionRecord, Store } from './store.ts';
import { turnErrorOf, type Transcripts, type TurnRecord } from './transcripts.ts';
import type { Turns } from './turns.ts';
import type { WorkerContext } from '../worker.ts';

export interface ConversationParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  turns: Turns;
  desk: ModelDesk;
  requests: Requests;
  /** Working directory of sessions nobody chose one for. */
  cwd: string;
  /** Callers that wait, by prompt. */
  waiters: Map<number, number>;
}

type RunParams = ParamsOf<typeof runTurn>;

export function conversationHandlers(parts: ConversationParts): Handler[] {
  const { store, turns } = parts;
  const keyed = (sessionKey: string) => store.conversation(sessionKey);
  return [
    handle(runTurn, (params, { signal }) => run(parts, params, signal)),
    handle(turnProgress, ({ idempotency_key }) => {
      const row = runOfKey(store, idempotency_key);
      return { steps: row && turns.runs(row.message_id) ? parts.events.settle(row.session_id) : null };
    }),
    handle(stopConversation, ({ session_key }) => {
      const session = keyed(session_key);
      return { interrupted: session ? turns.interrupt(session.id) : false };
    }),
    handle(resetConversation, ({ session_key }) => {
      const session = keyed(session_key);
      if (session) turns.interrupt(session.id);
      return { reset: store.forgetConversation(session_key) };
    }),
  ];
}

async function run(parts: ConversationParts, params: RunParams, signal: AbortSignal): Promise<TurnOutcome> {
  refuseOtherProfile(parts.context, params.profile);
  const messageId = knownRun(parts, params.idempotency_key) ?? accept(parts, params);
  const waiting = joined(parts, messageId);
  const session = parts.transcripts.message(messageId)?.session_id;
  if (session !== undefined) parts.requests.tellAgain(session);
  try {
    while (inProgress(parts, messageId)) await within(parts.turns.ended(messageId), { ms: WAIT_MS, signal, what: 'the turn' });
  } finally {
    // A caller that is gone leaves the turn alone; one that cancels ends it, unless another still waits.
    const left = waiting();
    if (signal.aborted && left === 0 && isCancelled(signal)) parts.turns.withdraw(messageId);
  }
  return outcomeOf(parts, parts.transcripts.lastTurnOf(messageId)!);
}

/** Counts those who wait for a prompt; the function it gives takes one off and says how many are left. */
function joined({ waiters }: ConversationParts, messageId: number): () => number {
  waiters.set(messageId, (waiters.get(messageId) ?? 0) + 1);
  return () => {
    const left = waiters.get(messageId)! - 1;
    if (left === 0) waiters.delete(messageId);
    else waiters.set(messageId, left);
    return left;
  };
}

const isCancelled = (signal: AbortSignal): boolean => (abortReason(signal) as { code?: string }).code === 'CANCELLED';

/** Bound of one wait; a turn is bounded by its own limits, a queue by the turns before it. */
const WAIT_MS = 7 * 86_400_000;

/** The prompt of an earlier call with this key, back in line when a crash cut its turn before any tool had run. */
function knownRun(parts: ConversationParts, key: string): number | undefined {
  const { store, transcripts, turns } = parts;
  const row = runOfKey(store, key);
  if (!row) return undefined;
  const { message_id: messageId, session_id: sessionId } = row;
  if (turns.runs(messageId)) return messageId;
  const turn = settled(parts, transcripts.lastTurnOf(messageId));
  const waiting = transcripts.message(messageId)?.position === null;
  if (turn && !waiting && mayRunAgain(turn)) {
    turns.refuseWhenDraining();
    transcripts.requeue(turn);
  }
  turns.pump(sessionId);
  return messageId;
}

const runOfKey = (store: Store, key: string) =>
  store.one<{ session_id: string; message_id: number }>('SELECT session_id, message_id FROM runs WHERE idempotency_key = ?', key);

function settled({ store, transcripts, events, context }: ConversationParts, turn: TurnRecord | undefined): TurnRecord | undefined {
  if (turn?.status !== 'running') return turn;
  settleCutTurn({ store, transcripts, events, log: context.log }, turn, {
    code: 'DISK_FULL',
    message: 'the end of this turn could not be stored',
    fix: null,
  });
  return transcripts.turn(turn.id);
}

/** Nothing but the service itself ended it, and no tool had run: it is run again under its key. */
const mayRunAgain = (turn: TurnRecord): boolean =>
  turn.tools_ran === 0 && ((turn.status === 'interrupted' && turn.cause !== 'user') || (turn.status === 'error' && isStoreError(turn)));

const STORE_ERRORS: ReadonlySet<string> = new Set<ErrorCode>(['DISK_FULL', 'STORE_BUSY', 'STORE_CORRUPT', 'HOME_UNUSABLE']);
const isStoreError = (turn: TurnRecord): boolean => STORE_ERRORS.has(turnErrorOf(turn)?.code ?? '');

/** Stores a new run. Nothing is stored when it cannot even begin. Errors: NO_PROVIDER, BUSY, DRAINING. */
function accept(parts: ConversationParts, params: RunParams): number {
  const { store, turns, desk } = parts;
  turns.refuseWhenDraining();
  const existing = params.session_key === null ? undefined : store.conversation(params.session_key);
  const resolution = desk.resolve({ model: existing?.model ?? params.model ?? null, provider: existing?.provider ?? null });
  if (resolution.kind === 'none') throw noProvider(resolution);
  const session = existing ?? newSession(parts, params);
  // Each message has an outcome of its own, so none joins the turn of another.
  const busy = turns.busyMode() === 'interrupt' ? 'interrupt' : 'queue';
  const { text, surface, idempotency_key: idempotencyKey, user: author } = params;
  const { messageId } = turns.submit({ sessionId: session.id, text, surface, idempotencyKey, author, busy }, (id) =>
    store.run('INSERT INTO runs (idempotency_key, session_id, message_id) VALUES (?, ?, ?)', idempotencyKey, session.id, id),
  );
  return messageId;
}

function newSession(
  { store, cwd }: ConversationParts,
  { session_key, surface, platform, title, model, principal }: RunParams,
): SessionRecord {
  return store.transaction(() => {
    const session = store.createSession({
      source: platform ?? surface,
      platform,
      sessionKey: session_key ?? undefined,
      title,
      model,
      principal,
      cwd,
      // Nobody looks for the runs of a job among conversations.
      hidden: surface === 'scheduled_task',
    });
    if (session_key !== null) store.bindConversation(session_key, session.id);
    return session;
  });
}

function inProgress({ transcripts, turns }: ConversationParts, messageId: number): boolean {
  const message = transcripts.message(messageId);
  if (!message) throw new AgentError('UNKNOWN_SESSION', 'the session of this turn was deleted');
  return message.position === null || turns.runs(messageId);
}

function outcomeOf({ transcripts }: ConversationParts, turn: TurnRecord): TurnOutcome {
  if (mayRunAgain(turn)) {
    const { code, message } = turnErrorOf(turn) ?? {
      code: 'DRAINING',
      message: 'the agent worker was restarted before this turn had done anything',
    };
    throw new AgentError(isStoreError(turn) ? (code as ErrorCode) : 'DRAINING', message, {
      retryAfterMs: limits.ipc.redialMaxMs,
      fix: 'call again with the same idempotency_key',
    });
  }
  const status = turn.status === 'running' ? 'error' : turn.status;
  const { text } = turn;
  return {
    session_id: turn.session_id,
    message_id: turn.message_id,
    status,
    text,
    error: turnErrorOf(transcripts.turn(turn.id) ?? turn),
    tools_ran: turn.tools_ran === 1,
  };
}

/** Errors: UNKNOWN_PROFILE. Each profile has a worker of its own. */
export function refuseOtherProfile({ profile }: WorkerContext, asked: string | undefined): void {
  if (asked === undefined || asked === profile) return;
  throw new AgentError('UNKNOWN_PROFILE', `this worker serves the profile ${profile}, not ${asked}`, {
    fix: `ask the socket of agent@${asked}`,
  });
}
