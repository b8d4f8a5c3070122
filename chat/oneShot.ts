/** One prompt without a conversation around it: its outcome, and its events on the way where they are wanted. */
import { Conversation, type ChatEvent, type ConversationHost, type NewSession, type PromptOptions } from './conversation.ts';
import { PromptWatch, type Outcome } from './promptWatch.ts';

export interface OneShotOptions {
  text: string;
  session?: string | undefined;
  /** Of a new conversation. */
  fresh?: NewSession | undefined;
  attachments?: PromptOptions['attachments'];
  /** Hears every event of the session from its first one. */
  onEvent?: ((event: ChatEvent) => void) | undefined;
  /** Aborting interrupts the turn; the outcome then says `interrupted`. */
  signal: AbortSignal;
}

/** Errors: NO_PROVIDER, UNKNOWN_SESSION, and those of the host's dial. */
export async function askOnce(host: ConversationHost, options: OneShotOptions): Promise<Outcome> {
  const { text, session, fresh, attachments, onEvent, signal } = options;
  using conversation = (await Conversation.open(host, { session, fresh, surface: 'cli' })).conversation;
  const watch = new PromptWatch();
  conversation.listen((event) => {
    onEvent?.(event);
    watch.see(event);
  });
  const interrupt = () => void conversation.interrupt().catch(() => {});
  signal.addEventListener('abort', interrupt, { once: true });
  // Nobody looks: nobody can be asked.
  watch.accepted(await conversation.submit(text, { unattended: true, ...(attachments?.length ? { attachments } : {}) }));
  // There was no turn to interrupt before.
  if (signal.aborted) interrupt();
  return await watch.outcome(conversation.sessionId);
}
