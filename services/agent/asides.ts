/**
 * The record of what goes on beside a conversation: a side question or background work is on it before its asker hears
 * that it was accepted, and its answer before anybody sees it. Bounded: the oldest of a session go.
 */
import { limits } from '../../base/limits.ts';
import { isoTime } from '../../base/time.ts';
import type { Aside, Message } from '../../ipc/contracts/rpcRecords.ts';
import type { Store } from './store.ts';

interface Row {
  id: number;
  session_id: string;
  task_id: string;
  kind: Aside['kind'];
  question: string;
  text: string;
  error: string | null;
  status: Aside['status'];
  after_position: number;
  after_id: number | null;
  at: number;
}

export interface NewAside {
  sessionId: string;
  taskId: string;
  kind: Aside['kind'];
  question: string;
}

export interface AsideEnd {
  text: string;
  error: string | null;
  status: Exclude<Aside['status'], 'running'>;
}

/** What is drawn as something of its own: results of tools stand in the answer that called them. */
const DRAWN = "position IS NOT NULL AND active = 1 AND role <> 'tool'";
const END = '(SELECT coalesce(max(position), 0) FROM messages WHERE session_id = @session)';

/** Below what stands in the transcript now. To be called in the transaction that makes it true. */
export function beginAside(store: Store, { sessionId, taskId, kind, question }: NewAside): void {
  store.run(
    `INSERT INTO asides (session_id, task_id, kind, question, after_position, at) VALUES (@session, @task, @kind, @question, ${END}, @now)`,
    { session: sessionId, task: taskId, kind, question: question.slice(0, limits.side.answerMaxChars), now: Date.now() },
  );
  store.run(
    `DELETE FROM asides WHERE session_id = @session AND status <> 'running'
     AND id <= (SELECT id FROM asides WHERE session_id = @session ORDER BY id DESC LIMIT 1 OFFSET @kept)`,
    { session: sessionId, kept: limits.side.keptMax },
  );
}

/** It moves to the end, where it is shown when it comes. Answers its id; work that an older release began is put on record now. */
export function endAside(store: Store, aside: NewAside, { text, error, status }: AsideEnd): number {
  const find = () => store.one<{ id: number }>('SELECT id FROM asides WHERE task_id = ?', aside.taskId)?.id;
  if (find() === undefined) beginAside(store, aside);
  const id = find()!;
  store.run(`UPDATE asides SET text = @text, error = @error, status = @status, after_position = ${END}, at = @now WHERE id = @id`, {
    session: aside.sessionId,
    id,
    text: text.slice(0, limits.side.answerMaxChars),
    error,
    status,
    now: Date.now(),
  });
  return id;
}

/** Side questions that nobody answers any more: their worker ended over them. Background work goes on by itself. */
export function openQuestions(store: Store): { sessionId: string; taskId: string; question: string }[] {
  return store
    .all<Row>("SELECT * FROM asides WHERE status = 'running' AND kind = 'btw' ORDER BY id")
    .map(({ session_id, task_id, question }) => ({ sessionId: session_id, taskId: task_id, question }));
}

/** Those among a page of the session: its first page has also what stands above all messages. `beforeId`: the page after begins there. */
export function asidesAmong(store: Store, sessionId: string, messages: readonly Message[], beforeId?: number): Aside[] {
  const from = positionOf(store, messages[0]?.id);
  const isFirst = !store.one(`SELECT 1 FROM messages WHERE session_id = ? AND ${DRAWN} AND position < ? LIMIT 1`, sessionId, from);
  const first = isFirst ? 0 : from;
  const before = beforeId === undefined ? Number.MAX_SAFE_INTEGER : positionOf(store, beforeId);
  const rows = store.all<Row>(
    `SELECT asides.*,
       (SELECT id FROM messages WHERE session_id = @session AND ${DRAWN} AND position <= after_position ORDER BY position DESC, id DESC LIMIT 1) AS after_id
     FROM asides WHERE session_id = @session AND after_position >= @first AND after_position < @before
     ORDER BY after_position DESC, at DESC, id DESC LIMIT @shown`,
    { session: sessionId, first, before, shown: limits.side.shownMax },
  );
  return rows.toReversed().map(toAside);
}

function positionOf(store: Store, messageId: number | undefined): number {
  return store.one<{ position: number | null }>('SELECT position FROM messages WHERE id = ?', messageId ?? 0)?.position ?? 0;
}

const toAside = ({ id, task_id, kind, question, text, error, status, after_id, at }: Row): Aside => ({
  id,
  task_id,
  kind,
  question,
  text,
  error,
  status,
  session_id: kind === 'background' ? task_id : null,
  after_id,
  timestamp: isoTime(at),
});
