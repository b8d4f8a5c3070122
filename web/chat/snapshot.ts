/** A session from what the service has stored: its newest rows, older pages before them, and the turn under way. */
import type { Aside, Message, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import type { AgentItem, AsideItem, Item, ToolUse, Transcript, Turn } from './transcript.ts';

/** A first page this small is the whole of the session: the service cuts by number (400) and by size (6 million characters). */
const WHOLE_ROWS_MAX = 100;
const WHOLE_CHARS_MAX = 3_000_000;

/** `before`: what was shown until now; older pages that were read stay. */
export function fromSnapshot(snapshot: Snapshot, nowMs: number, before: Transcript | null = null): Transcript {
  // oxlint-disable-next-line typescript/no-useless-default-assignment -- an agent worker of an older release knows of no asides
  const { session_id, messages, asides = [], inflight, queued, plan, open_requests, info, latest_seq, epoch } = snapshot;
  const { items, orphans } = itemsOf(messages, new Map());
  const turn = turnOf(snapshot, items, nowMs);
  const fresh: Transcript = {
    sessionId: session_id,
    epoch,
    seq: latest_seq,
    items: withAsides(items, asides),
    oldest: { rowId: messages[0]?.id ?? null, all: isWhole(messages), orphans },
    queued,
    turn: inflight || turn ? turn : null,
    compacting: null,
    plan,
    helpers: [],
    requests: open_requests,
    info,
    stale: false,
  };
  return before ? keepOlder(before, fresh) : fresh;
}

const isWhole = (messages: readonly Message[]): boolean =>
  messages.length < WHOLE_ROWS_MAX && messages.reduce((sum, { content }) => sum + content.length, 0) < WHOLE_CHARS_MAX;

/** Pages before the first row of the snapshot stay as they are. */
function keepOlder(before: Transcript, fresh: Transcript): Transcript {
  const first = fresh.items[0];
  const at = first ? before.items.findIndex(({ kind, id }) => kind === first.kind && id === first.id) : -1;
  if (at <= 0) return fresh;
  // What was answered meanwhile stands further down now.
  const moved = new Set(fresh.items.flatMap((item) => (item.kind === 'aside' ? [item.taskId] : [])));
  const older = before.items.slice(0, at).filter((item) => item.kind !== 'aside' || !moved.has(item.taskId));
  return { ...fresh, items: [...older, ...fresh.items], oldest: before.oldest };
}

/** The transcript with the rows before its first one; no rows = there are none. */
export function withOlder(before: Transcript, messages: readonly Message[], asides: readonly Aside[] = []): Transcript {
  const [first] = messages;
  const known = new Set(before.items.flatMap((item) => (item.kind === 'aside' ? [item.taskId] : [])));
  const fresh = asides.filter(({ task_id }) => !known.has(task_id));
  if (!first) {
    const items = [...withAsides([], fresh), ...before.items];
    return { ...before, items, oldest: { ...before.oldest, all: true, orphans: new Map() } };
  }
  const { items, orphans } = itemsOf(messages, before.oldest.orphans);
  return { ...before, items: [...withAsides(items, fresh), ...before.items], oldest: { rowId: first.id, all: false, orphans } };
}

/** Each below its message; where that one is on another page, below the last that came before it. In their order. */
function withAsides(items: readonly Item[], asides: readonly Aside[]): Item[] {
  const placed = [...items];
  for (const aside of asides) {
    const after = aside.after_id ?? 0;
    const below = placed.findLastIndex((item) => item.id === after && item.id > 0);
    let at = 1 + (below >= 0 ? below : placed.findLastIndex(({ id }) => id > 0 && id < after));
    while (placed[at]?.kind === 'aside') at++;
    placed.splice(at, 0, asideItem(aside));
  }
  return placed;
}

const asideItem = ({ id, task_id, question, text, error, status, session_id }: Aside): AsideItem => ({
  kind: 'aside',
  id: -id,
  taskId: task_id,
  question,
  text: error ?? text,
  running: status === 'running',
  failed: status === 'error' || status === 'interrupted',
  sessionId: session_id,
});

// --- the turn under way ---

/** Puts what runs into `items`; `waiting` alone says no more than that something is asked here: hidden work may ask in a session at rest. */
function turnOf({ status, inflight }: Snapshot, items: Item[], nowMs: number): Turn | null {
  if (!inflight) return status === 'working' ? { startedAt: nowMs, phase: 'waiting', detail: null } : null;
  const open = inflight.tools.map((tool): ToolUse => ({
    id: tool.tool_id,
    name: tool.name,
    args: tool.args,
    state: 'running',
    text: '',
    durationMs: null,
    startedAt: null,
  }));
  const running = new Set(open.map(({ id }) => id));
  const last = items.at(-1);
  if (last?.kind === 'agent' && last.tools.some(({ id }) => running.has(id))) {
    const tools = last.tools.map((tool): ToolUse => (running.has(tool.id) ? { ...tool, state: 'running' } : tool));
    items[items.length - 1] = { ...last, streaming: true, tools };
  } else if (last?.kind !== 'agent' || last.id !== inflight.message_id) {
    const { message_id: id, text, reasoning } = inflight;
    items.push({ kind: 'agent', id, text, reasoning, tools: open, streaming: true, end: null });
  }
  const phase = open.length > 0 ? 'tool' : inflight.text ? 'writing' : inflight.reasoning ? 'thinking' : 'waiting';
  return { startedAt: Math.min(nowMs, Date.parse(inflight.started_at) || nowMs), phase, detail: open.at(-1)?.name ?? null };
}

// --- rows ---

/** `results`: of tools whose calls stand on this page, from the page after it. */
function itemsOf(messages: readonly Message[], results: ReadonlyMap<string, Message>): { items: Item[]; orphans: Map<string, Message> } {
  const items: Item[] = [];
  const left = new Map(results);
  for (const message of messages) if (message.role === 'tool' && message.tool_call_id) left.set(message.tool_call_id, message);
  for (const message of messages) {
    const { id, role, content, kind } = message;
    if (kind === 'summary') items.push({ kind: 'summary', id, text: content });
    else if (role === 'user') items.push({ kind: 'user', id, text: content, attachments: message.attachments ?? [] });
    else if (role === 'system') items.push({ kind: 'notice', id, text: content, level: 'info' });
    else if (role === 'assistant') items.push(agentItem(message, left));
  }
  return { items, orphans: left };
}

/** Takes the results of its calls out of `results`. */
function agentItem(message: Message, results: Map<string, Message>): AgentItem {
  const tools = (message.tool_calls ?? []).map(({ id, name, args }): ToolUse => {
    const result = results.get(id);
    results.delete(id);
    const state = !result ? 'cut' : result.is_error ? 'failed' : 'done';
    return { id, name, args, state, text: result?.content ?? '', durationMs: null, startedAt: null };
  });
  const { finish_reason: reason, error, duration_ms } = message;
  const status = reason === 'interrupted' || reason === 'error' ? reason : 'complete';
  const ended = tools.length === 0 || status !== 'complete';
  return {
    kind: 'agent',
    id: message.id,
    text: message.content,
    reasoning: message.reasoning ?? '',
    tools,
    streaming: false,
    end: ended ? { status, failure: error, durationMs: duration_ms, usage: null } : null,
  };
}
