/** Sessions as surfaces see them: rows of the list, the status bar, and the snapshot to draw one from nothing. */
import { homedir } from 'node:os';
import { statSync } from 'node:fs';
import type { MemoryStore } from '../../agent/ports.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import { Surface } from '../../ipc/contracts/agent.ts';
import type { Message, SessionInfo, SessionRow, Snapshot, TodoItem } from '../../ipc/contracts/rpcRecords.ts';
import type { WorkerContext } from '../worker.ts';
import { asidesAmong } from './asides.ts';
import type { ContextDesk } from './context.ts';
import type { EventLog } from './events.ts';
import { factsOf, isFirstTurn, type ModelDesk } from './models.ts';
import type { StoreFacts } from './openState.ts';
import type { Search } from './search.ts';
import type { SkillDesk } from './skills.ts';
import type { ApprovalRules } from './owner.ts';
import type { Requests } from './requests.ts';
import type { StagedWrites } from './stagedWrites.ts';
import { sessionConfig } from './sessionConfig.ts';
import type { SessionRecord, SessionSummary, Store } from './store.ts';
import type { Toolbox } from './toolbox.ts';
import type { Transcripts } from './transcripts.ts';
import type { Turns } from './turns.ts';
import { sessionTotals } from './usage.ts';

export interface SessionParts {
  context: WorkerContext;
  store: Store;
  /** What was wrong with state.db, for status; null = nothing. */
  storeFacts(): StoreFacts | null;
  transcripts: Transcripts;
  events: EventLog;
  turns: Turns;
  desk: ModelDesk;
  search: Search;
  contexts: ContextDesk;
  skills: SkillDesk;
  toolbox: Toolbox;
  requests: Requests;
  rules: ApprovalRules;
  staged: StagedWrites;
  memory: MemoryStore;
}

/** Errors: UNKNOWN_SESSION. */
export function requireSession(store: Store, name: string): SessionRecord {
  const session = store.findSession(name);
  if (!session)
    throw new AgentError('UNKNOWN_SESSION', `there is no session "${name}"`, {
      fix: '`agent sessions list` shows them',
    });
  return session;
}

export function infoOf(
  { context, store, desk }: Pick<SessionParts, 'context' | 'store' | 'desk'>,
  session: SessionRecord,
  running: boolean,
): SessionInfo {
  const resolution = desk.resolve(session);
  const { provider, model, scripted, warning } = factsOf(resolution);
  const { asked, wire } = desk.effort(session);
  return {
    model,
    provider,
    reasoning_effort: asked,
    reasoning_effort_wire: wire,
    service_tier: desk.tier(session),
    fast: desk.fast(session, isFirstTurn(store, session.id))(),
    approval_mode: sessionConfig(context, session).approvals?.mode ?? 'manual',
    safe_mode: session.safe_mode === 1,
    context_max: resolution.kind === 'endpoint' ? desk.facts.known(resolution.settings).contextWindow : null,
    context_used: session.context_used,
    usage: sessionTotals(session),
    scripted,
    cwd: session.cwd,
    tools: session.tool_names ? (JSON.parse(session.tool_names) as string[]) : [],
    running,
    title: session.title,
    version: context.release.version,
    credential_warning: warning,
  };
}

/** Taken between two events: nothing is in it twice and nothing is missing. */
export function snapshotOf(parts: SessionParts, session: SessionRecord): Snapshot {
  const { store, transcripts, events, turns, requests } = parts;
  const latest_seq = events.settle(session.id);
  const working = turns.isRunning(session.id);
  const messages = recentMessages(transcripts, session.id, { limit: limits.sessions.snapshotRowsMax });
  return {
    session_id: session.id,
    messages,
    asides: asidesAmong(store, session.id, messages),
    status: statusOf(parts, session.id),
    inflight: turns.inflight(session.id),
    queued: transcripts.queued(session.id).map(({ id, content }) => ({ id, text: content })),
    plan: { todos: session.todos ? (JSON.parse(session.todos) as TodoItem[]) : [], revision: session.todo_revision },
    open_requests: requests.list(session.id),
    pending_connection: null,
    info: infoOf(parts, session, working),
    latest_seq,
    epoch: store.epoch,
  };
}

export interface HistoryOptions {
  limit?: number | undefined;
  beforeId?: number | undefined;
  /** From which end `limit` and `offset` count. */
  order?: 'latest' | 'oldest' | undefined;
  offset?: number | undefined;
}

/** Rows from one end that fit into one answer, oldest first. */
export function recentMessages(transcripts: Transcripts, sessionId: string, options: HistoryOptions = {}): Message[] {
  const { limit = limits.turn.historyRowsMax, order = 'latest', ...rest } = options;
  const rows = transcripts.history(sessionId, { limit, order, ...rest });
  let chars = 0;
  const tooMuch = (row: Message) => (chars += row.content.length + (row.reasoning?.length ?? 0) + 200) > limits.turn.historyMaxChars;
  if (order === 'latest') return rows.slice(rows.findLastIndex(tooMuch) + 1);
  const tooFar = rows.findIndex(tooMuch);
  return tooFar < 0 ? rows : rows.slice(0, Math.max(1, tooFar));
}

/** `waiting`: for an answer of the user. */
export function statusOf({ turns, requests }: Pick<SessionParts, 'turns' | 'requests'>, sessionId: string): Snapshot['status'] {
  if (requests.isWaiting(sessionId)) return 'waiting';
  return turns.isRunning(sessionId) ? 'working' : 'idle';
}

export function rowOf(summary: SessionSummary, { turns, desk, requests }: Pick<SessionParts, 'turns' | 'desk' | 'requests'>): SessionRow {
  return {
    id: summary.id,
    source: summary.source,
    title: summary.title,
    model: factsOf(desk.resolve(summary)).model,
    started_at: isoTime(summary.started_at),
    last_active: isoTime(summary.last_active),
    message_count: summary.message_count,
    preview: summary.preview,
    status: statusOf({ turns, requests }, summary.id),
    parent_session_id: summary.parent_session_id,
    archived: summary.archived === 1,
    hidden: summary.hidden === 1,
    usage: sessionTotals(summary),
  };
}

/** Sessions without a prompt for so long. One that somebody looks at may still get it. */
export function leftBehind({ store, turns, events }: Pick<SessionParts, 'store' | 'turns' | 'events'>, beforeMs: number): string[] {
  return store.emptySessions(beforeMs).filter((id) => !turns.isRunning(id) && events.followersOf(id).length === 0);
}

/** All or none, with what they left running and what is held for them; how many there were. Errors: those of the store. */
export function removeSessions({ store, requests, toolbox, events, search }: SessionParts, ids: readonly string[]): number {
  if (ids.length === 0) return 0;
  for (const id of ids) requests.closeSession(id);
  const removed = store.transaction(() => ids.filter((id) => store.deleteSession(id)).length);
  for (const id of ids) {
    void toolbox.processes.endSession(id);
    events.forget(id);
  }
  search.forget();
  events.broadcast('sessions.changed');
  return removed;
}

/** A chat of the gateway keeps the rules of its platform, whoever types. */
export function surfaceOf(session: SessionRecord): string {
  if (session.platform !== null) return 'gateway';
  return Surface.safeParse(session.source).success ? session.source : 'other';
}

/** Where commands and relative paths start when nobody says otherwise. */
export function defaultDirectory(context: WorkerContext): string {
  return [homedir(), context.home.root].find(isDirectory) ?? '/';
}

/** Errors: BAD_REQUEST. */
export function checkedDirectory(cwd: string): string {
  if (isDirectory(cwd)) return cwd;
  throw new AgentError('BAD_REQUEST', `cwd: there is no directory ${cwd}`, {
    field: 'cwd',
    fix: 'give the absolute path of an existing directory',
  });
}

const isDirectory = (path: string): boolean => path.startsWith('/') && (statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false);
