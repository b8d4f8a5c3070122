/**
 * What a crash left behind, put in order before the socket listens: tools that still run are killed,
 * turns without an end are marked interrupted with the text they had, and nothing is run again.
 */
import { killGroup } from '../../agent/tools/command.ts';
import type { ProcessGroups, ToolCall } from '../../agent/ports.ts';
import type { TurnEnd, TurnError } from '../../agent/turn.ts';
import type { Logger } from '../../base/log.ts';
import { bootId, identityOf, groupAlive, startTimeOf } from '../../state/processIdentity.ts';
import { settleCutPhases } from './compress.ts';
import type { EventLog } from './events.ts';
import type { Store } from './store.ts';
import { killLeftTrees } from './tools/commandHost.ts';
import type { MessageRecord, Transcripts, TurnRecord } from './transcripts.ts';
import { totalsOf } from './usage.ts';

interface Parts {
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  log: Logger;
}

const cutByCrash: TurnError = {
  code: 'TURN_CUT',
  message: 'the agent worker ended in the middle of this turn; what had arrived is kept',
  fix: 'send the message again',
};

/** Puts everything in order. Answers how many turns had been cut. */
export function recover(parts: Parts): number {
  killLeftTools(parts);
  const cut = parts.transcripts.runningTurns();
  settleCutPhases(parts);
  for (const turn of cut) settleCutTurn(parts, turn, cutByCrash);
  return cut.length;
}

/** Records the end of a turn that nobody could end: partial text kept, open tool calls answered, event sent. */
export function settleCutTurn({ store, transcripts, events, log }: Parts, turn: TurnRecord, error: TurnError): void {
  const { id, session_id: sessionId } = turn;
  const rows = transcripts.rowsOfTurn(id);
  const finished = lastAnswer(rows);
  events.atomically(sessionId, () => {
    for (const call of unanswered(rows)) {
      transcripts.addToolResult(sessionId, id, call, {
        text: 'Cut off: the agent worker ended while this ran. Its effect is unknown.',
        isError: true,
      });
    }
    const { messageId, text } = finished
      ? { messageId: finished.id, text: finished.content }
      : closeCutAnswer({ store, transcripts }, turn, rows);
    const status = finished ? statusOf(finished) : 'interrupted';
    const modelCalls = rows.filter((row) => row.role === 'assistant').length;
    const end: TurnEnd = { status, messageId, text, error: status === 'complete' ? null : error, usage: null, modelCalls, toolCalls: 0 };
    transcripts.finishTurn(id, end, 'crash');
    events.emit(sessionId, id, 'message.complete', completePayload(end, Date.now() - turn.started_at));
  });
  log.warn('a turn was cut by the end of the worker', { session_id: sessionId, turn: id, tools_ran: turn.tools_ran === 1 });
}

/** The final answer, when it was stored and only the end of its turn was not. */
function lastAnswer(rows: MessageRecord[]): MessageRecord | undefined {
  const last = rows.at(-1);
  return last?.role === 'assistant' && last.finish_reason !== null && last.tool_calls === null ? last : undefined;
}

function statusOf({ finish_reason }: MessageRecord): TurnEnd['status'] {
  return finish_reason === 'interrupted' || finish_reason === 'error' ? finish_reason : 'complete';
}

function closeCutAnswer(
  { store, transcripts }: Pick<Parts, 'store' | 'transcripts'>,
  turn: TurnRecord,
  rows: MessageRecord[],
): { messageId: number; text: string } {
  const open = rows.findLast((row) => row.role === 'assistant' && row.finish_reason === null);
  const partial = open ? received(store, turn, open) : { text: '', reasoning: '' };
  const messageId = open?.id ?? transcripts.openAssistant(turn.session_id, turn.id);
  transcripts.closeAssistant(messageId, { ...partial, toolCalls: [], finishReason: 'interrupted' });
  return { messageId, text: partial.text };
}

export function completePayload(end: TurnEnd, durationMs: number): Record<string, unknown> {
  return {
    message_id: end.messageId,
    text: end.text,
    status: end.status,
    usage: end.usage && totalsOf(end.usage, end.modelCalls),
    error: end.error,
    duration_ms: Math.max(0, Math.round(durationMs)),
  };
}

/** Text of a streaming row: what was saved in it, and the deltas stored after that. */
function received(store: Store, turn: TurnRecord, open: MessageRecord): { text: string; reasoning: string } {
  const deltas = store.all<{ type: string; text: string }>(
    `SELECT type, json_extract(payload, '$.text') AS text FROM session_events
     WHERE session_id = @session AND turn_id = @turn AND type IN ('message.delta', 'reasoning.delta') AND seq > @saved
       AND seq > coalesce((SELECT max(seq) FROM session_events WHERE session_id = @session AND turn_id = @turn AND type = 'message.start'), 0)
     ORDER BY seq`,
    { session: turn.session_id, turn: turn.id, saved: open.saved_seq },
  );
  const of = (type: string) =>
    deltas
      .filter((delta) => delta.type === type)
      .map((delta) => delta.text)
      .join('');
  return { text: open.content + of('message.delta'), reasoning: (open.reasoning ?? '') + of('reasoning.delta') };
}

function unanswered(rows: MessageRecord[]): ToolCall[] {
  const answered = new Set(rows.map((row) => row.tool_call_id));
  return rows.flatMap((row) => (row.tool_calls ? (JSON.parse(row.tool_calls) as ToolCall[]) : [])).filter((call) => !answered.has(call.id));
}

// --- processes of tools ---

/** Remembers which process groups run, durably. */
export function processGroups(store: Store): ProcessGroups {
  return {
    started(pgid) {
      const { start_time, boot_id } = identityOf(pgid);
      store.run('INSERT OR REPLACE INTO tool_processes (pgid, start_time, boot_id) VALUES (?, ?, ?)', pgid, start_time, boot_id);
    },
    ended: (pgid) => void store.run('DELETE FROM tool_processes WHERE pgid = ?', pgid),
  };
}

/**
 * A group is ours when its leader is the process on record, or when the leader is gone and members are
 * left: the kernel gives no new process the number of a group that still exists.
 */
function killLeftTools({ store, log }: Parts): void {
  for (const { pgid, start_time, boot_id } of store.all<{ pgid: number; start_time: number; boot_id: string }>(
    'SELECT * FROM tool_processes',
  )) {
    const leader = startTimeOf(pgid);
    if (boot_id === bootId() && groupAlive(pgid) && (leader === undefined || leader === start_time)) {
      log.warn('a tool of the last worker still ran; its process group is killed', { pgid });
      killGroup(pgid, 'SIGKILL');
    }
  }
  const strays = killLeftTrees(store.epoch);
  if (strays > 0) log.warn('processes that tools of the last worker had started still ran; they are killed', { count: strays });
  store.run('DELETE FROM tool_processes');
}
