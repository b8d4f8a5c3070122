/**
 * Going back and going aside: exchanges taken back stay in the store, not shown; a branch is a session of
 * its own with copies of the rows, the same system prompt and tools, so that the provider's cache still fits.
 */
import { sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { SessionRecord, Store } from './store.ts';

/** An exchange begins with a prompt of somebody; what a summary stands for can no longer be taken back. */
const PROMPT = "role = 'user' AND kind = 'plain' AND active = 1 AND compacted = 0 AND position IS NOT NULL";

export interface Undone {
  /** Rows that are no longer shown. */
  removed: number;
  /** The earliest prompt taken back. */
  text: string | null;
}

/** Takes back the last `count` exchanges, or as many as there are. The session must rest. */
export function undo(store: Store, sessionId: string, count: number): Undone {
  return store.transaction(() => {
    const first = promptsFromEnd(store, sessionId, count).at(-1);
    if (!first) return { removed: 0, text: null };
    const { changes } = store.run(
      "UPDATE messages SET active = 0 WHERE session_id = ? AND position >= ? AND active = 1 AND compacted = 0 AND kind <> 'summary'",
      sessionId,
      first.position,
    );
    store.run('UPDATE sessions SET rewind_count = rewind_count + 1, last_active = ? WHERE id = ?', Date.now(), sessionId);
    return { removed: changes, text: first.content };
  });
}

interface LastPrompt {
  position: number;
  content: string;
  /** JSON list or null. */
  attachments: string | null;
}

/** Of the last exchange that can be taken back. */
export const lastPrompt = (store: Store, sessionId: string): LastPrompt | undefined => promptsFromEnd(store, sessionId, 1)[0];

function promptsFromEnd(store: Store, sessionId: string, count: number): LastPrompt[] {
  return store.all<LastPrompt>(
    `SELECT position, content, attachments FROM messages WHERE session_id = ? AND ${PROMPT} ORDER BY position DESC LIMIT ?`,
    sessionId,
    count,
  );
}

export interface Branch {
  title?: string | undefined;
  /** Exchanges left out at the end. */
  count: number;
  /** The turn that runs now is left out too. */
  runningTurn: number | undefined;
}

/** What of a session belongs to the conversation, not to its place, its time or its name. */
const KEPT =
  'source, model, provider, reasoning_effort, service_tier, cwd, safe_mode, toolset_choices, todos, todo_revision, compressions, system_prompt, prompt_layout, tool_names';

/** A session with the rows up to the point. Answers its id. */
export function branch(store: Store, from: SessionRecord, { title, count, runningTurn }: Branch): string {
  return store.transaction(() => {
    const id = sortableId('ses');
    const now = Date.now();
    store.run(
      `INSERT INTO sessions (id, title, parent_session_id, started_at, last_active, ${KEPT})
       SELECT @id, @title, id, @now, @now, ${KEPT} FROM sessions WHERE id = @from`,
      { id, title: title ?? nextTitle(store, from.title), now, from: from.id },
    );
    const end = count === 0 ? undefined : promptsFromEnd(store, from.id, count).at(-1)?.position;
    const until = Math.min(end ?? Infinity, startOf(store, runningTurn) ?? Infinity);
    const bound = Number.isFinite(until) ? until : Number.MAX_SAFE_INTEGER;
    copyTurns(store, { from: from.id, to: id, bound });
    copyMessages(store, { from: from.id, to: id, bound });
    return id;
  });
}

interface Copy {
  from: string;
  to: string;
  /** Rows before this place. */
  bound: number;
}

/** How turns ended, without what they cost: that was paid once. `message_id` and `assistant_id` are still the old ones. */
function copyTurns(store: Store, copy: Copy): void {
  store.run(
    `INSERT INTO turns (session_id, message_id, status, cause, assistant_id, text, error, tools_ran, model, provider, surface, started_at, ended_at)
     SELECT @to, t.message_id, t.status, t.cause, t.assistant_id, t.text, t.error, t.tools_ran, t.model, t.provider, t.surface, t.started_at, t.ended_at
     FROM turns t JOIN messages m ON m.id = t.assistant_id
     WHERE t.session_id = @from AND t.status <> 'running' AND m.active = 1 AND m.position < @bound`,
    copy,
  );
}

function copyMessages(store: Store, copy: Copy): void {
  const rows = store.all<{ id: number; turn_id: number | null }>(
    `SELECT id, turn_id FROM messages WHERE session_id = @from AND active = 1 AND position < @bound
     AND NOT (role = 'assistant' AND finish_reason IS NULL) ORDER BY position, id`,
    { from: copy.from, bound: copy.bound },
  );
  for (const { id } of rows) {
    const copied = store.run(
      `INSERT INTO messages (session_id, position, role, content, tool_calls, tool_call_id, tool_name, is_error, reasoning, finish_reason, timestamp, surface, author, compacted, kind, attachments)
       SELECT ?, position, role, content, tool_calls, tool_call_id, tool_name, is_error, reasoning, finish_reason, timestamp, surface, author, compacted, kind, attachments
       FROM messages WHERE id = ?`,
      copy.to,
      id,
    ).id;
    store.run('UPDATE turns SET message_id = ? WHERE message_id = ? AND session_id = ?', copied, id, copy.to);
    store.run('UPDATE turns SET assistant_id = ? WHERE assistant_id = ? AND session_id = ?', copied, id, copy.to);
  }
}

const startOf = (store: Store, turnId: number | undefined): number | undefined =>
  turnId === undefined
    ? undefined
    : (store.one<{ position: number | null }>('SELECT min(position) AS position FROM messages WHERE turn_id = ?', turnId)?.position ??
      undefined);

/** `Trip` → `Trip #2`, `Trip #2` → `Trip #3`: the first number that nobody has. */
function nextTitle(store: Store, title: string | null): string | null {
  if (title === null) return null;
  const base = title.replace(/ #\d+$/, '').slice(0, limits.sessions.titleMaxChars - 8);
  const taken = new Set(
    store
      .all<{ title: string }>('SELECT title FROM sessions WHERE title >= ? AND title < ?', `${base} #`, `${base} #~`)
      .map((row) => row.title),
  );
  let number = 2;
  while (taken.has(`${base} #${number}`)) number++;
  return `${base} #${number}`;
}
