/** The gateway RPC (contract §8), method by method. Calls that name a session subscribe their link to it. */
import { AgentError } from '../../base/errors.ts';
import { SECRET_NAME } from '../../base/redact.ts';
import { isoTime } from '../../base/time.ts';
import { Surface } from '../../ipc/contracts/agent.ts';
import {
  clientPing,
  configGet,
  eventsSince,
  promptSubmit,
  sessionCreate,
  sessionDelete,
  sessionHistory,
  sessionInterrupt,
  sessionList,
  sessionResume,
  sessionTitle,
  setupStatus,
} from '../../ipc/contracts/rpc.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import { parseKeyPath } from '../../state/config/edit.ts';
import { refuseOtherProfile } from './conversations.ts';
import { factsOf } from './models.ts';
import {
  checkedDirectory,
  defaultDirectory,
  infoOf,
  recentMessages,
  requireSession,
  rowOf,
  snapshotOf,
  type SessionParts,
} from './sessions.ts';
import type { SessionRecord } from './store.ts';

const LIST_DEFAULT = 50;
const HISTORY_DEFAULT = 200;

export function rpcHandlers(parts: SessionParts): Handler[] {
  return [...sessionMethods(parts), ...turnMethods(parts), ...factMethods(parts)];
}

function sessionMethods(parts: SessionParts): Handler[] {
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

function turnMethods({ store, events, turns }: SessionParts): Handler[] {
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

function factMethods({ context, store, desk }: SessionParts): Handler[] {
  return [
    handle(clientPing, () => ({ at: isoTime(Date.now()) })),
    handle(setupStatus, () => {
      const resolution = desk.resolve();
      const { provider, model, scripted, warning } = factsOf(resolution);
      return {
        ready: resolution.kind !== 'none',
        provider_configured: resolution.kind === 'endpoint',
        inference_provider: provider,
        model,
        scripted,
        free_tier: null,
        other_providers: desk.usable().filter((name) => name !== provider),
        message: warning,
      };
    }),
    handle(configGet, ({ key, session_id }) => {
      const session = session_id === undefined ? undefined : requireSession(store, session_id);
      if (key === 'model') {
        const { provider, model, scripted } = factsOf(desk.resolve(session));
        return { key, value: model, provider, scripted };
      }
      if (key === 'reasoning') return { key, value: context.config().config.agent?.reasoning_effort ?? null };
      return { key, value: configValue(context.config().config, key) };
    }),
  ];
}

/** The value at a dotted path; null when it is not set. What a name calls a secret is not given out. */
function configValue(config: unknown, key: string): unknown {
  let value = config;
  for (const part of parseKeyPath(key)) {
    if (typeof value !== 'object' || value === null) return null;
    value = Object.hasOwn(value, part) ? (value as Record<string, unknown>)[part] : undefined;
  }
  return withoutSecrets(value, key) ?? null;
}

function withoutSecrets(value: unknown, name: string): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, ''));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withoutSecrets(inner, key)]));
  return typeof value === 'string' && SECRET_NAME.test(name) ? '[redacted]' : value;
}
