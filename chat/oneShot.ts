/** `agent chat -q`: one prompt, its outcome. */
import { Conversation, type ConversationHost } from './conversation.ts';
import { PromptWatch, type Outcome } from './promptWatch.ts';

export interface OneShotOptions {
  text: string;
  session?: string | undefined;
  model?: string | undefined;
  /** Aborting interrupts the turn; the outcome then says `interrupted`. */
  signal: AbortSignal;
}

/** Errors: NO_PROVIDER, UNKNOWN_SESSION, and those of the host's dial. */
export async function askOnce(host: ConversationHost, { text, session, model, signal }: OneShotOptions): Promise<Outcome> {
  using conversation = (await Conversation.open(host, { session, model, surface: 'cli' })).conversation;
  const watch = new PromptWatch();
  conversation.listen((event) => watch.see(event));
  signal.addEventListener('abort', () => void conversation.interrupt().catch(() => {}), { once: true });
  watch.accepted(await conversation.submit(text));
  return await watch.outcome(conversation.sessionId);
}
