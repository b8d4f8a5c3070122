/**
 * Opening state.db so that damage never keeps the worker from starting: a store that cannot be read is
 * recovered when that is quick, else set aside for `agent recover state` and begun anew. The damaged
 * file is always kept.
 */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { isAgentError, messageOf, type AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import { copiesOf } from '../../state/db/copies.ts';
import { copyReadable, damagedSource, putInPlace, setAside, type Recovery } from '../../state/db/recover.ts';
import { stores } from '../../state/db/stores.ts';
import type { Problem, WorkerContext } from '../worker.ts';
import { Store } from './store.ts';

/** For `agent status` and `agent doctor`; null = nothing was wrong. */
export interface StoreFacts {
  store: 'recovered' | 'begun anew' | 'damaged';
  store_kept: string | null;
  store_lost: string | null;
}

export interface OpenedState {
  store: Store;
  facts(): StoreFacts | null;
}

/** Left by a worker that met a damaged page while it ran: the next start recovers, however large the file is. */
const markOf = (path: string): string => `${path}.damaged`;

/** Errors: STORE_BUSY, DISK_FULL, HOME_UNUSABLE; damage is none. */
export function openState(context: Pick<WorkerContext, 'paths' | 'log' | 'reportFacts' | 'reportProblem'>): OpenedState {
  const path = context.paths.stateDb;
  let facts: StoreFacts | null = null;
  const store = opened(path) ?? afterDamage();
  context.reportProblem('store', facts && problemOf(path, facts));
  store.onDamage = (error) => {
    if (facts?.store === 'damaged') return;
    facts = { store: 'damaged', store_kept: null, store_lost: error.message };
    noteDamage(context, path, error);
    context.reportFacts?.({ ...facts });
    context.reportProblem('store', problemOf(path, facts));
  };
  return { store, facts: () => facts };

  function afterDamage(): Store {
    facts = mend(context, path);
    try {
      const made = new Store(path);
      rmSync(markOf(path), { force: true });
      return made;
    } catch (thrown) {
      // No room even for an empty store: the damaged one is tried again when there is.
      if (facts.store === 'begun anew' && facts.store_kept !== null) putBack(facts.store_kept, path);
      throw thrown;
    }
  }
}

function problemOf(path: string, { store, store_kept: kept, store_lost: lost }: StoreFacts): Problem {
  if (store === 'damaged') return { what: `${path} is damaged: ${lost}`, fix: 'agent recover state' };
  if (store === 'begun anew')
    return {
      what: `${path} was damaged and is empty now; the damaged file is ${kept}: ${lost}`,
      fix: `agent recover state --from ${kept}`,
    };
  const loss = lost === null ? 'every row was recovered' : `lost: ${lost}`;
  return {
    what: `${path} was damaged and has been recovered; ${loss}`,
    fix: `nothing is left to do; delete ${kept} when you no longer need it`,
  };
}

/** Undefined = it is damaged, or was found damaged by the last worker. */
function opened(path: string): Store | undefined {
  if (existsSync(markOf(path)) && existsSync(path)) return undefined;
  try {
    return new Store(path);
  } catch (thrown) {
    if (isAgentError(thrown) && thrown.code === 'STORE_CORRUPT') return undefined;
    throw thrown;
  }
}

function noteDamage({ log }: Pick<WorkerContext, 'log'>, path: string, error: AgentError): void {
  log.error(`${error.message}; what can be read goes on, and the next start of the agent worker recovers it`, errorFields(error));
  try {
    writeFileAtomic(markOf(path), `${error.message}\n`);
  } catch (thrown) {
    log.warn(`${markOf(path)} could not be written`, errorFields(thrown));
  }
}

/** Recovers the file, or sets it aside. Afterwards a store can be opened at the path. */
function mend({ log, paths }: Pick<WorkerContext, 'log' | 'paths'>, path: string): StoreFacts {
  log.error(`${path} is damaged; recovering what can be read`);
  try {
    const recovery = recovered(paths, path);
    const kept = putInPlace(recovery.path, path);
    const lost = lossOf(recovery);
    log.warn(`${path} was recovered; the damaged file is kept as ${kept}`, { tables: recovery.tables, lost });
    return { store: 'recovered', store_kept: kept, store_lost: lost };
  } catch (thrown) {
    const kept = setAside(path);
    log.error(
      `${path} could not be recovered at start and is begun anew; \`agent recover state --from ${kept}\` tries again`,
      errorFields(thrown),
    );
    return { store: 'begun anew', store_kept: kept, store_lost: messageOf(thrown) };
  }
}

function recovered(paths: WorkerContext['paths'], path: string): Recovery {
  const marked = existsSync(markOf(path));
  const from = damagedSource(path);
  if (!marked && statSync(from).size > limits.sessions.recoverBootMaxBytes) throw new Error('it is too large to be recovered at start');
  return copyReadable({
    from,
    to: `${path}.recovered`,
    schema: stores.state.schema,
    copies: copiesOf(paths.dir, 'state'),
    finish: stores.state.finish,
    maxMs: limits.sessions.recoverBootMs,
  });
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
