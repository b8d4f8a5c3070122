/**
 * What goes by itself, and what goes when asked: sessions nobody uses any more, a few at a time, so that
 * the loop is never held. Freed pages are given back in steps; the file is never rewritten as a whole,
 * which on a nearly full volume could not even be finished.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../base/limits.ts';
import type { EventLog } from './events.ts';
import type { Search } from './search.ts';
import type { Store } from './store.ts';
import type { Toolbox } from './toolbox.ts';
import type { Turns } from './turns.ts';

const DAY_MS = 86_400_000;

export interface RetentionParts {
  store: Store;
  turns: Turns;
  events: EventLog;
  search: Search;
  /** Ends what a session left running in the background. */
  toolbox: { processes: Pick<Toolbox['processes'], 'endSession'> };
}

export interface Pruning {
  olderThanDays: number;
  /** The confirmed time: a wrong clock deletes nothing. */
  nowMs: number;
  source?: string | undefined;
  includeArchived?: boolean | undefined;
  /** Only hidden sessions, or only those that are not; both when left out. */
  hidden?: boolean | undefined;
  /** Only counts. */
  dryRun?: boolean | undefined;
  /** Stop after so many. */
  max?: number | undefined;
}

export interface Pruned {
  removed: number;
  /** Old enough, and yet kept: they work, wait, or belong to a chat. */
  skippedOpen: number;
  freedBytes: number;
}

interface Candidate {
  id: string;
  stored: number;
  open: number;
}

/** Removes sessions at rest for so long. Errors: DISK_FULL, STORE_BUSY; what was removed until then stays removed. */
export async function prune(parts: RetentionParts, pruning: Pruning): Promise<Pruned> {
  const { store, turns, events, search, toolbox } = parts;
  const candidates = candidatesOf(store, pruning);
  const isOpen = ({ id, open }: Candidate) => open === 1 || turns.isRunning(id);
  const free = candidates.filter((candidate) => !isOpen(candidate)).slice(0, pruning.max ?? Infinity);
  const skippedOpen = candidates.filter(isOpen).length;
  if (pruning.dryRun) return { removed: free.length, skippedOpen, freedBytes: 0 };
  let removed = 0;
  for (const batch of batches(free)) {
    // Somebody may have come back to one since it was listed.
    const still = batch.filter(({ id }) => !turns.isRunning(id) && isOld(store, id, pruning));
    store.transaction(() => still.forEach(({ id }) => store.deleteSession(id)));
    for (const { id } of still) events.forget(id);
    await Promise.all(still.map(({ id }) => toolbox.processes.endSession(id)));
    removed += still.length;
    await nextTurn();
  }
  if (removed === 0) return { removed, skippedOpen, freedBytes: 0 };
  search.forget();
  events.broadcast('sessions.changed');
  return { removed, skippedOpen, freedBytes: await giveBack(store) };
}

function candidatesOf(store: Store, pruning: Pruning): Candidate[] {
  return store.all<Candidate>(
    `SELECT s.id, coalesce(c.stored, 0) AS stored,
       (EXISTS (SELECT 1 FROM conversations k WHERE k.session_id = s.id)
         OR EXISTS (SELECT 1 FROM messages m WHERE m.session_id = s.id AND m.position IS NULL)) AS open
     FROM sessions s LEFT JOIN session_counts c ON c.session_id = s.id
     WHERE s.last_active < @before
       ${pruning.source === undefined ? '' : 'AND s.source = @source'}
       ${pruning.includeArchived ? '' : 'AND s.archived = 0'}
       ${pruning.hidden === undefined ? '' : `AND s.hidden = ${pruning.hidden ? 1 : 0}`}
     ORDER BY s.last_active`,
    { before: before(pruning), source: pruning.source ?? null },
  );
}

const before = ({ olderThanDays, nowMs }: Pruning): number => nowMs - olderThanDays * DAY_MS;

const isOld = (store: Store, id: string, pruning: Pruning): boolean => (store.session(id)?.last_active ?? Infinity) < before(pruning);

/** So many sessions and rows at once that the loop is not held for long. */
function* batches(candidates: readonly Candidate[]): Generator<Candidate[]> {
  let batch: Candidate[] = [];
  let rows = 0;
  for (const candidate of candidates) {
    if (batch.length > 0 && (batch.length >= limits.sessions.pruneBatchMax || rows + candidate.stored > limits.sessions.pruneMessagesMax)) {
      yield batch;
      batch = [];
      rows = 0;
    }
    batch.push(candidate);
    rows += candidate.stored;
  }
  if (batch.length > 0) yield batch;
}

/** Free pages at the end of the file go back to the system. A file made by an older release keeps them for new rows. */
async function giveBack(store: Store): Promise<number> {
  const pages = () => store.db.pragma('page_count', { simple: true }) as number;
  const free = () => store.db.pragma('freelist_count', { simple: true }) as number;
  const before = pages();
  for (let left = free(); left > 0;) {
    store.db.pragma(`incremental_vacuum(${limits.sessions.vacuumPages})`);
    await nextTurn();
    const now = free();
    if (now >= left) break;
    left = now;
  }
  return Math.max(0, before - pages()) * (store.db.pragma('page_size', { simple: true }) as number);
}

export interface RetentionConfig {
  auto_prune?: boolean | undefined;
  retention_days?: number | undefined;
  hidden_retention_days?: number | undefined;
}

/** Each day: hidden sessions after two weeks, others only when `sessions.auto_prune` says so. A bounded number at a time. */
export async function retire(parts: RetentionParts, config: RetentionConfig | undefined, nowMs: number): Promise<number> {
  const max = limits.sessions.pruneRunMax;
  const hidden = await prune(parts, {
    olderThanDays: config?.hidden_retention_days ?? limits.sessions.hiddenRetentionDays,
    hidden: true,
    nowMs,
    max,
  });
  if (config?.auto_prune !== true) return hidden.removed;
  const shown = await prune(parts, { olderThanDays: config.retention_days ?? limits.sessions.retentionDays, hidden: false, nowMs, max });
  return hidden.removed + shown.removed;
}
