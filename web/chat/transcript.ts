/**
 * One session as the page shows it: a pure function of the last snapshot and the numbered events after
 * it. Knows nothing of sockets; applying the same events again changes nothing.
 */
import type { EventParams, EventPayloads, EventType } from '../../ipc/contracts/rpcEvents.ts';
import type { OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import type { Attachment, Message, Plan, SessionInfo, UsageTotals } from '../../ipc/contracts/rpcRecords.ts';

export interface ToolUse {
  id: string;
  name: string;
  args: unknown;
  /** `cut`: the turn ended and no result came. */
  state: 'running' | 'done' | 'failed' | 'cut';
  /** Output, or what is known of it so far. */
  text: string;
  durationMs: number | null;
  /** By the clock of this page; null = before it looked. */
  startedAt: number | null;
}

export interface Failure {
  code: string;
  message: string;
  fix: string | null;
}

export interface UserItem {
  kind: 'user';
  id: number;
  text: string;
  attachments: readonly Attachment[];
}

/** One answer of the model and the tools it called. A turn is a row of these. */
export interface AgentItem {
  kind: 'agent';
  id: number;
  text: string;
  reasoning: string;
  tools: ToolUse[];
  streaming: boolean;
  /** Set on the last answer of a turn. */
  end: {
    status: 'complete' | 'interrupted' | 'error';
    failure: Failure | null;
    durationMs: number | null;
    usage: UsageTotals | null;
  } | null;
}

/** Said by the service beside the conversation. */
export interface NoticeItem {
  kind: 'notice';
  id: number;
  text: string;
  level: 'info' | 'warn' | 'error';
}

/** Stands for the messages before it. */
export interface SummaryItem {
  kind: 'summary';
  id: number;
  text: string;
}

/** Beside the conversation: a side question, or work in the background. */
export interface AsideItem {
  kind: 'aside';
  /** Below zero: the number of the service's record, apart from those of messages. */
  id: number;
  taskId: string;
  question: string;
  text: string;
  /** It is not answered yet. */
  running: boolean;
  failed: boolean;
  /** Where background work was done. */
  sessionId: string | null;
}

export type Item = UserItem | AgentItem | NoticeItem | SummaryItem | AsideItem;

export interface Turn {
  startedAt: number;
  phase: 'waiting' | 'thinking' | 'writing' | 'preparing' | 'tool';
  /** Tool that runs or is being called, or a word of the service about what it waits for. */
  detail: string | null;
}

/** An agent that works for this one. */
export interface Helper {
  id: string;
  goal: string;
  doing: string;
}

export interface Transcript {
  sessionId: string;
  epoch: string;
  /** Number of the last event applied. */
  seq: number;
  items: readonly Item[];
  /** How far back it goes. `orphans`: results of tools whose calls stand on the page before. */
  oldest: { rowId: number | null; all: boolean; orphans: ReadonlyMap<string, Message> };
  queued: readonly { id: number; text: string }[];
  turn: Turn | null;
  /** Since when the conversation is being compressed. */
  compacting: { startedAt: number; text: string } | null;
  plan: Plan;
  helpers: readonly Helper[];
  /** Questions that wait for an answer of the user, oldest first. */
  requests: readonly OpenRequest[];
  info: SessionInfo;
  /** Rows were replaced: a snapshot has to be fetched. */
  stale: boolean;
}

/** The transcript after one event. Events without a number (they could not be stored) are applied as they come. */
export function applyEvent(before: Transcript, event: EventParams, nowMs: number): Transcript {
  if (event.seq !== null && event.seq <= before.seq) return before;
  const reducer = (reducers as Record<string, Reducer | undefined>)[event.type];
  const after = reducer ? reducer(before, event.payload as never, { nowMs, seq: event.seq ?? nowMs }) : before;
  return event.seq === null ? after : { ...after, seq: event.seq };
}

interface When {
  nowMs: number;
  seq: number;
}
type Reducer = (before: Transcript, payload: never, when: When) => Transcript;
type Reducers = { [T in EventType]?: (before: Transcript, payload: EventPayloads[T], when: When) => Transcript };

const reducers: Reducers = {
  'prompt.accepted': (before, { message_id, text, attachments }, when) => {
    const queued = before.queued.filter(({ id }) => id !== message_id);
    if (before.items.some(({ kind, id }) => kind === 'user' && id === message_id)) return { ...before, queued };
    const item: UserItem = { kind: 'user', id: message_id, text, attachments: attachments ?? [] };
    return { ...before, queued, turn: turnAt(before, when), items: [...before.items, item] };
  },
  'message.start': (before, { message_id }, when) => {
    const fresh: AgentItem = { kind: 'agent', id: message_id, text: '', reasoning: '', tools: [], streaming: true, end: null };
    return { ...before, turn: inPhase(before, when, 'waiting'), items: [...stopped(before.items), fresh] };
  },
  'message.delta': (before, { text }, when) => ({
    ...before,
    turn: inPhase(before, when, 'writing'),
    items: changeLast(before, (item) => ({ ...item, text: item.text + text })),
  }),
  'reasoning.delta': (before, { text }, when) => ({
    ...before,
    turn: inPhase(before, when, 'thinking'),
    items: changeLast(before, (item) => ({ ...item, reasoning: item.reasoning + text })),
  }),
  'message.interim': (before, { text }) => ({ ...before, items: changeLast(before, (item) => ({ ...item, text })) }),
  'message.complete': (before, payload, when) => ({ ...before, turn: null, helpers: [], items: completed(before, payload, when.seq) }),
  'tool.generating': (before, { name }, when) => ({ ...before, turn: inPhase(before, when, 'preparing', name) }),
  'tool.start': (before, { tool_id, name, args }, when) => {
    const use: ToolUse = { id: tool_id, name, args, state: 'running', text: '', durationMs: null, startedAt: when.nowMs };
    const items = changeLast(before, (item) => ({ ...item, tools: [...item.tools.filter(({ id }) => id !== tool_id), use] }));
    return { ...before, turn: inPhase(before, when, 'tool', name), items };
  },
  'tool.progress': (before, { tool_id, preview }) => ({
    ...before,
    items: changeTool(before, tool_id, (tool) => ({ ...tool, text: preview })),
  }),
  'tool.complete': (before, { tool_id, result_text, is_error, duration_s }, when) => {
    const state = is_error ? 'failed' : 'done';
    const items = changeTool(before, tool_id, (tool) => ({ ...tool, state, text: result_text, durationMs: duration_s * 1_000 }));
    return { ...before, turn: inPhase(before, when, 'waiting'), items };
  },
  'todo.updated': (before, plan) => ({ ...before, plan }),
  'status.update': status,
  'queue.updated': (before, { queued }) => ({ ...before, queued }),
  'request.cancel': (before, { id }) => ({ ...before, requests: before.requests.filter((request) => request.id !== id) }),
  session_info: (before, info) => ({ ...before, info }),
  'session.title': (before, { title }) => ({ ...before, info: { ...before.info, title } }),
  'session.usage': (before, { usage }) => ({ ...before, info: { ...before.info, usage } }),
  'session.changed': (before) => ({ ...before, stale: true }),
  'btw.complete': (before, { aside_id, task_id, question, text, error }, { seq }) =>
    answered(before, {
      kind: 'aside',
      id: -(aside_id || seq),
      taskId: task_id,
      question,
      text: error ?? text,
      running: false,
      failed: error !== null,
      sessionId: null,
    }),
  'background.complete': (before, { aside_id, task_id, session_id, question, text, status: outcome }, { seq }) =>
    answered(before, {
      kind: 'aside',
      id: -(aside_id || seq),
      taskId: task_id,
      question,
      text,
      running: false,
      failed: outcome !== 'complete',
      sessionId: session_id,
    }),
  'subagent.start': (before, { subagent_id, goal }) => ({
    ...before,
    helpers: [...before.helpers.filter(({ id }) => id !== subagent_id), { id: subagent_id, goal, doing: '' }],
  }),
  'subagent.progress': (before, { subagent_id, text, tool_name }) => ({
    ...before,
    helpers: before.helpers.map((helper) => (helper.id === subagent_id ? { ...helper, doing: tool_name ?? text } : helper)),
  }),
  'subagent.complete': (before, { subagent_id }) => ({ ...before, helpers: before.helpers.filter(({ id }) => id !== subagent_id) }),
  error: (before, { message }, { seq }) => added(before, { kind: 'notice', id: -seq, text: message, level: 'error' }),
  notice: (before, { text, level }, { seq }) => added(before, { kind: 'notice', id: -seq, text, level: level ?? 'info' }),
};

/** The transcript with a question that has just been asked, or is known in more detail. */
export function withRequest(before: Transcript, request: OpenRequest): Transcript {
  const others = before.requests.filter(({ id }) => id !== request.id);
  return { ...before, requests: [...others, request].toSorted((a, b) => (a.asked_at < b.asked_at ? -1 : 1)) };
}

// --- phases ---

const inPhase = (before: Transcript, { nowMs }: When, phase: Turn['phase'], detail: string | null = null): Turn => ({
  startedAt: before.turn?.startedAt ?? nowMs,
  phase,
  detail,
});

const turnAt = (before: Transcript, { nowMs }: When): Turn => before.turn ?? { startedAt: nowMs, phase: 'waiting', detail: null };

function status(before: Transcript, { kind, text, phase }: EventPayloads['status.update'], { nowMs, seq }: When): Transcript {
  // Open questions say that themselves, and the tool that asked goes on under its own name.
  if (kind === 'waiting') return before;
  if (kind !== 'compacting') return { ...before, turn: before.turn && { ...before.turn, detail: text } };
  if (phase === 'start') return { ...before, compacting: { startedAt: nowMs, text } };
  const over: Transcript = { ...before, compacting: null };
  return text ? added(over, { kind: 'notice', id: -seq, text, level: 'info' }) : over;
}

// --- items ---

const added = (before: Transcript, item: Item): Transcript => ({ ...before, items: [...before.items, item] });

/** It goes to the end, where it came; what stood for it while it was waited for goes. */
const answered = (before: Transcript, item: AsideItem): Transcript => ({
  ...before,
  items: [...before.items.filter((one) => one.kind !== 'aside' || one.taskId !== item.taskId), item],
});

function completed(
  before: Transcript,
  { message_id, text, status: outcome, error, duration_ms, usage }: EventPayloads['message.complete'],
  seq: number,
): Item[] {
  const items = stopped(before.items);
  const end: AgentItem['end'] = { status: outcome, failure: error, durationMs: duration_ms, usage };
  const at = items.findLastIndex(({ kind, id }) => kind === 'agent' && id === message_id);
  const found = items[at];
  if (found?.kind !== 'agent')
    return [...items, { kind: 'agent', id: message_id ?? -seq, text, reasoning: '', tools: [], streaming: false, end }];
  items[at] = { ...found, text: text || found.text, end };
  return items;
}

/** Nothing streams any more: what still seemed to run was cut. */
function stopped(items: readonly Item[]): Item[] {
  return items.map((item) => {
    if (item.kind !== 'agent' || !(item.streaming || item.tools.some(({ state }) => state === 'running'))) return item;
    return { ...item, streaming: false, tools: item.tools.map((tool) => (tool.state === 'running' ? { ...tool, state: 'cut' } : tool)) };
  });
}

function changeLast({ items }: Transcript, change: (item: AgentItem) => AgentItem): readonly Item[] {
  const at = items.findLastIndex(({ kind }) => kind === 'agent');
  const found = items[at];
  return found?.kind === 'agent' ? items.with(at, change(found)) : items;
}

function changeTool({ items }: Transcript, toolId: string, change: (tool: ToolUse) => ToolUse): readonly Item[] {
  const at = items.findLastIndex((item) => item.kind === 'agent' && item.tools.some(({ id }) => id === toolId));
  const found = items[at];
  if (found?.kind !== 'agent') return items;
  return items.with(at, { ...found, tools: found.tools.map((tool) => (tool.id === toolId ? change(tool) : tool)) });
}
