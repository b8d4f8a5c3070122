/**
 * The agent worker: hosts the conversation engine, owns state.db, serves the gateway RPC to clients and
 * `turn.run` to other workers. What a crash left behind is in order before the socket listens.
 */
import { join } from 'node:path';
import { isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { rpcMethods } from '../../ipc/contracts/rpcTable.ts';
import type { Link } from '../../ipc/link.ts';
import { confirmedNow } from '../../state/confirmedTime.ts';
import { acquireLock } from '../../state/lock.ts';
import { guardStore } from '../storeGuard.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import { forgetAttachments } from './attachments.ts';
import { createContextDesk, createDirectoryHints } from './context.ts';
import { Background } from './background.ts';
import type { HostParts } from './commandHost.ts';
import { createChatQuestions } from './chatQuestions.ts';
import { watchCompany } from './company.ts';
import { conversationHandlers } from './conversations.ts';
import { EventLog } from './events.ts';
import { createModelDesk, factsOf, type ModelDesk } from './models.ts';
import { followPortal } from './modelSwitch.ts';
import { openState } from './openState.ts';
import { ApprovalRules } from './owner.ts';
import { ProcessNotes } from './processNotes.ts';
import { processGroups, recover } from './recover.ts';
import { Requests } from './requests.ts';
import { rpcHandlers } from './rpc.ts';
import { defaultDirectory, infoOf, leftBehind, removeSessions, type SessionParts } from './sessions.ts';
import { forgetChatNotes } from './principal.ts';
import { retire } from './retention.ts';
import { Search } from './search.ts';
import type { Store } from './store.ts';
import { watchSetup } from './setupWatch.ts';
import { createSkillDesk } from './skills.ts';
import { SideQuestions } from './sideQuestions.ts';
import { StagedWrites } from './stagedWrites.ts';
import { createToolbox, memoryFiles } from './toolbox.ts';
import { Transcripts } from './transcripts.ts';
import { Turns } from './turns.ts';

/** The parts of the worker, wired. Errors: STORE_BUSY, DISK_FULL, HOME_UNUSABLE. */
export function buildAgent(context: WorkerContext): HostParts {
  const { store, facts: storeFacts } = openState(context);
  const transcripts = new Transcripts(store);
  const search = new Search({ store, path: context.paths.searchDb, log: context.log, busy: () => turns.active().length > 0 });
  const events = new EventLog({
    store,
    log: context.log,
    onFailure: (sessionId, thrown) => turns.storeFailed(sessionId, thrown),
    onStored: () => {
      context.progress();
      search.poke();
    },
    onPrune: (sessionId, seq) => turns.saveProgress(sessionId, seq),
  });
  const desk = createModelDesk(context, {
    onSwitch: (sessionId, provider, model) => void followPortal({ context, store, events, desk }, { sessionId, provider, model }),
  });
  const memory = memoryFiles(context.paths.memories);
  const staged = new StagedWrites({ store, memory, skills: context.paths.skills });
  const skills = createSkillDesk(context, { stage: (change) => staged.stage(change) });
  const chats = createChatQuestions(context, store);
  const requests = new Requests({ events, log: context.log, askElsewhere: chats.ask, settledElsewhere: chats.settled });
  const rules = new ApprovalRules({ store, context });
  rules.dropShapes();
  const notes = new ProcessNotes({ store, transcripts, events, log: context.log, busy: (sessionId) => turns.isRunning(sessionId) });
  const toolbox = createToolbox(context, {
    groups: processGroups(store),
    memory,
    staged,
    search,
    tools: skills.tools,
    hint: createDirectoryHints(),
    watch: notes,
    epoch: store.epoch,
    parts: () => ({ context, store, transcripts, events, turns }),
  });
  const contexts = createContextDesk({ context, transcripts, desk, toolbox, skills });
  const turns = new Turns({
    context,
    store,
    transcripts,
    events,
    desk,
    toolbox,
    contexts,
    skills,
    requests,
    rules,
    notes,
    info: (session, running) => infoOf({ context, store, desk }, session, running),
  });
  const talk = { context, store, storeFacts, transcripts, events, turns, desk, notes };
  const parts = { ...talk, search, toolbox, contexts, skills, requests, rules, staged, memory };
  return { ...parts, side: new SideQuestions(parts), background: new Background(parts) };
}

/** Errors: as buildAgent, and LOCK_HELD when another process serves this store: its turns are not ours to settle. */
export async function startAgent(context: WorkerContext): Promise<WorkerService> {
  const lock = await acquireLock(join(context.paths.dir, 'agent.lock'), context.slot);
  const { parts, cut } = inOrder(context);
  const guard = guardStore(context, 'state', parts.store.db);
  const { store, events, turns, desk, search, toolbox, skills, requests, side, background, notes } = parts;
  toolbox.abandonChildren();
  side.settleCut();
  notes.settleCut();
  void keepHouse(parts);
  const housekeeping = setInterval(() => void keepHouse(parts), limits.turn.housekeepingMs).unref();
  const company = watchCompany(context, () => turns.active().length + side.active().length + toolbox.processes.running);
  const setup = watchSetup({ context, desk, events });
  toolbox.warm();
  await loadModel(context, desk);

  const ready = {
    protocol: limits.ipc.protocol,
    version: context.release.version,
    epoch: store.epoch,
    heartbeat_ms: limits.dashboard.heartbeatMs,
  };
  return {
    handlers: [...rpcHandlers(parts), ...conversationHandlers({ ...parts, cwd: defaultDirectory(context), waiters: new Map() })],
    relayMethods: new Set(rpcMethods.map(({ name }) => name)),
    onLink: (link: Link) => {
      company.enter(link);
      events.welcome(link, ready);
    },
    active: () => [...turns.active(), ...side.active()],
    // Turns that all wait for people make no steps of their own and are not stuck.
    steps: () => (requests.count > 0 && requests.count >= turns.active().length ? Math.floor(Date.now() / 1_000) : 0),
    facts: () => ({
      ...modelFacts(desk.resolve()),
      ...parts.storeFacts(),
      clients: events.linkCount,
      active_sessions: activeSessions(store),
      turns_cut_at_start: cut,
      waiting: turns.held(),
    }),
    async drain(signal) {
      const [drained] = await Promise.all([turns.drain(signal), side.leave()]);
      events.settleAll();
      return drained;
    },
    started() {
      turns.resumeQueues();
      background.resume();
      setup.look();
      void desk.lookAround().then(() => setup.look());
      void skills.warm();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(housekeeping);
      setup[Symbol.dispose]();
      company[Symbol.dispose]();
      await toolbox[Symbol.asyncDispose]();
      await search.close();
      await guard[Symbol.asyncDispose]();
      store.close();
      lock[Symbol.dispose]();
    },
  };
}

/** In which something was said a moment ago. The index on activity makes it a short walk. */
const activeSessions = (store: Store): number =>
  store.one<{ n: number }>(
    'SELECT count(*) AS n FROM sessions WHERE last_active > ? AND used = 1',
    Date.now() - limits.dashboard.sessionActiveMs,
  )!.n;

/** Built, and what a crash left is in order. A damaged page that shows only here is dealt with like one at the door. */
function inOrder(context: WorkerContext): { parts: HostParts; cut: number } {
  const parts = buildAgent(context);
  try {
    return { parts, cut: recover({ ...parts, log: context.log }) };
  } catch (thrown) {
    parts.store.close();
    if (!isAgentError(thrown) || thrown.code !== 'STORE_CORRUPT') throw thrown;
  }
  const again = buildAgent(context);
  return { parts: again, cut: recover({ ...again, log: context.log }) };
}

/** What is too old to be asked for goes; a store that refuses it now is asked again tomorrow. */
async function keepHouse(parts: SessionParts): Promise<void> {
  const { context, store, events } = parts;
  const nowMs = confirmedNow(context.home);
  try {
    removeSessions(parts, leftBehind(parts, nowMs - limits.turn.emptySessionMs));
    await events.forgetIdle(nowMs - limits.turn.eventsKeepMs);
    const removed = await retire(parts, context.config().config.sessions, nowMs);
    if (removed > 0) context.log.info(`${removed} sessions that nobody used any more were removed`);
    forgetAttachments(context, store);
    const forgotten = forgetChatNotes(context.paths.memories);
    if (forgotten > 0) context.log.info(`the notes of the ${forgotten} chats that were silent longest were removed`);
  } catch (thrown) {
    // A worker that stops closes its store; the next one goes on.
    if (store.db.open) context.log.warn('what is too old could not be removed', errorFields(thrown));
  }
}

/** The first turn must not wait for a package; without a provider none is loaded. */
async function loadModel({ log }: WorkerContext, desk: ModelDesk): Promise<void> {
  const resolution = desk.resolve();
  const { provider, model, warning } = factsOf(resolution);
  if (warning) log.warn(warning);
  await desk.prepare();
  log.info(provider ? `answers with ${provider}/${model}` : 'no provider is usable');
}

function modelFacts(resolution: Parameters<typeof factsOf>[0]): Record<string, unknown> {
  const { provider, model, scripted } = factsOf(resolution);
  return { provider, model, scripted };
}
