/** What goes back to the sender of a message: the text of a turn, an error in one sentence, and its way into the outbox. */
import type { TurnOutcome } from '../../ipc/contracts/agent.ts';
import type { InboxRow } from './inbox.ts';
import type { GatewayStore } from './store.ts';

/** Puts a text for the sender of a message into the outbox, once per key; nothing when no answer is wanted. */
export function putReply(store: GatewayStore, row: InboxRow, { key, text }: { key: string; text: string }): void {
  if (row.reply_platform === null || row.reply_chat === null || text === '') return;
  const { reply_platform: platform, reply_chat: chat, reply_thread: thread } = row;
  store.outbox.enqueue({ idempotency_key: key, platform, chat, thread, text: withoutFiles(platform, text), origin: 'gateway' }, Date.now());
}

const MEDIA_LINES = /^[ \t]*MEDIA:[ \t]*\S.*$/gm;

/** No platform of this version takes files: the line would show a path of this machine, and no file. */
export const withoutFiles = (platform: string, text: string): string =>
  text.replaceAll(MEDIA_LINES, `(a file was left out: ${platform} takes no files)`);

/** A line that names a file of this machine. */
export const hasMediaLine = (text: string): boolean => text.search(MEDIA_LINES) !== -1;

/** What the sender of a message reads at the end of its turn. */
export function textOf({ status, text, error }: TurnOutcome): string {
  const received = text.trim();
  if (status === 'complete') return received || '(the agent has nothing to say)';
  // A person stopped it: what it had said so far stays in the conversation and is not sent line by line.
  if (status === 'interrupted' && error === null) return '(stopped)';
  const problem = sentenceOf(error ?? new Error('unknown'));
  return received ? `${received}\n${problem}` : problem;
}

/** One sentence for a person in a chat: what went wrong and what helps; never a stack. */
export function sentenceOf(problem: unknown): string {
  const { code, message, fix } = problem as { code?: string; message: string; fix?: string | null };
  if (code === undefined || code === 'INTERNAL') return 'Sorry, something went wrong inside the service; its log has the details.';
  const line = message.split('\n')[0]!.slice(0, SENTENCE_MAX_CHARS);
  return `Sorry, that did not work: ${line}${fix ? ` (${fix.split('\n')[0]!.slice(0, SENTENCE_MAX_CHARS)})` : ''}`;
}

const SENTENCE_MAX_CHARS = 300;
