/**
 * Prompts that wait behind a turn, as their owner manages them. They are rows of the transcript without
 * a place, so they survive a restart; their order is `queue_rank`, or the order of arrival.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { SessionParts } from './sessions.ts';
import type { MessageRecord } from './transcripts.ts';

type Parts = Pick<SessionParts, 'store' | 'transcripts' | 'events' | 'turns'>;

/** Changes the text of a waiting prompt. Errors: BAD_REQUEST when there is none of that number. */
export function editQueued(parts: Parts, sessionId: string, { index, text }: { index: number; text: string }): void {
  const prompt = numbered(parts, sessionId, index, 'index');
  if (text.length > limits.turn.promptMaxChars)
    throw new AgentError('BAD_REQUEST', `the prompt has ${text.length} characters; ${limits.turn.promptMaxChars} are accepted`, {
      field: 'text',
    });
  change(parts, sessionId, () => parts.store.run('UPDATE messages SET content = ? WHERE id = ? AND position IS NULL', text, prompt.id));
}

/** On record as withdrawn; who waits for it hears so. */
export function removeQueued(parts: Parts, sessionId: string, index: number): void {
  parts.turns.withdraw(numbered(parts, sessionId, index, 'index').id);
}

/** Puts the prompt `index` at the place `to`. */
export function moveQueued(parts: Parts, sessionId: string, { index, to }: { index: number; to: number }): void {
  const queued = parts.transcripts.queued(sessionId);
  const prompt = numbered(parts, sessionId, index, 'index');
  numbered(parts, sessionId, to, 'to');
  const order = queued.filter(({ id }) => id !== prompt.id).toSpliced(to - 1, 0, prompt);
  // Ranks among those that wait now: a later prompt has a higher id than all of them and stays last.
  const ranks = queued.map(rankOf);
  change(parts, sessionId, () => {
    for (const [at, { id }] of order.entries()) parts.store.run('UPDATE messages SET queue_rank = ? WHERE id = ?', ranks[at], id);
  });
}

export function clearQueued(parts: Parts, sessionId: string): void {
  for (const { id } of parts.transcripts.queued(sessionId)) parts.turns.withdraw(id);
}

export const queuedOf = ({ transcripts }: Pick<Parts, 'transcripts'>, sessionId: string): { id: number; text: string }[] =>
  transcripts.queued(sessionId).map(({ id, content }) => ({ id, text: content }));

/** Where a prompt waits, counted from 1. Errors: BAD_REQUEST when it waits no more. */
export function placeInQueue({ transcripts }: Pick<Parts, 'transcripts'>, sessionId: string, messageId: number): number {
  const at = transcripts.queued(sessionId).findIndex(({ id }) => id === messageId);
  if (at >= 0) return at + 1;
  throw new AgentError('BAD_REQUEST', 'that prompt waits no more: it was taken up, or taken out', {
    field: 'message_id',
    fix: 'list the queue',
  });
}

const rankOf = ({ queue_rank, id }: MessageRecord): number => queue_rank ?? id;

function numbered({ transcripts }: Parts, sessionId: string, index: number, field: string): MessageRecord {
  const queued = transcripts.queued(sessionId);
  const prompt = queued[index - 1];
  if (prompt) return prompt;
  throw new AgentError(
    'BAD_REQUEST',
    queued.length ? `${index} is not in the queue: ${queued.length} wait` : 'nothing waits in this session',
    {
      field,
      fix: 'list the queue; numbers count from 1',
    },
  );
}

/** The rows and what surfaces hear of them, together. */
function change({ events, transcripts }: Parts, sessionId: string, work: () => void): void {
  events.atomically(sessionId, () => {
    work();
    events.emit(sessionId, null, 'queue.updated', { queued: queuedOf({ transcripts }, sessionId) });
  });
}
