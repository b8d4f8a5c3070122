/** Prompts on their way, kept for this tab so that a reload during an outage loses none of their words. */
import type { Failed } from './callError.ts';
import type { Outgoing } from './sessionState.ts';

const nameOf = (sessionId: string): string => `agent.outgoing.${sessionId}`;

export function readOutgoing(sessionId: string): Outgoing[] {
  try {
    const kept = JSON.parse(sessionStorage.getItem(nameOf(sessionId)) ?? '[]') as Outgoing[];
    return kept.map((prompt) => (prompt.files.length > 0 && prompt.messageId === null ? { ...prompt, failure: withoutFiles } : prompt));
  } catch {
    return [];
  }
}

const withoutFiles: Failed = {
  code: 'NOT_SENT',
  message: 'this page was loaded again before the service had taken the files',
  fix: 'see whether the message stands above; if not, discard this one and attach the files again',
};

export function writeOutgoing(sessionId: string, outgoing: readonly Outgoing[]): void {
  try {
    if (outgoing.length > 0) sessionStorage.setItem(nameOf(sessionId), JSON.stringify(outgoing));
    else sessionStorage.removeItem(nameOf(sessionId));
  } catch {
    // The browser's store is full: it is sent all the same, and only a reload on the way would lose it.
  }
}
