/** Methods of the gateway RPC about many sessions: searching, counting, clearing out, taking along. */
import { statSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { messageOf } from '../../../base/errors.ts';
import { isoTime } from '../../../base/time.ts';
import { sessionExport, sessionImport, sessionPrune, sessionSearch, sessionStats } from '../../../ipc/contracts/rpcSessions.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { refuseOtherProfile } from '../conversations.ts';
import { exported, importOne } from '../exchange.ts';
import { confirmedNow } from '../../../state/confirmedTime.ts';
import { prune } from '../retention.ts';
import { requireSession, type SessionParts } from '../sessions.ts';
import type { Store } from '../store.ts';

const SEARCH_DEFAULT = 20;

/** What is said about one of the documents of an import. */
type Place = { index: number; message: string };

export function manySessionMethods(parts: SessionParts): Handler[] {
  const { context, store, transcripts, events, turns, search, toolbox } = parts;
  const exchange = { store, transcripts, dir: context.paths.dir };
  return [
    handle(sessionSearch, async ({ query, limit = SEARCH_DEFAULT, session_id, profile }) => {
      refuseOtherProfile(context, profile);
      const session = session_id === undefined ? undefined : requireSession(store, session_id).id;
      const { hits, ready, indexed, total } = await search.query({ query, limit, session });
      return { hits: hits.map(({ at, ...hit }) => ({ ...hit, timestamp: isoTime(at) })), ready, indexed, total };
    }),
    handle(sessionPrune, async ({ older_than_days, source, dry_run, include_archived }) => {
      const { removed, skippedOpen, freedBytes } = await prune(
        { store, turns, events, search, toolbox },
        { olderThanDays: older_than_days, source, dryRun: dry_run, includeArchived: include_archived, nowMs: confirmedNow(context.home) },
      );
      return { removed, skipped_open: skippedOpen, freed_bytes: freedBytes };
    }),
    handle(sessionStats, async () => {
      const { indexed } = await search.counts().catch(() => ({ indexed: 0 }));
      return { ...statsOf(store), indexed };
    }),
    handle(sessionExport, ({ session_id }) => exported(exchange, requireSession(store, session_id))),
    handle(sessionImport, async ({ sessions }) => {
      turns.refuseWhenDraining();
      const outcome = { imported_ids: [] as string[], skipped_ids: [] as string[], errors: [] as Place[] };
      const warnings: Place[] = [];
      for (const [index, document] of sessions.entries()) {
        try {
          const { outcome: done, id, warning } = importOne(exchange, document);
          (done === 'imported' ? outcome.imported_ids : outcome.skipped_ids).push(id);
          if (warning !== undefined) warnings.push({ index, message: warning });
        } catch (thrown) {
          outcome.errors.push({ index, message: messageOf(thrown) });
        }
        await nextTurn();
      }
      if (outcome.imported_ids.length > 0) {
        events.broadcast('sessions.changed');
        search.poke();
      }
      return { ...outcome, ...(warnings.length > 0 ? { warnings } : {}) };
    }),
  ];
}

function statsOf(store: Store) {
  const bySource = store.all<{ source: string; n: number }>(
    'SELECT source, count(*) AS n FROM sessions WHERE used = 1 GROUP BY source ORDER BY source',
  );
  const sums = store.one<{ archived: number | null; hidden: number | null }>(
    'SELECT sum(archived) AS archived, sum(hidden) AS hidden FROM sessions WHERE used = 1',
  )!;
  const { messages } = store.one<{ messages: number | null }>('SELECT sum(messages) AS messages FROM session_counts')!;
  return {
    total: bySource.reduce((sum, { n }) => sum + n, 0),
    archived: sums.archived ?? 0,
    hidden: sums.hidden ?? 0,
    messages: messages ?? 0,
    by_source: Object.fromEntries(bySource.map(({ source, n }) => [source, n])),
    bytes: ['', '-wal'].reduce((sum, suffix) => sum + (statSync(store.path + suffix, { throwIfNoEntry: false })?.size ?? 0), 0),
    journal_mode: String(store.db.pragma('journal_mode', { simple: true })),
  };
}
