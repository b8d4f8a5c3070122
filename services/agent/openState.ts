/** Opening state.db, and what is done when a damaged page of it is met only later. */
import type { AgentError } from '../../base/errors.ts';
import { errorFields } from '../../base/log.ts';
import { writeFileAtomic } from '../../state/atomicFile.ts';
import { markOf, openMended, type Mended } from '../mendedStore.ts';
import type { WorkerContext } from '../worker.ts';
import { Store } from './store.ts';

/** For `worker.report`; null = nothing was wrong. */
export interface StoreFacts {
  store: Mended['outcome'] | 'damaged';
  store_kept: string | null;
  store_lost: string | null;
}

export interface OpenedState {
  store: Store;
  facts(): StoreFacts | null;
}

/** Errors: STORE_BUSY, DISK_FULL, HOME_UNUSABLE; damage is none. */
export function openState(
  context: Pick<WorkerContext, 'home' | 'paths' | 'log' | 'profile' | 'reportFacts' | 'reportProblem'>,
): OpenedState {
  const path = context.paths.stateDb;
  const { store, mended } = openMended(context, 'state', (file) => new Store(file));
  let facts: StoreFacts | null = mended && { store: mended.outcome, store_kept: mended.kept, store_lost: mended.lost };
  store.onDamage = (error) => {
    if (facts?.store === 'damaged') return;
    facts = { store: 'damaged', store_kept: null, store_lost: error.message };
    noteDamage(context, path, error);
    context.reportFacts?.({ ...facts });
    context.reportProblem('store', { what: `${path} is damaged: ${error.message}`, fix: 'agent recover state' });
  };
  return { store, facts: () => facts };
}

function noteDamage({ log }: Pick<WorkerContext, 'log'>, path: string, error: AgentError): void {
  log.error(`${error.message}; the rest stays readable, and the next start of the agent worker recovers it`, errorFields(error));
  try {
    writeFileAtomic(markOf(path), `${error.message}\n`);
  } catch (thrown) {
    log.warn(`${markOf(path)} could not be written`, errorFields(thrown));
  }
}
