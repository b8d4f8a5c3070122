/**
 * Opening a store so that damage never keeps its worker from starting: what can be read is recovered when that is quick,
 * else the newest whole daily copy takes its place, else an empty store. The damaged file is always kept.
 */
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import Database from 'better-sqlite3';
import { AgentError, isAgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { errorFields } from '../base/log.ts';
import { syncFile } from '../state/atomicFile.ts';
import { copiesOf } from '../state/db/copies.ts';
import { openerOf } from '../state/db/lockHolder.ts';
import { storeError } from '../state/db/open.ts';
import { copyReadable, damagedSource, isWhole, putInPlace, setAside, type Recovery } from '../state/db/recover.ts';
import { stores, type StoreName } from '../state/db/stores.ts';
import type { Problem, WorkerContext } from './worker.ts';

export interface Mended {
  outcome: 'recovered' | 'restored' | 'begun anew';
  /** The damaged file. */
  kept: string;
  /** Null = nothing. */
  lost: string | null;
  /** The daily copy that took its place. */
  copy?: string;
}

type Context = Pick<WorkerContext, 'home' | 'paths' | 'log' | 'profile' | 'reportProblem'>;

/** Left by a worker that met a damaged page while it ran: the next start recovers, however large the file is. */
export const markOf = (path: string): string => `${path}.damaged`;

/** Errors: STORE_BUSY, DISK_FULL, HOME_UNUSABLE; STORE_CORRUPT only while another process has the file open. */
export function openMended<T>(context: Context, name: StoreName, open: (path: string) => T): { store: T; mended: Mended | null } {
  const path = stores[name].path(context.home, context.paths);
  const key = `store:${context.profile}:${name}`;
  const damage = damageOf(path, open);
  if ('store' in damage) {
    context.reportProblem(key, null);
    return { ...damage, mended: null };
  }
  const mended = mend(context, name, path);
  context.reportProblem(key, problemOf({ path, name, profile: context.profile }, mended));
  try {
    const store = open(path);
    rmSync(markOf(path), { force: true });
    return { store, mended };
  } catch (thrown) {
    // No room even for an empty store: the damaged one is tried again when there is.
    if (mended.outcome !== 'recovered') putBack(mended.kept, path);
    throw thrown;
  }
}

function damageOf<T>(path: string, open: (path: string) => T): { store: T } | { damaged: true } {
  let damage: unknown = new AgentError('STORE_CORRUPT', `the last worker met a damaged page of ${path}`);
  if (!existsSync(markOf(path)) || !existsSync(path)) {
    try {
      return { store: open(path) };
    } catch (thrown) {
      if (!isAgentError(thrown) || thrown.code !== 'STORE_CORRUPT') throw thrown;
      damage = thrown;
    }
  }
  // Whoever has it open would go on writing into the file that is set aside.
  if (openerOf(path) !== undefined) throw damage;
  return { damaged: true };
}

function problemOf({ path, name, profile }: { path: string; name: StoreName; profile: string }, mended: Mended): Problem {
  const { outcome, kept, lost, copy } = mended;
  const again = `agent recover ${name} --from ${kept}${profile === 'default' ? '' : ` --profile ${profile}`}`;
  if (outcome === 'begun anew')
    return { what: `${path} was damaged and is empty now; the damaged file is ${kept}: ${lost}`, fix: `${again} tries again` };
  if (outcome === 'restored')
    return {
      what: `${path} was damaged beyond recovery and is the daily copy ${copy} now; what came after it is missing: ${lost}`,
      fix: `nothing is left to do; the damaged file is ${kept}`,
    };
  return {
    what: `${path} was damaged and has been recovered; ${lost === null ? 'every row was recovered' : `lost: ${lost}`}`,
    fix: `nothing is left to do; delete ${kept} when you no longer need it`,
  };
}

/** Afterwards a store can be opened at the path. */
function mend({ log, paths }: Context, name: StoreName, path: string): Mended {
  log.error(`${path} is damaged; recovering what can be read`);
  try {
    const recovery = recovered(paths, name, path);
    const kept = putInPlace(recovery.path, path);
    const lost = lossOf(recovery);
    log.warn(`${path} was recovered; the damaged file is kept as ${kept}`, { tables: recovery.tables, lost });
    return { outcome: 'recovered', kept, lost };
  } catch (thrown) {
    // Nothing is wrong that room would not put right.
    if (isAgentError(thrown) && thrown.code === 'DISK_FULL') throw thrown;
    const copy = copiesOf(paths.dir, name).find(isWhole);
    const kept = copy === undefined ? setAside(path) : restored(name, copy, path);
    const next = copy === undefined ? 'an empty store' : `the daily copy ${basename(copy)}`;
    log.error(`${path} could not be recovered at start; ${next} takes its place, the damaged file is kept as ${kept}`, errorFields(thrown));
    return {
      outcome: copy === undefined ? 'begun anew' : 'restored',
      kept,
      lost: messageOf(thrown),
      ...(copy === undefined ? {} : { copy }),
    };
  }
}

function recovered(paths: WorkerContext['paths'], name: StoreName, path: string): Recovery {
  const marked = existsSync(markOf(path));
  const from = damagedSource(path);
  if (!marked && statSync(from).size > limits.sessions.recoverBootMaxBytes) throw new Error('it is too large to be recovered at start');
  const { schema, finish } = stores[name];
  const copies = copiesOf(paths.dir, name);
  return copyReadable({ from, to: `${path}.recovered`, schema, copies, finish, maxMs: limits.sessions.recoverBootMs });
}

/** The copy in place of the damaged file. Errors: DISK_FULL, HOME_UNUSABLE. */
function restored(name: StoreName, copy: string, path: string): string {
  const work = `${path}.recovered`;
  try {
    copyFileSync(copy, work);
    const db = new Database(work);
    try {
      for (const sql of [...stores[name].finish, ...stores[name].afterRestore]) db.exec(sql);
    } finally {
      db.close();
    }
    syncFile(work);
    return putInPlace(work, path);
  } catch (thrown) {
    rmSync(work, { force: true });
    throw storeError(path, thrown);
  }
}

function putBack(kept: string, path: string): void {
  for (const suffix of ['', '-wal', '-shm']) {
    rmSync(path + suffix, { force: true });
    if (existsSync(kept + suffix)) renameSync(kept + suffix, path + suffix);
  }
}

function lossOf({ tables, complete }: Recovery): string | null {
  if (complete) return null;
  return tables
    .filter(({ before, after, torn }) => before === null || before > after || torn > 0)
    .map(
      ({ name, before, after, torn }) =>
        `${name}: ${before === null ? `an unknown number of rows, ${after} are left` : `${before - after} of ${before} rows`}${torn > 0 ? `, a long value of ${torn} rows` : ''}`,
    )
    .join('; ');
}
