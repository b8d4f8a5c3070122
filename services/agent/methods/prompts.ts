/** Methods of the gateway RPC about prompts and running turns. */
import { Surface } from '../../../ipc/contracts/agent.ts';
import { eventsSince, promptSubmit, sessionInterrupt } from '../../../ipc/contracts/rpc.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { requireSession, type SessionParts } from '../sessions.ts';
import type { SessionRecord } from '../store.ts';

export function promptMethods({ store, events, turns }: SessionParts): Handler[] {
  return [
    handle(promptSubmit, ({ session_id, text, idempotency_key, surface }, { link }) => {
      const session = requireSession(store, session_id);
      events.follow(session.id, link);
      const { status, messageId } = turns.submit({
        sessionId: session.id,
        text,
        surface: surface ?? surfaceOf(session),
        idempotencyKey: idempotency_key,
      });
      return { status, message_id: messageId };
    }),
    handle(sessionInterrupt, ({ session_id }) => {
      const session = requireSession(store, session_id);
      return { status: turns.interrupt(session.id) ? ('interrupted' as const) : ('not_interrupted' as const) };
    }),
    handle(eventsSince, ({ session_id, last_seen }, { link }) => {
      const session = requireSession(store, session_id);
      const replay = events.since(session.id, last_seen);
      events.follow(session.id, link);
      return { ...replay, count: replay.events.length, epoch: store.epoch, open_requests: [] };
    }),
  ];
}

/** A chat of the gateway keeps the rules of its platform, whoever types. */
function surfaceOf(session: SessionRecord): string {
  if (session.platform !== null) return 'gateway';
  return Surface.safeParse(session.source).success ? session.source : 'other';
}
