/**
 * Where messages come in: who may, what is a command, what is stored. Strangers are refused by
 * default, with one log line and, in a direct message, one polite sentence an hour.
 */
import { limits } from '../../base/limits.ts';
import type { WorkerContext } from '../worker.ts';
import type { InboundMessage, Received } from './adapter.ts';
import { allowRules, isAllowed } from './allowlist.ts';
import { commandOf } from './commands.ts';
import { conversationKey } from './conversations.ts';
import type { InboxRow, NewMessage } from './inbox.ts';
import type { Platforms } from './platforms.ts';
import type { GatewayStore } from './store.ts';

export interface Door {
  /** Stores a message before it returns. Throws only when the store does. */
  receive(platform: string, message: InboundMessage): Received;
}

export interface DoorParts {
  context: WorkerContext;
  store: GatewayStore;
  platforms: Platforms;
  /** The longest pause between two lines of a platform that are one message; 0 = each is one. */
  gatherMs(platform: string): number;
  /** A message waits for its turn. */
  onMessage(): void;
  onCommand(row: InboxRow): void;
  /** Something was put into the outbox. */
  onReply(): void;
  /** A text that answers an open question of the agent. */
  isAnswer(sessionKey: string, text: string): boolean;
}

/** Refusals remembered; beyond that the oldest is forgotten, and said again. */
const STRANGERS_MAX = 1_000;

export function createDoor({ context, store, platforms, gatherMs, onMessage, onCommand, onReply, isAnswer }: DoorParts): Door {
  const { log, profile } = context;
  const told = new Map<string, number>();

  const isWelcome = (platform: string, { trusted, identities }: InboundMessage): boolean => {
    const configured = platforms.settings(platform)?.allowed_users;
    const rules = allowRules(platform, Array.isArray(configured) ? configured.map(String) : undefined, context.secrets());
    return trusted === true || isAllowed(rules, identities);
  };

  /** Whom `owners` names; a route that proved itself is still a stranger's text. */
  const isOwner = (platform: string, { identities }: InboundMessage): boolean => {
    const owners = platforms.settings(platform)?.owners;
    return Array.isArray(owners) && isAllowed(owners.map(String), identities);
  };

  /** True when this has not been said within the hour. */
  const isDue = (what: string, nowMs: number): boolean => {
    if (nowMs - (told.get(what) ?? 0) < limits.gateway.refusalEveryMs) return false;
    told.delete(what);
    told.set(what, nowMs);
    if (told.size > STRANGERS_MAX) told.delete(told.keys().next().value!);
    return true;
  };

  const refuseStranger = (platform: string, { chat, chatType, thread, user }: InboundMessage): void => {
    const nowMs = Date.now();
    const who = `${platform}:${user.toLowerCase()}`;
    if (isDue(`log:${who}`, nowMs)) log.warn(`${platform}: ${user} is not in allowed_users; the message was not taken`, { chat });
    if (chatType !== 'dm' || !isDue(`answer:${who}`, nowMs)) return;
    // The key holds the hour, so that a restart does not repeat it.
    const text = 'Sorry, I may not talk to you. The operator can add you to allowed_users.';
    const idempotency_key = `refusal:${who}:${Math.floor(nowMs / limits.gateway.refusalEveryMs)}`;
    store.outbox.enqueue({ idempotency_key, platform, chat, thread: thread ?? '', text, origin: 'gateway' }, nowMs);
    onReply();
  };

  const refuseOverflow = (message: NewMessage): void => {
    const nowMs = Date.now();
    store.inbox.store(
      { ...message, text: message.text.slice(0, REFUSED_MAX_CHARS), message_id: null },
      { nowMs, dedupeMs: 0, state: 'refused' },
    );
    log.warn(`${message.platform}: ${limits.gateway.inboxPerChatMax} messages of ${message.chat} wait already; one was refused`);
    if (!message.reply) return;
    const text = 'Too many messages wait here already; the last one was not taken. Please send it again later.';
    const idempotency_key = `full:${message.lane}:${Math.floor(nowMs / 60_000)}`;
    store.outbox.enqueue({ idempotency_key, ...message.reply, text, origin: 'gateway' }, nowMs);
    onReply();
  };

  return {
    receive(platform, inbound) {
      if (!isWelcome(platform, inbound)) {
        refuseStranger(platform, inbound);
        return { kind: 'denied' };
      }
      const message = { ...messageOf(platform, profile, inbound, isAnswer), is_owner: isOwner(platform, inbound) ? 1 : 0 };
      if (
        message.kind === 'message' &&
        store.inbox.waitingInChat(platform, inbound.chat, gatherMs(platform)) >= limits.gateway.inboxPerChatMax
      ) {
        refuseOverflow(message);
        return { kind: 'full' };
      }
      const { id, duplicate } = store.inbox.store(message, { nowMs: Date.now(), dedupeMs: inbound.dedupeMs ?? Number.POSITIVE_INFINITY });
      if (duplicate) return { kind: 'duplicate', id };
      if (message.kind === 'command') onCommand(store.inbox.get(id)!);
      else onMessage();
      return { kind: 'stored', id };
    },
  };
}

const REFUSED_MAX_CHARS = 200;

function messageOf(
  platform: string,
  profile: string,
  inbound: InboundMessage,
  isAnswer: DoorParts['isAnswer'],
): Omit<NewMessage, 'is_owner'> {
  const { chat, chatType, user, text, messageId, at } = inbound;
  const thread = inbound.thread ?? '';
  const key = conversationKey({ profile, platform, chatType, chat, thread });
  return {
    platform,
    chat,
    thread,
    chat_type: chatType,
    user,
    text: text.slice(0, limits.turn.promptMaxChars),
    message_id: messageId,
    kind: !inbound.fresh && (commandOf(text) || isAnswer(key, text)) ? 'command' : 'message',
    lane: inbound.fresh ? `${key}+${messageId}` : key,
    session_key: inbound.fresh ? null : key,
    profile: inbound.profile === undefined || inbound.profile === profile ? null : inbound.profile,
    reply: inbound.reply === undefined ? { platform, chat, thread } : inbound.reply,
    sent_at: at,
  };
}
