/** Methods of the gateway RPC about one session. Calls that name a session subscribe their link to it. */
import { confirmedNow } from '../../../state/confirmedTime.ts';
import { requireLevel } from '../../../agent/models/reasoning.ts';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import {
  sessionCreate,
  sessionDelete,
  sessionEmpty,
  sessionGet,
  sessionHistory,
  sessionList,
  sessionResume,
  sessionTitle,
} from '../../../ipc/contracts/rpc.ts';
import { sessionArchive, sessionBranch, sessionClose, sessionCwd, sessionUndo } from '../../../ipc/contracts/rpcSessions.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { asidesAmong } from '../asides.ts';
import { refuseOtherProfile } from '../conversations.ts';
import { branch, undo } from '../lineage.ts';
import { requireModel } from '../modelSwitch.ts';
import {
  checkedDirectory,
  defaultDirectory,
  infoOf,
  leftBehind,
  recentMessages,
  removeSessions,
  requireSession,
  rowOf,
  snapshotOf,
  type SessionParts,
} from '../sessions.ts';

const LIST_DEFAULT = 50;
const HISTORY_DEFAULT = 200;

export function sessionMethods(parts: SessionParts): Handler[] {
  return [...lifeMethods(parts), ...readingMethods(parts), ...transcriptMethods(parts)];
}

function lifeMethods(parts: SessionParts): Handler[] {
  const { context, store, events, turns } = parts;
  return [
    handle(
      sessionCreate,
      async ({ source, title, cwd, model, provider, reasoning_effort, parent_session_id, hidden, safe_mode, profile }, { link }) => {
        refuseOtherProfile(context, profile);
        if (reasoning_effort !== undefined) requireLevel(reasoning_effort);
        if (model !== undefined || provider !== undefined) await requireModel(parts, { name: model ?? '', provider });
        turns.refuseWhenDraining();
        const session = store.createSession({
          source: source ?? 'other',
          title,
          model,
          provider,
          reasoningEffort: reasoning_effort,
          parent: parent_session_id === undefined ? undefined : requireSession(store, parent_session_id).id,
          hidden,
          safeMode: safe_mode,
          cwd: cwd === undefined ? defaultDirectory(context) : checkedDirectory(cwd),
        });
        events.follow(session.id, link);
        return { session_id: session.id, messages: [], message_count: 0, info: infoOf(parts, session, false) };
      },
    ),
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
    handle(sessionArchive, ({ session_id, archived }) => {
      const session = requireSession(store, session_id);
      store.setArchived(session.id, archived);
      events.broadcast('sessions.changed');
      return { session_id: session.id, archived };
    }),
    handle(sessionCwd, ({ session_id, cwd }) => {
      const session = requireSession(store, session_id);
      refuseWhileWorking(parts, session.id);
      store.setCwd(session.id, checkedDirectory(cwd));
      return { cwd };
    }),
    handle(sessionClose, ({ session_id }, { link }) => {
      events.unfollow(requireSession(store, session_id).id, link);
      return { closed: true };
    }),
    handle(sessionDelete, ({ session_id }) => {
      const session = requireSession(store, session_id);
      refuseWhileWorking(parts, session.id);
      return { deleted: removeSessions(parts, [session.id]) > 0 };
    }),
  ];
}

function readingMethods(parts: SessionParts): Handler[] {
  const { context, store, transcripts, events } = parts;
  return [
    handle(sessionList, ({ limit = LIST_DEFAULT, offset, order, sources, exclude_sources, include_hidden, archived, profile }) => {
      refuseOtherProfile(context, profile);
      const { sessions, total } = store.listSessions({
        limit,
        offset,
        order,
        sources,
        excludeSources: exclude_sources,
        includeHidden: include_hidden,
        archived,
      });
      return { sessions: sessions.map((summary) => rowOf(summary, parts)), total };
    }),
    handle(sessionGet, ({ session_id, profile }) => {
      refuseOtherProfile(context, profile);
      return rowOf(store.summary(requireSession(store, session_id).id)!, parts);
    }),
    handle(sessionEmpty, ({ remove = false }) => {
      const ids = leftBehind(parts, confirmedNow(context.home) - limits.sessions.emptyMs);
      return { count: remove ? removeSessions(parts, ids) : ids.length };
    }),
    handle(sessionResume, ({ session_id, profile }, { link }) => {
      refuseOtherProfile(context, profile);
      const session = requireSession(store, session_id);
      const snapshot = snapshotOf(parts, session);
      events.follow(session.id, link);
      return snapshot;
    }),
    handle(sessionHistory, ({ session_id, limit = HISTORY_DEFAULT, before_id, order, offset }) => {
      const session = requireSession(store, session_id);
      const messages = recentMessages(transcripts, session.id, { limit, beforeId: before_id, order, offset });
      return { session_id: session.id, messages, asides: asidesAmong(store, session.id, messages, before_id) };
    }),
  ];
}

function transcriptMethods(parts: SessionParts): Handler[] {
  const { store, transcripts, events, turns } = parts;
  return [
    handle(sessionBranch, ({ session_id, title, count = 0 }) => {
      const session = requireSession(store, session_id);
      turns.refuseWhenDraining();
      const id = branch(store, session, { title, count, runningTurn: transcripts.runningTurns(session.id)[0]?.id });
      events.broadcast('sessions.changed');
      const made = store.session(id)!;
      return { session_id: id, title: made.title, parent_session_id: session.id, message_count: transcripts.count(id) };
    }),
    handle(sessionUndo, ({ session_id, count = 1 }) => {
      const session = requireSession(store, session_id);
      refuseWhileWorking(parts, session.id);
      const undone = events.atomically(session.id, () => {
        const outcome = undo(store, session.id, count);
        if (outcome.removed > 0) events.emit(session.id, null, 'session.changed', { reason: 'undone' });
        return outcome;
      });
      events.broadcast('sessions.changed');
      return undone;
    }),
  ];
}

/** Errors: BUSY. */
function refuseWhileWorking({ turns }: SessionParts, sessionId: string): void {
  if (turns.isRunning(sessionId)) throw new AgentError('BUSY', 'the session is working', { fix: 'interrupt it first' });
}
