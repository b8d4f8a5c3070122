/**
 * What a chat platform has to be for the gateway. An adapter lives through new → provision → validate
 * → connect → cleanup; cleanup is valid after any of them, half-failed ones included. Reconnecting,
 * ordering, durability and retries are the gateway's business, not the adapter's.
 */
import type { Logger } from '../../base/log.ts';
import type { Secrets } from '../../state/env.ts';
import type { Subscription } from '../../state/webhookSubscriptions.ts';
import type { Reply } from './inbox.ts';

export interface InboundMessage {
  chat: string;
  chatType: 'dm' | 'group' | 'route';
  thread?: string;
  /** Display name of who wrote it. */
  user: string;
  /** All names the allowlist may know this user by. */
  identities: string[];
  text: string;
  /** The platform's id of the message; null where it has none. */
  messageId: string | null;
  /** When it was written, epoch milliseconds. */
  at: number;
  /** Where the answer goes, when not to the same chat; null = nowhere. */
  reply?: Reply | null;
  /** The platform has authenticated the sender by itself: the allowlist is not asked. */
  trusted?: boolean;
  /** Each message is a conversation of its own. */
  fresh?: boolean;
  /** Whose agent answers; default: that of the gateway. */
  profile?: string;
  /** How long a second message with the same id counts as the same; default: as long as it is on record. */
  dedupeMs?: number;
}

/** `stored`: on disk, the platform may be told so. `duplicate`: it was, before. */
export type Received = { kind: 'stored' | 'duplicate'; id: number } | { kind: 'denied' } | { kind: 'full' };

/** What the gateway gives an adapter. */
export interface AdapterHost {
  platform: string;
  log: Logger;
  /** Stores a message before it returns. Throws only when the store does. */
  receive(message: InboundMessage): Received;
  /** For platforms whose senders hear of no failure: as `receive`, and tries again while the store refuses. Throws nothing. */
  keep(message: InboundMessage): void;
  /** A chat can be written to now that could not before. */
  readinessChanged(): void;
  /** The chat that a delivery target in the settings means; undefined = nothing answers to it. */
  target(text: string): Reply | undefined;
  /** A webhook route that was made by command, as it is now, its secret filled in. */
  subscription(name: string): Subscription | undefined;
  isProfile(name: string): boolean;
}

/** `transient`: try again. `permanent`: never will. `uncertain`: nobody knows whether it arrived. */
export type SendFailure = 'transient' | 'permanent' | 'uncertain';

export class SendError extends Error {
  override readonly name = 'SendError';
  readonly kind: SendFailure;
  /** Flood control: wait this long; the try is not counted. */
  readonly retryAfterMs: number | undefined;

  constructor(kind: SendFailure, message: string, { retryAfterMs, cause }: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Connection {
  /** Settles when the connection is over, with what ended it. Never rejects. */
  closed: Promise<Error>;
}

export interface Adapter {
  /** Reads settings and secrets. Errors: CONFIG_INVALID with the key. */
  provision(source: { settings: Record<string, unknown>; secrets: Secrets }): void;
  /** Looks for what would fail later. Errors: CONFIG_INVALID. */
  validate(): void;
  /** Answers when messages can come in and go out. Errors: CONFIG_INVALID ends the tries, any other is tried again. */
  connect(signal: AbortSignal): Promise<Connection>;
  /** May this chat be written to right now? */
  isReady(chat: string): boolean;
  /** The messages a text becomes; the same text and chat always give the same parts. */
  split(chat: string, text: string): string[];
  /** What `split` leaves out of a text that is too long for the platform; empty = nothing. */
  rest?(chat: string, text: string): string;
  /** Sends one part and answers when the platform has it. Errors: SendError. */
  send(chat: string, part: string, signal: AbortSignal): Promise<void>;
  /** Lets go of everything. Valid at any time, any number of times. */
  cleanup(): Promise<void>;
}

export type AdapterFactory = (host: AdapterHost) => Adapter;
