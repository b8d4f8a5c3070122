/** Methods of the gateway RPC about prompts and running turns. */
import { eventsSince, promptSubmit, sessionInterrupt } from '../../../ipc/contracts/rpc.ts';
import type { Attachment } from '../../../ipc/contracts/rpcRecords.ts';
import { sessionCompress, sessionSteer, sessionUsage } from '../../../ipc/contracts/rpcSessions.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { storeAttachments } from '../attachments.ts';
import { compressSession } from '../compress.ts';
import { infoOf, requireSession, surfaceOf, type SessionParts } from '../sessions.ts';
import type { Accepted } from '../turns.ts';
import { usageReport } from '../usage.ts';

export function promptMethods(parts: SessionParts): Handler[] {
  const { context, store, events, turns, desk, requests } = parts;
  return [
    handle(promptSubmit, (params, { link }) => {
      const { text, idempotency_key: idempotencyKey, busy, unattended } = params;
      const session = requireSession(store, params.session_id);
      events.follow(session.id, link);
      const prompt = { sessionId: session.id, text, surface: params.surface ?? surfaceOf(session), idempotencyKey, busy, unattended };
      const submit = (attachments?: Attachment[]) => answered(turns.submitPatiently({ ...prompt, attachments }));
      // Without files, and while no other program has locked the store, nothing is awaited: prompts of one client keep their order.
      return params.attachments?.length ? storeAttachments(context, params.attachments).then(submit) : submit();
    }),
    handle(sessionSteer, ({ session_id, text, surface }, { link }) => {
      const session = requireSession(store, session_id);
      events.follow(session.id, link);
      return answered(turns.submitPatiently({ sessionId: session.id, text, surface: surface ?? surfaceOf(session), busy: 'steer' }));
    }),
    handle(sessionCompress, async ({ session_id, keep, focus }) => {
      const session = requireSession(store, session_id);
      const { error, ...report } = await turns.exclusively(session.id, async () =>
        compressSession(parts, { session, turnId: null, model: await desk.open(session), keep, focus }),
      );
      // The caller sees the end of the phase before its answer.
      events.settle(session.id);
      if (error) throw error;
      return report;
    }),
    handle(sessionUsage, ({ session_id }) => {
      const session = requireSession(store, session_id);
      return { ...usageReport(store, session), context_max: infoOf(parts, session, false).context_max };
    }),
    handle(sessionInterrupt, ({ session_id }) => {
      const session = requireSession(store, session_id);
      return { status: turns.interrupt(session.id) ? ('interrupted' as const) : ('not_interrupted' as const) };
    }),
    handle(eventsSince, ({ session_id, last_seen }, { link }) => {
      const session = requireSession(store, session_id);
      const replay = events.since(session.id, last_seen);
      events.follow(session.id, link);
      return { ...replay, count: replay.events.length, epoch: store.epoch, open_requests: requests.list(session.id) };
    }),
  ];
}

const answered = (accepted: Accepted | Promise<Accepted>) => (accepted instanceof Promise ? accepted.then(answerOf) : answerOf(accepted));
const answerOf = ({ status, messageId }: Accepted) => ({ status, message_id: messageId });
