/** Methods of the gateway RPC about sessions. Calls that name a session subscribe their link to it. */
import { AgentError } from '../../../base/errors.ts';
import { sessionCreate, sessionDelete, sessionHistory, sessionList, sessionResume, sessionTitle } from '../../../ipc/contracts/rpc.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { refuseOtherProfile } from '../conversations.ts';
import {
  checkedDirectory,
  defaultDirectory,
  infoOf,
  recentMessages,
  requireSession,
  rowOf,
  snapshotOf,
  type SessionParts,
} from '../sessions.ts';

const LIST_DEFAULT = 50;
const HISTORY_DEFAULT = 200;

export function sessionMethods(parts: SessionParts): Handler[] {
  const { context, store, transcripts, events, turns } = parts;
  return [
    handle(sessionCreate, ({ source, title, cwd, model, provider, profile }, { link }) => {
      refuseOtherProfile(context, profile);
      turns.refuseWhenDraining();
      const session = store.createSession({
        source: source ?? 'other',
        title,
        model,
        provider,
        cwd: cwd === undefined ? defaultDirectory(context) : checkedDirectory(cwd),
      });
      events.follow(session.id, link);
      return { session_id: session.id, messages: [], message_count: 0, info: infoOf(parts, session, false) };
    }),
    handle(sessionList, ({ limit = LIST_DEFAULT, profile }) => {
      refuseOtherProfile(context, profile);
      const { sessions, total } = store.listSessions(limit);
      return { sessions: sessions.map((summary) => rowOf(summary, parts)), total };
    }),
    handle(sessionResume, ({ session_id, profile }, { link }) => {
      refuseOtherProfile(context, profile);
      const session = requireSession(store, session_id);
      const snapshot = snapshotOf(parts, session);
      events.follow(session.id, link);
      return snapshot;
    }),
    handle(sessionHistory, ({ session_id, limit = HISTORY_DEFAULT, before_id }) => {
      const session = requireSession(store, session_id);
      return { session_id: session.id, messages: recentMessages(transcripts, session.id, { limit, beforeId: before_id }) };
    }),
    handle(sessionTitle, ({ session_id, title }) => {
      const session = requireSession(store, session_id);
      if (title === undefined) return { session_id: session.id, title: session.title };
      events.atomically(session.id, () => {
        store.setTitle(session.id, title);
        events.emit(session.id, null, 'session.title', { session_id: session.id, title });
      });
      events.broadcast('sessions.changed');
      return { session_id: session.id, title };
    }),
    handle(sessionDelete, ({ session_id }) => {
      const session = requireSession(store, session_id);
      if (turns.isRunning(session.id)) throw new AgentError('BUSY', 'the session is working', { fix: 'interrupt it first' });
      const deleted = store.deleteSession(session.id);
      events.forget(session.id);
      events.broadcast('sessions.changed');
      return { deleted };
    }),
  ];
}
