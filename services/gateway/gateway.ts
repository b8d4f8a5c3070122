/**
 * The gateway worker from top to bottom: open the stores, take what platforms bring in, ask the agent,
 * deliver the answers. A message is on disk before its platform hears that we have it, an answer before
 * it is sent; platforms come and go in the background without touching either.
 */
import { join } from 'node:path';
import { AgentError, messageOf } from '../../base/errors.ts';
import { coalesced } from '../../base/coalesce.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import * as contract from '../../ipc/contracts/gateway.ts';
import type { Client } from '../../ipc/client.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import type { ResultOf } from '../../ipc/method.ts';
import { confirmedNow } from '../../state/confirmedTime.ts';
import { listProfiles, profileSlot } from '../../state/home.ts';
import { acquireLock } from '../../state/lock.ts';
import { openMended } from '../mendedStore.ts';
import { guardStore } from '../storeGuard.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import type { AdapterHost } from './adapter.ts';
import { catalog } from './catalog.ts';
import { commandOf, runCommand, type CommandParts } from './commands.ts';
import { createDelivery, type Delivery } from './delivery.ts';
import { createDoor, type Door } from './door.ts';
import { keysOf, type InboxRow, type Reply } from './inbox.ts';
import { createPlatforms, type Platforms } from './platforms.ts';
import { createQuestions, isVerdict, type Questions } from './questions.ts';
import { createStateFile } from './stateFile.ts';
import { GatewayStore } from './store.ts';
import { createSubscriptions } from './subscriptions.ts';
import { hasMediaLine, putReply, withoutFiles } from './replies.ts';
import { parseTarget } from './targets.ts';
import { testPlatform } from './testPlatform.ts';
import { createTurns, type Turns } from './turns.ts';
import { Unstored } from './unstored.ts';

export async function startGateway(context: WorkerContext): Promise<WorkerService> {
  // One gateway per profile, supervised or not: two would both answer.
  const lock = await acquireLock(join(context.paths.dir, 'gateway.lock'), context.slot);
  const { store } = openMended(context, 'gateway', (path) => new GatewayStore(path));
  const guard = guardStore(context, 'gateway', store.db);
  const uncertain = store.outbox.recover();
  if (uncertain > 0)
    context.log.warn(`${uncertain} message(s) were being sent when the last gateway ended: they are sent once more, with a mark`);
  const agentOf = createAgents(context);
  const agent = agentOf(context.profile);
  const subscription = createSubscriptions(context);

  const facts = () => ({
    platforms: Object.fromEntries(platforms.states().map((state) => [state.platform, state])),
    held: turns.held(),
    waiting: turns.waiting(),
    active_agents: turns.active().length,
    active_work: turns.active().slice(0, limits.gateway.activeWorkNamed),
    session_store: store.health,
  });
  const healthy = () => !platforms.states().some(({ state }) => state === 'retrying' || state === 'fatal');
  const stateFile = createStateFile(context, () => ({ ...facts(), healthy: healthy() }));
  const tell = coalesced(() => {
    context.reportFacts(facts());
    stateFile.touch();
  });

  const platforms: Platforms = createPlatforms({ context, host: (platform) => hostOf(platform), onState: tell });
  const delivery: Delivery = createDelivery({ store, platforms, log: context.log, confirmedNow: () => confirmedNow(context.home) });
  const gatherMs = (platform: string) => catalog[platform]?.gatherMs(platforms.settings(platform) ?? {}) ?? 0;
  const turns: Turns = createTurns({
    context,
    store,
    agentOf,
    gatherMs,
    command: (row) => runCommand(commands, row),
    onAnswer: delivery.wake,
    onChange: tell,
  });
  const commands: CommandParts = { context, agent, platforms, turns, delivery, store };
  const resolve = (text: string): Reply | undefined => resolveTarget(platforms, text);
  const questions = createQuestions({
    store,
    agent,
    agentSocket: context.home.run.socket(profileSlot('agent', context.profile)),
    delivery,
    log: context.log,
    signal: context.signal,
  });
  const command = async (row: InboxRow): Promise<void> => {
    let answer: CommandReply | 'waits' | undefined;
    while (!context.signal.aborted) {
      try {
        // It ran: only storing the answer is tried again.
        answer ??= await answerOf(commands, questions, row);
        if (!context.signal.aborted) storeAnswer(commands, row, answer);
        return;
      } catch (thrown) {
        context.log.error(`the answer to command ${row.id} could not be stored: ${messageOf(thrown)}; trying again`);
        store.failed(thrown);
        tell();
        await sleep(limits.state.storeRetryMs, context.signal).catch(() => {});
      }
    }
  };
  const door: Door = createDoor({
    context,
    store,
    platforms,
    gatherMs,
    onMessage: turns.wake,
    onCommand(row) {
      // Lines before it wait no longer for more: `/stop` has to find their turn.
      turns.wake();
      void command(row);
    },
    onReply: delivery.wake,
    isAnswer: questions.isAnswer,
  });
  const onRefused = (thrown: unknown): void => {
    store.failed(thrown);
    tell();
  };
  const unstored = new Unstored({ path: context.paths.gatewayDb, log: context.log, onRefused });
  const hostOf = (platform: string): AdapterHost => ({
    platform,
    log: context.log,
    receive(message) {
      try {
        return door.receive(platform, message);
      } catch (thrown) {
        onRefused(thrown);
        throw thrown;
      }
    },
    keep: (message) => unstored.add(() => door.receive(platform, message)),
    readinessChanged: delivery.wake,
    target: resolve,
    subscription,
    isProfile: (name) => listProfiles(context.home).includes(name),
  });
  stateFile.phase('starting');

  const prune = () => {
    try {
      for (const table of [store.inbox, store.outbox, store.questions]) table.prune(confirmedNow(context.home));
    } catch (thrown) {
      context.log.warn(`old messages could not be removed: ${messageOf(thrown)}`);
    }
  };
  const pruning = setInterval(prune, limits.gateway.pruneMs).unref();

  return {
    handlers: handlers({ context, store, platforms, delivery, turns, questions, resolve }),
    active: () => [...turns.active(), ...delivery.active()],
    facts,
    steps: () => store.changes,
    started() {
      if (platforms.states().length === 0) context.log.info('no platform is configured: the gateway idles; see `platforms` in config.yaml');
      prune();
      for (const row of store.inbox.openCommands()) void command(row);
      questions.start();
      turns.start();
      platforms.connect();
      delivery.wake();
      stateFile.phase('running');
      tell();
    },
    async drain(signal) {
      stateFile.phase('draining');
      await turns.drain(signal);
      await delivery.flush(limits.gateway.flushMs);
      // What has no answer yet waits in the inbox; the agent goes on with it and the next gateway joins.
      return { interrupted: 0 };
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pruning);
      await delivery.close();
      await platforms.close();
      unstored[Symbol.dispose]();
      tell.cancel();
      stateFile.phase('stopped', 'stopped as asked');
      await guard[Symbol.asyncDispose]();
      store[Symbol.dispose]();
      lock[Symbol.dispose]();
    },
  };
}

/** One standing client for each agent worker that is asked: a webhook route may be bound to another profile. */
function createAgents(context: WorkerContext): (profile: string) => Client {
  const clients = new Map<string, Client>();
  return (profile) => {
    const known = clients.get(profile);
    if (known) return known;
    const made = context.peer(profileSlot('agent', profile));
    clients.set(profile, made);
    return made;
  };
}

interface HandlerParts {
  context: WorkerContext;
  store: GatewayStore;
  platforms: Platforms;
  delivery: Delivery;
  turns: Turns;
  questions: Questions;
  resolve(text: string): Reply | undefined;
}

function handlers({ context, store, platforms, delivery, turns, questions, resolve }: HandlerParts): Handler[] {
  return [
    handle(contract.enqueueDelivery, ({ target, text, idempotency_key, origin }) => {
      const chat = resolve(target) ?? unknownTarget(platforms, target);
      if (ANSWERED_TO.has(origin)) refuseFile(chat, text);
      refuseOverload(store, chat);
      const message = { idempotency_key, ...chat, text: withoutFiles(chat.platform, text), origin };
      const { row, duplicate } = store.outbox.enqueue(message, Date.now());
      if (!duplicate) delivery.wake();
      return { delivery_id: row.id, status: row.state, duplicate };
    }),
    handle(contract.deliveryStatus, async ({ delivery_id, wait_ms }) => {
      const row = await delivery.settled(delivery_id, wait_ms);
      if (!row) throw new AgentError('NOT_FOUND', `there is no delivery ${delivery_id}`, { fix: 'deliveries are kept for a week' });
      return { delivery_id, status: row.state, tries: row.tries, error: row.error };
    }),
    handle(contract.listTargets, () => ({ targets: targetsOf(store, platforms) })),
    handle(contract.conversationAsked, (asked) => ({ asked: questions.ask(asked) })),
    handle(contract.conversationSettled, ({ request_id, reason }) => ({ known: questions.settled(request_id, reason) })),
    handle(contract.platforms, () => ({
      platforms: platforms.states(),
      held: turns.held(),
      waiting: turns.waiting(),
      pending: platforms.pending(),
    })),
    handle(contract.testPlatform, ({ platform }, { signal }) => testPlatform({ context, platforms, target: resolve }, platform, signal)),
    handle(contract.retryDeliveries, ({ ids }) => {
      const settled = settleEach(ids, {
        out: (id) => store.outbox.revive(id, Date.now()),
        in: (id) => store.inbox.revive(id),
      });
      delivery.wake();
      turns.wake();
      return settled;
    }),
    handle(contract.discardDeliveries, ({ ids }) =>
      settleEach(ids, { out: (id) => store.outbox.discard(id), in: (id) => store.inbox.discard(id) }),
    ),
  ];
}

/** Of messages to a chat, and of received ones (`m12`). */
function settleEach(
  ids: readonly contract.UndeliveredId[],
  settle: { out(id: number): boolean; in(id: number): boolean },
): ResultOf<typeof contract.retryDeliveries> {
  const done = ids.filter((id) => (typeof id === 'number' ? settle.out(id) : settle.in(Number(id.slice(1)))));
  const failed = ids.filter((id) => !done.includes(id)).map((id) => ({ id, message: 'no message with that id has failed' }));
  return { done, failed };
}

function resolveTarget(platforms: Platforms, text: string): Reply | undefined {
  const target = parseTarget(text);
  const entry = target && catalog[target.platform];
  const settings = target && platforms.settings(target.platform);
  if (!entry?.canSend || !settings) return undefined;
  const chat = entry.normalizeChat(target.chat ?? entry.chats(settings)[0] ?? '');
  return chat === undefined ? undefined : { platform: target.platform, chat, thread: target.thread };
}

function unknownTarget(platforms: Platforms, text: string): never {
  const sending = platforms.states().filter(({ platform, state }) => state !== 'disabled' && catalog[platform]?.canSend);
  const known = sending.map(({ platform }) => `${platform}:<chat>`).join(', ');
  throw new AgentError('UNKNOWN_TARGET', `nothing answers to the delivery target "${text}"`, {
    field: 'target',
    fix: known ? `write ${known}` : 'no platform that can send is configured: see `platforms` in config.yaml',
  });
}

/** Senders that wait for the answer and can leave the file out: `agent send`, and a turn that sends a message. */
const ANSWERED_TO: ReadonlySet<string> = new Set(['cli', 'agent']);

function refuseFile({ platform }: Reply, text: string): void {
  if (!hasMediaLine(text)) return;
  throw new AgentError('USAGE', `${platform} takes no files, and the text has a MEDIA:<path> line; nothing was sent`, {
    field: 'text',
    fix: 'send the text of the file with --file <path>, or leave the line out',
  });
}

function refuseOverload(store: GatewayStore, chat: Reply): void {
  const { outboxPerChatMax, outboxMax } = limits.gateway;
  if (store.outbox.countOpen(chat) < outboxPerChatMax && store.outbox.countOpen() < outboxMax) return;
  throw new AgentError('QUEUE_FULL', `too many messages wait for ${chat.platform}:${chat.chat}`, {
    retryAfterMs: 60_000,
    fix: 'look at `agent gateway status`',
  });
}

/** Chats of the settings, then those that wrote to us. */
function targetsOf(store: GatewayStore, platforms: Platforms): { target: string; platform: string; chat: string | null; state: string }[] {
  return platforms.states().flatMap(({ platform, state }) => {
    const entry = catalog[platform];
    const settings = platforms.settings(platform);
    if (!entry?.canSend || !settings) return [];
    const named = entry
      .chats(settings)
      .map((chat) => entry.normalizeChat(chat))
      .filter((chat) => chat !== undefined);
    const chats = [...new Set([...named, ...store.inbox.recentChats(platform, TARGETS_MAX)])];
    const home = named.length > 0 ? [{ target: platform, platform, chat: null, state }] : [];
    return [...home, ...chats.map((chat) => ({ target: `${platform}:${chat}`, platform, chat, state }))];
  });
}

const TARGETS_MAX = 50;

/** `text` undefined: it was no answer to a question, and is a message like any other. */
type CommandReply = { text: string | undefined; prompt: string | null };

/** Commands are answered beside the conversation: they must work while a turn runs or hangs. `waits`: the agent cannot take it now. */
async function answerOf(parts: CommandParts, questions: Questions, row: InboxRow): Promise<CommandReply | 'waits'> {
  if (isVerdict(row.text) || commandOf(row.text) === undefined) return { text: await questions.answer(row), prompt: null };
  try {
    return await runCommand(parts, row);
  } catch (thrown) {
    parts.context.log.info(`command ${row.id} waits: ${messageOf(thrown)}`);
    return 'waits';
  }
}

/** Errors: those of the store; nothing is stored then. */
function storeAnswer({ store, turns, delivery }: CommandParts, row: InboxRow, answer: CommandReply | 'waits'): void {
  if (answer === 'waits') {
    store.inbox.defer(row.id);
    return turns.wake();
  }
  const { text, prompt } = answer;
  if (text === undefined) {
    store.inbox.becomeMessage(row.id);
    return turns.wake();
  }
  store.transact(() => {
    if (prompt === null) store.inbox.close(row.id, 'answered', Date.now());
    else store.inbox.turnIntoMessage(row.id, prompt);
    putReply(store, row, { key: prompt === null ? keysOf(row).reply : `command:${row.id}`, text });
  });
  if (prompt !== null) turns.wake();
  delivery.wake();
}
