/**
 * One session as the page shows it: a pure function of the last snapshot and the numbered events after
 * it. Knows nothing of sockets; applying the same events again changes nothing.
 */
import type { EventParams, EventPayloads } from '../../ipc/contracts/rpcEvents.ts';
import type { OpenRequest } from '../../ipc/contracts/rpcRequests.ts';
import type { Message, SessionInfo, Snapshot } from '../../ipc/contracts/rpcRecords.ts';

export interface ToolUse {
  id: string;
  name: string;
  args: unknown;
  /** `cut`: the turn ended and no result came. */
  state: 'running' | 'done' | 'failed' | 'cut';
  /** Output, or what is known of it so far. */
  text: string;
  durationMs: number | null;
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
  end: { status: 'complete' | 'interrupted' | 'error'; failure: Failure | null; durationMs: number | null } | null;
}

export interface NoticeItem {
  kind: 'notice';
  id: number;
  text: string;
}

export type Item = UserItem | AgentItem | NoticeItem;

export interface Turn {
  startedAt: number;
  phase: 'waiting' | 'thinking' | 'writing' | 'tool';
  /** Tool that runs, or a word of the service about what it waits for. */
  detail: string | null;
}

export interface Transcript {
  sessionId: string;
  epoch: string;
  /** Number of the last event applied. */
  seq: number;
  items: readonly Item[];
  queued: readonly { id: number; text: string }[];
  turn: Turn | null;
  /** Questions that wait for an answer of the user, oldest first. */
  requests: readonly OpenRequest[];
  info: SessionInfo;
}

// --- from a snapshot ---

export function fromSnapshot(
  { session_id, messages, status, inflight, queued, open_requests, info, latest_seq, epoch }: Snapshot,
  nowMs: number,
): Transcript {
  const items = itemsOf(messages);
  // `waiting` alone says no more than that something is asked here: hidden work may ask in a session at rest.
  let turn: Turn | null = status === 'working' ? { startedAt: nowMs, phase: 'waiting', detail: null } : null;
  if (inflight) {
    const open = inflight.tools.map((tool): ToolUse => ({
      id: tool.tool_id,
      name: tool.name,
      args: tool.args,
      state: 'running',
      text: '',
      durationMs: null,
    }));
    const running = new Set(open.map(({ id }) => id));
    const last = items.at(-1);
    if (last?.kind === 'agent' && last.tools.some(({ id }) => running.has(id))) {
      items[items.length - 1] = {
        ...last,
        streaming: true,
        tools: last.tools.map((tool) => (running.has(tool.id) ? { ...tool, state: 'running' } : tool)),
      };
    } else if (last?.kind !== 'agent' || last.id !== inflight.message_id) {
      items.push({
        kind: 'agent',
        id: inflight.message_id,
        text: inflight.text,
        reasoning: inflight.reasoning,
        tools: open,
        streaming: true,
        end: null,
      });
    }
    const phase = open.length > 0 ? 'tool' : inflight.text ? 'writing' : inflight.reasoning ? 'thinking' : 'waiting';
    turn = { startedAt: Math.min(nowMs, Date.parse(inflight.started_at) || nowMs), phase, detail: open.at(-1)?.name ?? null };
  }
  return { sessionId: session_id, epoch, seq: latest_seq, items, queued, turn, requests: open_requests, info };
}

function itemsOf(messages: readonly Message[]): Item[] {
  const items: Item[] = [];
  const results = new Map(messages.filter(({ role }) => role === 'tool').map((message) => [message.tool_call_id, message]));
  for (const message of messages) {
    if (message.role === 'user') items.push({ kind: 'user', id: message.id, text: message.content });
    else if (message.role === 'system') items.push({ kind: 'notice', id: message.id, text: message.content });
    else if (message.role === 'assistant') items.push(agentItem(message, results));
  }
  return items;
}

function agentItem(message: Message, results: ReadonlyMap<string | null, Message>): AgentItem {
  const tools = (message.tool_calls ?? []).map(({ id, name, args }): ToolUse => {
    const result = results.get(id);
    return { id, name, args, state: result ? 'done' : 'cut', text: result?.content ?? '', durationMs: null };
  });
  const reason = message.finish_reason;
  const status = reason === 'interrupted' || reason === 'error' ? reason : 'complete';
  const ended = tools.length === 0 || status !== 'complete';
  return {
    kind: 'agent',
    id: message.id,
    text: message.content,
    reasoning: message.reasoning ?? '',
    tools,
    streaming: false,
    end: ended ? { status, failure: null, durationMs: null } : null,
  };
}

// --- by events ---

/** The transcript after one event. Events without a number (they could not be stored) are applied as they come. */
export function applyEvent(before: Transcript, event: EventParams, nowMs: number): Transcript {
  if (event.seq !== null && event.seq <= before.seq) return before;
  const after = reduce(before, event, nowMs);
  return event.seq === null ? after : { ...after, seq: event.seq };
}

function reduce(before: Transcript, { type, payload, seq }: EventParams, nowMs: number): Transcript {
  const turn = (phase: Turn['phase'], detail: string | null = null): Turn => ({
    startedAt: before.turn?.startedAt ?? nowMs,
    phase,
    detail,
  });
  switch (type) {
    case 'prompt.accepted': {
      const { message_id, text } = payload as EventPayloads['prompt.accepted'];
      if (before.items.some(({ kind, id }) => kind === 'user' && id === message_id)) return before;
      return {
        ...before,
        turn: turn(before.turn?.phase ?? 'waiting', before.turn?.detail),
        items: [...before.items, { kind: 'user', id: message_id, text }],
      };
    }
    case 'message.start': {
      const { message_id } = payload as EventPayloads['message.start'];
      const fresh: AgentItem = { kind: 'agent', id: message_id, text: '', reasoning: '', tools: [], streaming: true, end: null };
      return { ...before, turn: turn('waiting'), items: [...stopped(before.items), fresh] };
    }
    case 'message.delta':
      return {
        ...before,
        turn: turn('writing'),
        items: changeLast(before, (item) => ({ ...item, text: item.text + (payload as EventPayloads['message.delta']).text })),
      };
    case 'reasoning.delta':
      return {
        ...before,
        turn: turn('thinking'),
        items: changeLast(before, (item) => ({ ...item, reasoning: item.reasoning + (payload as EventPayloads['reasoning.delta']).text })),
      };
    case 'message.interim': {
      const { text } = payload as EventPayloads['message.interim'];
      return { ...before, items: changeLast(before, (item) => ({ ...item, text })) };
    }
    case 'tool.start': {
      const { tool_id, name, args } = payload as EventPayloads['tool.start'];
      const use: ToolUse = { id: tool_id, name, args, state: 'running', text: '', durationMs: null };
      return {
        ...before,
        turn: turn('tool', name),
        items: changeLast(before, (item) => ({ ...item, tools: [...item.tools.filter(({ id }) => id !== tool_id), use] })),
      };
    }
    case 'tool.progress': {
      const { tool_id, preview } = payload as EventPayloads['tool.progress'];
      return { ...before, items: changeTool(before, tool_id, (tool) => ({ ...tool, text: preview })) };
    }
    case 'tool.complete': {
      const { tool_id, result_text, is_error, duration_s } = payload as EventPayloads['tool.complete'];
      const items = changeTool(before, tool_id, (tool) => ({
        ...tool,
        state: is_error ? 'failed' : 'done',
        text: result_text,
        durationMs: duration_s * 1_000,
      }));
      return { ...before, turn: turn('waiting'), items };
    }
    case 'message.complete':
      return { ...before, turn: null, items: completed(before, payload as EventPayloads['message.complete'], seq ?? before.seq) };
    case 'status.update': {
      const { kind, text } = payload as EventPayloads['status.update'];
      // Open questions say that themselves, and the tool that asked goes on under its own name.
      if (kind === 'waiting') return before;
      return { ...before, turn: before.turn && { ...before.turn, detail: text } };
    }
    case 'queue.updated':
      return requeued(before, (payload as EventPayloads['queue.updated']).queued);
    case 'request.cancel': {
      const { id } = payload as EventPayloads['request.cancel'];
      return { ...before, requests: before.requests.filter((request) => request.id !== id) };
    }
    case 'session_info':
      return { ...before, info: payload as unknown as SessionInfo };
    case 'session.title':
      return { ...before, info: { ...before.info, title: (payload as EventPayloads['session.title']).title } };
    case 'error':
    case 'notice':
      return {
        ...before,
        items: [...before.items, { kind: 'notice', id: -(seq ?? nowMs), text: String(payload.message ?? payload.text ?? '') }],
      };
    default:
      return before;
  }
}

/** The transcript with a question that has just been asked, or is known in more detail. */
export function withRequest(before: Transcript, request: OpenRequest): Transcript {
  const others = before.requests.filter(({ id }) => id !== request.id);
  return { ...before, requests: [...others, request].toSorted((a, b) => (a.asked_at < b.asked_at ? -1 : 1)) };
}

function completed(
  before: Transcript,
  { message_id, text, status, error, duration_ms }: EventPayloads['message.complete'],
  seq: number,
): Item[] {
  const items = stopped(before.items);
  const end: AgentItem['end'] = { status, failure: error, durationMs: duration_ms };
  const at = items.findLastIndex(({ kind, id }) => kind === 'agent' && id === message_id);
  const found = items[at];
  if (found?.kind !== 'agent')
    return [...items, { kind: 'agent', id: message_id ?? -seq, text, reasoning: '', tools: [], streaming: false, end }];
  items[at] = { ...found, text: text || found.text, end };
  return items;
}

/** A prompt that leaves the queue starts its turn: it now stands at the end. */
function requeued(before: Transcript, queued: Transcript['queued']): Transcript {
  const left = before.queued.filter(({ id }) => !queued.some((prompt) => prompt.id === id));
  const items = before.items.filter(({ kind, id }) => kind !== 'user' || !left.some((prompt) => prompt.id === id));
  return { ...before, queued, items: [...items, ...left.map(({ id, text }): UserItem => ({ kind: 'user', id, text }))] };
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
