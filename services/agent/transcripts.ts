/**
 * Messages and turns: the queue of prompts, the transcript as surfaces and models see it, and the
 * record of each turn. A prompt is one row from its acceptance on: while it waits its place is null.
 */
import type { ModelMessage, ToolCall, ToolResult, Usage } from '../../agent/ports.ts';
import type { TurnEnd, TurnError } from '../../agent/turn.ts';
import { isoTime } from '../../base/time.ts';
import type { Attachment, Message } from '../../ipc/contracts/rpcRecords.ts';
import { ContextCache, type ContextRecord } from './contextCache.ts';
import type { Store } from './store.ts';

export interface MessageRecord {
  id: number;
  session_id: string;
  turn_id: number | null;
  position: number | null;
  role: 'user' | 'assistant' | 'system' | 'tool';
  content: string;
  /** JSON list or null. */
  tool_calls: string | null;
  tool_call_id: string | null;
  tool_name: string | null;
  is_error: number;
  reasoning: string | null;
  finish_reason: string | null;
  timestamp: number;
  surface: string | null;
  author: string | null;
  saved_seq: number;
  compacted: number;
  kind: 'plain' | 'summary' | 'steer';
  /** JSON list or null. */
  attachments: string | null;
  queue_rank: number | null;
  unattended: number;
}

/** With the end of its turn, where the row is the last of it. */
type ShownRecord = MessageRecord & { turn_error: string | null; turn_ms: number | null };

export interface NewPrompt {
  sessionId: string;
  text: string;
  surface: string;
  idempotencyKey?: string | undefined;
  author?: string | undefined;
  attachments?: readonly Attachment[] | undefined;
  /** Nobody can answer a question of its turn. */
  unattended?: boolean | undefined;
  /** When the session is busy; default as `display.busy_input_mode` says. */
  busy?: BusyMode | undefined;
}

export type BusyMode = 'queue' | 'interrupt' | 'steer';

export type TurnCause = 'user' | 'drain' | 'crash' | 'store';

export interface TurnRecord {
  id: number;
  session_id: string;
  message_id: number;
  status: 'running' | 'complete' | 'interrupted' | 'error';
  cause: TurnCause | null;
  assistant_id: number | null;
  text: string;
  error: string | null;
  tools_ran: number;
  surface: string | null;
  started_at: number;
}

/** Place after everything that stands in the transcript. */
const NEXT_POSITION = '(SELECT coalesce(max(position), 0) + 1 FROM messages WHERE session_id = @session)';
/** Order of what waits. */
const RANK = 'coalesce(queue_rank, id)';
/** Rows of the finished transcript: not waiting, not streaming, not replaced. */
const SHOWN = "position IS NOT NULL AND active = 1 AND NOT (messages.role = 'assistant' AND messages.finish_reason IS NULL)";

export interface HistoryRange {
  limit: number;
  beforeId?: number | undefined;
  order?: 'latest' | 'oldest' | undefined;
  offset?: number | undefined;
}

export class Transcripts {
  #store: Store;
  #context: ContextCache;

  constructor(store: Store) {
    this.#store = store;
    this.#context = new ContextCache(store);
  }

  // --- the queue ---

  /**
   * Stores a prompt in the queue; its id. A key is used once per session (`promptByKey` finds it). `steer` waits for the
   * running turn and is a prompt like any other when that one does not take it; `first` goes before all that wait.
   */
  addPrompt(prompt: NewPrompt, { steer = false, first = false }: { steer?: boolean; first?: boolean } = {}): number {
    const { sessionId, text, surface, idempotencyKey, author, attachments = [], unattended = false } = prompt;
    return this.#store.transaction(() => {
      const now = Date.now();
      const rank = first
        ? (this.#store.one<{ rank: number | null }>(
            `SELECT min(${RANK}) - 1 AS rank FROM messages WHERE session_id = ? AND position IS NULL`,
            sessionId,
          )?.rank ?? null)
        : null;
      const { id } = this.#store.run(
        `INSERT INTO messages (session_id, role, content, timestamp, idempotency_key, surface, author, kind, attachments, queue_rank, unattended)
         VALUES (?, 'user', ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        sessionId,
        text,
        now,
        idempotencyKey ?? null,
        surface,
        author ?? null,
        steer ? 'steer' : 'plain',
        attachments.length > 0 ? JSON.stringify(attachments) : null,
        rank,
        unattended ? 1 : 0,
      );
      this.#store.run('UPDATE sessions SET last_active = ? WHERE id = ?', now, sessionId);
      return id;
    });
  }

  /** Texts for the running turn that it has not taken yet. */
  pendingSteer(sessionId: string): MessageRecord[] {
    return this.#store.all<MessageRecord>(
      `SELECT * FROM messages WHERE session_id = ? AND position IS NULL AND kind = 'steer' ORDER BY ${RANK}`,
      sessionId,
    );
  }

  /** A text takes its place in the transcript of a turn that runs. */
  joinTurn(message: MessageRecord, turnId: number): void {
    this.#store.run(`UPDATE messages SET position = ${NEXT_POSITION}, turn_id = @turn, queue_rank = NULL WHERE id = @id`, {
      session: message.session_id,
      turn: turnId,
      id: message.id,
    });
  }

  promptByKey(sessionId: string, key: string): MessageRecord | undefined {
    return this.#store.one<MessageRecord>('SELECT * FROM messages WHERE session_id = ? AND idempotency_key = ?', sessionId, key);
  }

  queued(sessionId: string): MessageRecord[] {
    return this.#store.all<MessageRecord>(`SELECT * FROM messages WHERE session_id = ? AND position IS NULL ORDER BY ${RANK}`, sessionId);
  }

  sessionsWithQueue(): string[] {
    return this.#store
      .all<{ session_id: string }>('SELECT session_id FROM messages WHERE position IS NULL GROUP BY session_id ORDER BY min(id)')
      .map((row) => row.session_id);
  }

  message(id: number): MessageRecord | undefined {
    return this.#store.one<MessageRecord>('SELECT * FROM messages WHERE id = ?', id);
  }

  // --- turns ---

  /** The prompt takes its place in the transcript and its turn runs. */
  startTurn(prompt: MessageRecord): number {
    return this.#store.transaction(() => {
      const { id } = this.#store.run(
        "INSERT INTO turns (session_id, message_id, status, surface, started_at) VALUES (?, ?, 'running', ?, ?)",
        prompt.session_id,
        prompt.id,
        prompt.surface,
        Date.now(),
      );
      this.#store.run(
        `UPDATE messages SET position = ${NEXT_POSITION}, turn_id = @turn, kind = 'plain', queue_rank = NULL WHERE id = @id`,
        { session: prompt.session_id, turn: id, id: prompt.id },
      );
      return id;
    });
  }

  /** Back into the queue for another run; what the cut run had left is kept, not shown. */
  requeue(turn: TurnRecord): void {
    this.#store.transaction(() => {
      this.#store.run("UPDATE messages SET active = 0 WHERE turn_id = ? AND role <> 'user'", turn.id);
      this.#store.run("UPDATE messages SET position = NULL WHERE turn_id = ? AND role = 'user'", turn.id);
    });
  }

  /** A waiting prompt that nobody wants any more: on record as interrupted, not shown. */
  withdraw(prompt: MessageRecord): void {
    this.#store.transaction(() => {
      const turnId = this.startTurn(prompt);
      this.#store.run('UPDATE messages SET active = 0 WHERE id = ?', prompt.id);
      this.finishTurn(
        turnId,
        { status: 'interrupted', messageId: null, text: '', error: null, usage: null, modelCalls: 0, toolCalls: 0 },
        'user',
      );
    });
  }

  setModel(turnId: number, { provider, id }: { provider: string; id: string }): void {
    this.#store.run('UPDATE turns SET provider = ?, model = ? WHERE id = ?', provider, id, turnId);
  }

  markToolsRan(turnId: number): void {
    this.#store.run('UPDATE turns SET tools_ran = 1 WHERE id = ? AND tools_ran = 0', turnId);
  }

  finishTurn(turnId: number, end: TurnEnd, cause: TurnCause | null): void {
    const now = Date.now();
    this.#store.run(
      'UPDATE turns SET status = ?, cause = ?, assistant_id = ?, text = ?, error = ?, usage = ?, cost_usd = ?, model_calls = ?, tool_calls = ?, ended_at = ? WHERE id = ?',
      end.status,
      cause,
      end.messageId,
      end.text,
      json(end.error),
      json(end.usage),
      end.usage?.costUsd ?? null,
      end.modelCalls,
      end.toolCalls,
      now,
      turnId,
    );
    this.#store.run('UPDATE sessions SET last_active = ? WHERE id = (SELECT session_id FROM turns WHERE id = ?)', now, turnId);
  }

  turn(id: number): TurnRecord | undefined {
    return this.#store.one<TurnRecord>('SELECT * FROM turns WHERE id = ?', id);
  }

  lastTurnOf(messageId: number): TurnRecord | undefined {
    return this.#store.one<TurnRecord>('SELECT * FROM turns WHERE message_id = ? ORDER BY id DESC LIMIT 1', messageId);
  }

  /** Turns that no end was recorded for, of one session or of all. */
  runningTurns(sessionId?: string): TurnRecord[] {
    return sessionId === undefined
      ? this.#store.all<TurnRecord>("SELECT * FROM turns WHERE status = 'running' ORDER BY id")
      : this.#store.all<TurnRecord>("SELECT * FROM turns WHERE status = 'running' AND session_id = ? ORDER BY id", sessionId);
  }

  rowsOfTurn(turnId: number): MessageRecord[] {
    return this.#store.all<MessageRecord>('SELECT * FROM messages WHERE turn_id = ? ORDER BY position', turnId);
  }

  usageOf(turnId: number): Usage | null {
    const row = this.#store.one<{ usage: string | null }>('SELECT usage FROM turns WHERE id = ?', turnId);
    return parsed<Usage>(row?.usage);
  }

  // --- rows of a running turn ---

  openAssistant(sessionId: string, turnId: number): number {
    return this.#store.run(
      `INSERT INTO messages (session_id, turn_id, position, role, timestamp) VALUES (@session, @turn, ${NEXT_POSITION}, 'assistant', @now)`,
      { session: sessionId, turn: turnId, now: Date.now() },
    ).id;
  }

  closeAssistant(
    id: number,
    { text, reasoning, toolCalls, finishReason }: { text: string; reasoning: string; toolCalls: ToolCall[]; finishReason: string },
  ): void {
    this.#store.run(
      'UPDATE messages SET content = ?, reasoning = ?, tool_calls = ?, finish_reason = ? WHERE id = ?',
      text,
      reasoning || null,
      toolCalls.length ? JSON.stringify(toolCalls) : null,
      finishReason,
      id,
    );
  }

  /** Text of a streaming row so far, complete up to event number `seq`. */
  saveProgress(id: number, { text, reasoning, seq }: { text: string; reasoning: string; seq: number }): void {
    this.#store.run('UPDATE messages SET content = ?, reasoning = ?, saved_seq = ? WHERE id = ?', text, reasoning || null, seq, id);
  }

  addToolResult(sessionId: string, turnId: number, call: ToolCall, result: ToolResult): void {
    const files = result.files?.map(({ mediaType, ...file }) => ({ ...file, media_type: mediaType }));
    this.#store.run(
      `INSERT INTO messages (session_id, turn_id, position, role, content, tool_call_id, tool_name, is_error, attachments, timestamp)
       VALUES (@session, @turn, ${NEXT_POSITION}, 'tool', @content, @call, @name, @failed, @files, @now)`,
      {
        session: sessionId,
        turn: turnId,
        content: result.text,
        call: call.id,
        name: call.name,
        failed: result.isError ? 1 : 0,
        files: files?.length ? JSON.stringify(files) : null,
        now: Date.now(),
      },
    );
  }

  /** Something that the service has to say, at the end of the transcript: shown, and read by the model. */
  addNote(sessionId: string, text: string): void {
    this.#store.run(
      `INSERT INTO messages (session_id, position, role, content, timestamp) VALUES (@session, ${NEXT_POSITION}, 'system', @text, @now)`,
      { session: sessionId, text, now: Date.now() },
    );
  }

  // --- reading ---

  /** The newest `limit` rows (before `beforeId`), or the first ones with `order: oldest`, after `offset` of them; oldest first. */
  history(sessionId: string, { limit, beforeId, order = 'latest', offset = 0 }: HistoryRange): Message[] {
    const by = order === 'latest' ? 'DESC' : 'ASC';
    const before = beforeId === undefined ? undefined : this.message(beforeId);
    const rows = this.#store.all<ShownRecord>(
      `SELECT messages.*, t.error AS turn_error, t.ended_at - t.started_at AS turn_ms
       FROM messages LEFT JOIN turns t ON t.assistant_id = messages.id
       WHERE messages.session_id = ? AND ${SHOWN} AND (position, messages.id) < (?, ?)
       ORDER BY position ${by}, messages.id ${by} LIMIT ? OFFSET ?`,
      sessionId,
      before?.position ?? Number.MAX_SAFE_INTEGER,
      before?.id ?? Number.MAX_SAFE_INTEGER,
      limit,
      offset,
    );
    return (order === 'latest' ? rows.toReversed() : rows).map(toMessage);
  }

  count(sessionId: string): number {
    return this.#store.one<{ n: number }>(`SELECT count(*) AS n FROM messages WHERE session_id = ? AND ${SHOWN}`, sessionId)!.n;
  }

  /** As a model reads it. `withAuthors` puts the writer's name before prompts of chats with several people. */
  modelMessages(sessionId: string, { withAuthors }: { withAuthors: boolean }): ModelMessage[] {
    return this.#context.rows(sessionId).map((row) => (withAuthors ? row.named : row.message));
  }

  /** The same with the ids of the rows. */
  contextRows(sessionId: string): readonly ContextRecord[] {
    return this.#context.rows(sessionId);
  }
}

export function toMessage(row: ShownRecord): Message {
  return {
    id: row.id,
    role: row.role,
    content: row.content,
    tool_calls: parsed<ToolCall[]>(row.tool_calls),
    tool_call_id: row.tool_call_id,
    tool_name: row.tool_name,
    reasoning: row.reasoning,
    finish_reason: row.finish_reason,
    is_error: row.is_error === 1,
    error: parsed<TurnError>(row.turn_error),
    duration_ms: row.turn_ms,
    attachments: parsed<Attachment[]>(row.attachments),
    kind: row.kind,
    in_context: row.compacted === 0,
    timestamp: isoTime(row.timestamp),
  };
}

export const turnErrorOf = (turn: TurnRecord): TurnError | null => parsed<TurnError>(turn.error);

const json = (value: unknown): string | null => (value === null || value === undefined ? null : JSON.stringify(value));

function parsed<T>(text: string | null | undefined): T | null {
  return text ? (JSON.parse(text) as T) : null;
}
