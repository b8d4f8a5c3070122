/**
 * Prompts that wait behind a turn, as their writer and the owner manage them. They are rows of the transcript without
 * a place, so they survive a restart; their order is `queue_rank`, or the order of arrival.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Principal } from '../../agent/authority/principal.ts';
import { announceQueue } from './engine.ts';
import { mayActFor, principalOfPrompt } from './principal.ts';
import type { SessionParts } from './sessions.ts';
import type { SessionRecord } from './store.ts';
import type { MessageRecord } from './transcripts.ts';

type Parts = Pick<SessionParts, 'store' | 'transcripts' | 'events' | 'turns'>;

/** The queue of a session as one principal sees it: the owner all of it, a chat the prompts that it wrote itself. */
export interface OwnQueue {
  session: SessionRecord;
  principal: Principal;
}

/** Changes the text of a waiting prompt. Errors: BAD_REQUEST when there is none of that number. */
export function editQueued(parts: Parts, queue: OwnQueue, { index, text }: { index: number; text: string }): void {
  const prompt = numbered(parts, queue, index, 'index');
  if (text.length > limits.turn.promptMaxChars)
    throw new AgentError('BAD_REQUEST', `the prompt has ${text.length} characters; ${limits.turn.promptMaxChars} are accepted`, {
      field: 'text',
    });
  change(parts, queue.session.id, () =>
    parts.store.run('UPDATE messages SET content = ? WHERE id = ? AND position IS NULL', text, prompt.id),
  );
}

/** On record as withdrawn; who waits for it hears so. */
export function removeQueued(parts: Parts, queue: OwnQueue, index: number): void {
  parts.turns.withdraw(numbered(parts, queue, index, 'index').id);
}

/** Puts the prompt `index` at the place `to`. */
export function moveQueued(parts: Parts, queue: OwnQueue, { index, to }: { index: number; to: number }): void {
  const queued = ownRows(parts, queue);
  const prompt = numbered(parts, queue, index, 'index');
  numbered(parts, queue, to, 'to');
  const order = queued.filter(({ id }) => id !== prompt.id).toSpliced(to - 1, 0, prompt);
  // Ranks among those that wait now: a later prompt has a higher id than all of them and stays last.
  const ranks = queued.map(rankOf);
  change(parts, queue.session.id, () => {
    for (const [at, { id }] of order.entries()) parts.store.run('UPDATE messages SET queue_rank = ? WHERE id = ?', ranks[at], id);
  });
}

export function clearQueued(parts: Parts, queue: OwnQueue): void {
  for (const { id } of ownRows(parts, queue)) parts.turns.withdraw(id);
}

export const queuedOf = (parts: Pick<Parts, 'transcripts'>, queue: OwnQueue): { id: number; text: string }[] =>
  ownRows(parts, queue).map(({ id, content }) => ({ id, text: content }));

/** Where a prompt waits, counted from 1. Errors: BAD_REQUEST when it waits no more. */
export function placeInQueue(parts: Pick<Parts, 'transcripts'>, queue: OwnQueue, messageId: number): number {
  const at = ownRows(parts, queue).findIndex(({ id }) => id === messageId);
  if (at >= 0) return at + 1;
  throw new AgentError('BAD_REQUEST', 'that prompt waits no more: it was taken up, or taken out', {
    field: 'message_id',
    fix: 'list the queue',
  });
}

const rankOf = ({ queue_rank, id }: MessageRecord): number => queue_rank ?? id;

const ownRows = ({ transcripts }: Pick<Parts, 'transcripts'>, { session, principal }: OwnQueue): MessageRecord[] =>
  transcripts.queued(session.id).filter((row) => mayActFor(principal, principalOfPrompt(session, row)));

function numbered(parts: Parts, queue: OwnQueue, index: number, field: string): MessageRecord {
  const queued = ownRows(parts, queue);
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
function change(parts: Parts, sessionId: string, work: () => void): void {
  parts.events.atomically(sessionId, () => {
    work();
    announceQueue(parts, sessionId);
  });
}
