/** Sessions and their messages: asked of the agent worker of the profile, which owns them. */
import { isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Client } from '../../../ipc/client.ts';
import * as http from '../../../ipc/contracts/http/sessions.ts';
import { sessionDelete, sessionEmpty, sessionGet, sessionHistory, sessionList, sessionTitle } from '../../../ipc/contracts/rpc.ts';
import type { SessionRow } from '../../../ipc/contracts/rpcRecords.ts';
import * as rpc from '../../../ipc/contracts/rpcSessions.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function sessionRoutes(dashboard: Dashboard): HttpHandler[] {
  return [...manyRoutes(dashboard), ...oneRoutes(dashboard)];
}

function manyRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(http.listSessions, async ({ query, profile, signal }) => {
      const { limit, offset, order, source, sources, exclude_sources, archived, include_hidden } = query;
      const wanted = [...(sources ?? []), ...(source === undefined ? [] : [source])];
      const asked = {
        limit,
        offset,
        order,
        ...(wanted.length > 0 ? { sources: wanted } : {}),
        ...(exclude_sources?.length ? { exclude_sources } : {}),
        ...(archived === undefined ? {} : { archived }),
        ...(include_hidden === undefined ? {} : { include_hidden }),
      };
      const { sessions, total } = await agentOf(profile).call(sessionList, asked, { signal });
      return { sessions: sessions.map((row) => httpRow(row, profile.name)), total, limit, offset };
    }),
    on(http.searchSessions, async ({ query: { q, limit, session_id }, profile, signal }) => {
      const agent = agentOf(profile);
      const asked = { query: q, limit, ...(session_id === undefined ? {} : { session_id }) };
      const { hits, ready } = await agent.call(rpc.sessionSearch, asked, { signal });
      const rows = await rowsOf(
        agent,
        hits.map((hit) => hit.session_id),
        signal,
      );
      const results = hits.map((hit) => {
        const row = rows.get(hit.session_id);
        return {
          ...hit,
          source: row?.source ?? 'other',
          session_started: row?.started_at ?? null,
          lineage_root: row?.parent_session_id ?? hit.session_id,
          profile: profile.name,
        };
      });
      return { results, ready };
    }),
    on(http.getSessionStats, async ({ profile, signal }) => {
      const stats = await agentOf(profile).call(rpc.sessionStats, {}, { signal });
      return { ...stats, active_store: stats.total - stats.archived };
    }),
    on(http.countEmptySessions, ({ profile, signal }) => agentOf(profile).call(sessionEmpty, {}, { signal })),
    on(http.deleteEmptySessions, async ({ profile, signal }) => {
      const { count } = await agentOf(profile).call(sessionEmpty, { remove: true }, { signal });
      return { ok: true as const, removed: count };
    }),
    on(http.bulkDeleteSessions, async ({ body: { ids }, profile, signal }) => {
      const failed: { id: string; code: string; message: string }[] = [];
      const agent = agentOf(profile);
      for (const id of new Set(ids)) {
        await agent.call(sessionDelete, { session_id: id }, { signal }).catch((thrown: unknown) => {
          // Beyond what concerns this one session, the rest would fail the same way.
          if (!isAgentError(thrown) || !OF_ONE.has(thrown.code)) throw thrown;
          failed.push({ id, code: thrown.code, message: messageOf(thrown) });
        });
      }
      return { ok: failed.length === 0, removed: new Set(ids).size - failed.length, failed };
    }),
    on(http.pruneSessions, async ({ body: { older_than_days, source, dry_run }, profile, signal }) => {
      const asked = { older_than_days, ...(source === undefined ? {} : { source }), ...(dry_run === undefined ? {} : { dry_run }) };
      return { ok: true as const, ...(await agentOf(profile).call(rpc.sessionPrune, asked, { signal })) };
    }),
    on(http.importSessions, async ({ body: { sessions }, profile, signal }) => {
      const done = await agentOf(profile).call(rpc.sessionImport, { sessions }, { signal });
      return {
        ok: done.errors.length === 0,
        imported: done.imported_ids.length,
        skipped: done.skipped_ids.length,
        detached: 0,
        ...done,
      };
    }),
  ];
}

const OF_ONE: ReadonlySet<string> = new Set(['UNKNOWN_SESSION', 'BUSY']);

function oneRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(http.getSession, async ({ params: { id }, profile, signal }) =>
      httpRow(await agentOf(profile).call(sessionGet, { session_id: id }, { signal }), profile.name),
    ),
    on(http.changeSession, async ({ params: { id }, body: { title, archived }, profile, signal }) => {
      const agent = agentOf(profile);
      if (title !== undefined) await agent.call(sessionTitle, { session_id: id, title }, { signal });
      if (archived !== undefined) await agent.call(rpc.sessionArchive, { session_id: id, archived }, { signal });
      const row = await agent.call(sessionGet, { session_id: id }, { signal });
      return { ok: true as const, title: row.title, archived: row.archived };
    }),
    on(http.deleteSession, async ({ params: { id }, profile, signal }) => {
      const { deleted } = await agentOf(profile).call(sessionDelete, { session_id: id }, { signal });
      return { ok: deleted };
    }),
    on(http.listMessages, async ({ params: { id }, query: { limit, offset, order }, profile, signal }) => {
      const asked = { session_id: id, limit, offset, order };
      const { session_id, messages } = await agentOf(profile).call(sessionHistory, asked, { signal });
      return { session_id, messages, pagination: { limit, offset, order, returned: messages.length } };
    }),
    on(http.latestDescendant, async ({ params: { id }, profile, signal }) => {
      const row = await agentOf(profile).call(sessionGet, { session_id: id }, { signal });
      const changed = row.id !== id;
      return { requested_session_id: id, session_id: row.id, path: changed ? [id, row.id] : [id], changed };
    }),
    on(http.exportSession, async ({ params: { id }, profile, signal, reply }) => {
      const document = await agentOf(profile).call(rpc.sessionExport, { session_id: id }, { signal });
      void reply.header('Content-Disposition', `attachment; filename="${document.session.id}.json"`);
      return document;
    }),
  ];
}

async function rowsOf(agent: Client, ids: readonly string[], signal: AbortSignal): Promise<Map<string, SessionRow>> {
  const rows = await Promise.all(
    [...new Set(ids)].map((session_id) => agent.call(sessionGet, { session_id }, { signal }).catch(() => undefined)),
  );
  return new Map(rows.flatMap((row) => (row ? [[row.id, row] as const] : [])));
}

function httpRow(row: SessionRow, profile: string) {
  return {
    ...row,
    is_active: row.status !== 'idle' || Date.now() - Date.parse(row.last_active) < limits.dashboard.sessionActiveMs,
    input_tokens: row.usage.input,
    output_tokens: row.usage.output,
    profile,
  };
}
