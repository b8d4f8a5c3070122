/**
 * The agent worker: hosts the conversation engine, owns state.db, serves the gateway RPC to clients and
 * `turn.run` to other workers. What a crash left behind is in order before the socket listens.
 */
import { join } from 'node:path';
import { createModel } from '../../agent/models/resolve.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { rpcMethods } from '../../ipc/contracts/rpcTable.ts';
import type { Link } from '../../ipc/link.ts';
import { acquireLock } from '../../state/lock.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import { createContextDesk, createDirectoryHints } from './context.ts';
import { conversationHandlers } from './conversations.ts';
import { EventLog } from './events.ts';
import { createModelDesk, factsOf } from './models.ts';
import { processGroups, recover } from './recover.ts';
import { rpcHandlers } from './rpc.ts';
import { defaultDirectory, infoOf, type SessionParts } from './sessions.ts';
import { createSkillDesk } from './skills.ts';
import { Store } from './store.ts';
import { createToolbox } from './toolbox.ts';
import { Transcripts } from './transcripts.ts';
import { Turns } from './turns.ts';

/** The parts of the worker, wired. Errors: STORE_CORRUPT, STORE_BUSY, DISK_FULL, HOME_UNUSABLE. */
export function buildAgent(context: WorkerContext): SessionParts {
  const store = new Store(context.paths.stateDb);
  const transcripts = new Transcripts(store);
  const events = new EventLog({
    store,
    log: context.log,
    onFailure: (sessionId, thrown) => turns.storeFailed(sessionId, thrown),
    onStored: () => context.progress(),
    onPrune: (sessionId, seq) => turns.saveProgress(sessionId, seq),
  });
  const desk = createModelDesk(context);
  const skills = createSkillDesk(context);
  const toolbox = createToolbox(context, processGroups(store), { tools: skills.tools, hint: createDirectoryHints() });
  const contexts = createContextDesk({ context, store, transcripts, desk, toolbox, skills });
  const turns = new Turns({
    context,
    store,
    transcripts,
    events,
    desk,
    toolbox,
    contexts,
    skills,
    info: (session, running) => infoOf({ context, desk }, session, running),
  });
  return { context, store, transcripts, events, turns, desk, contexts, skills };
}

/** Errors: as buildAgent, and LOCK_HELD when another process serves this store: its turns are not ours to settle. */
export async function startAgent(context: WorkerContext): Promise<WorkerService> {
  const { log } = context;
  const lock = await acquireLock(join(context.paths.dir, 'agent.lock'), context.slot);
  const parts = buildAgent(context);
  const { store, transcripts, events, turns, desk, skills } = parts;

  const cut = recover({ store, transcripts, events, log });
  keepHouse(parts);
  const housekeeping = setInterval(() => keepHouse(parts), limits.turn.housekeepingMs).unref();
  await loadModel(context, desk.resolve());

  const ready = {
    protocol: limits.ipc.protocol,
    version: context.release.version,
    epoch: store.epoch,
    heartbeat_ms: limits.dashboard.heartbeatMs,
  };
  return {
    handlers: [...rpcHandlers(parts), ...conversationHandlers({ ...parts, cwd: defaultDirectory(context), waiters: new Map() })],
    relayMethods: new Set(rpcMethods.map(({ name }) => name)),
    onLink: (link: Link) => events.welcome(link, ready),
    active: () => turns.active(),
    facts: () => ({ ...modelFacts(desk.resolve()), clients: events.linkCount, turns_cut_at_start: cut }),
    drain: (signal) => turns.drain(signal),
    started() {
      turns.resumeQueues();
      void skills.warm();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(housekeeping);
      store.close();
      lock[Symbol.dispose]();
    },
  };
}

/** What is too old to be asked for goes; a store that refuses it now is asked again tomorrow. */
function keepHouse({ context, store, events }: SessionParts): void {
  try {
    store.forgetEmptySessions();
    events.forgetIdle(limits.turn.eventsKeepMs);
  } catch (thrown) {
    context.log.warn('old events could not be removed', errorFields(thrown));
  }
}

/** The first turn must not wait for a package; without a provider none is loaded. */
async function loadModel({ log }: WorkerContext, resolution: ReturnType<ReturnType<typeof createModelDesk>['resolve']>): Promise<void> {
  const { provider, model, warning } = factsOf(resolution);
  if (warning) log.warn(warning);
  if (resolution.kind !== 'none') await createModel(resolution);
  log.info(provider ? `answers with ${provider}/${model}` : 'no provider is usable');
}

function modelFacts(resolution: Parameters<typeof factsOf>[0]): Record<string, unknown> {
  const { provider, model, scripted } = factsOf(resolution);
  return { provider, model, scripted };
}
