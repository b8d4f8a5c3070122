/**
 * From a stored message to its answer: one turn at a time per conversation, several conversations at
 * once, none while the gateway is paused. The agent is asked under the key `gateway:<inbox id>`, so a
 * kill between receipt and answer costs neither the answer nor a second turn.
 */
import { isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import type { Client } from '../../ipc/client.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import { askTurn, keepAsking, type Asking } from '../../ipc/keepAsking.ts';
import { profileSlot } from '../../state/home.ts';
import { isPaused, readPause } from '../../state/pause.ts';
import { whenResumed } from '../../state/pauseWatch.ts';
import type { WorkerContext } from '../worker.ts';
import { createAgentHold, type AgentHold } from './agentHold.ts';
import type { CommandAnswer } from './commands.ts';
import { gatherAfter } from './gathering.ts';
import { keysOf, type InboxRow } from './inbox.ts';
import { putReply, sentenceOf, textOf } from './replies.ts';
import type { GatewayStore } from './store.ts';

export interface Turns {
  /** Takes up what an earlier incarnation had asked for, then whatever waits. */
  start(): void;
  /** A message was stored. */
  wake(): void;
  /** Messages that a pause holds back. */
  held(): number;
  /** Work that waits for an agent that cannot take it now. */
  waiting(): WaitingWork[];
  /** Lanes with a turn under way. */
  active(): string[];
  /** Starts no more turns and waits for the running ones until `signal` aborts. What is left stays in the inbox. */
  drain(signal: AbortSignal): Promise<void>;
}

export interface TurnsParts {
  context: WorkerContext;
  store: GatewayStore;
  agentOf(profile: string): Client;
  /** The longest pause between two lines of a platform that are one message; 0 = each is one. */
  gatherMs(platform: string): number;
  /** Answers a command that waited for the agent. Errors: those of the agent. */
  command(row: InboxRow): Promise<CommandAnswer>;
  /** Something was put into the outbox. */
  onAnswer(): void;
  /** Active lanes or held messages have changed. */
  onChange(): void;
}

export function createTurns(parts: TurnsParts): Turns {
  const { context, store, gatherMs, onChange } = parts;
  const { home, profile, log } = context;
  const running = new Map<string, Promise<void>>();
  let started = false;
  let draining = false;
  let waiting: Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  /** Messages up to this id were held by a pause and leave one by one. */
  let heldUpTo = 0;
  let nextReleaseAt = 0;

  const pause = (): void => {
    heldUpTo = store.inbox.newestReceived();
    onChange();
    if (waiting) return;
    log.info(`new turns are held: automation is paused by ${readPause(home, profile)?.path ?? home.estop}`);
    waiting = whenResumed(home, { scope: 'gateway', profile }, () => {
      waiting = undefined;
      log.info(`the pause is over: ${store.inbox.countReceived()} held message(s) are released`);
      wake();
      onChange();
    });
  };

  /** Pauses of other profiles that routes are bound to: each holds its own messages alone. */
  const bound = new Map<string, Disposable>();
  const heldProfiles = (): string[] => {
    const held = store.inbox.boundProfiles().filter((name) => isPaused(home, 'gateway', name));
    for (const name of held) {
      if (bound.has(name)) continue;
      const resumed = whenResumed(home, { scope: 'gateway', profile: name }, () => {
        bound.delete(name);
        wake();
        onChange();
      });
      bound.set(name, resumed);
    }
    return held;
  };

  const agents = createAgentHold(store, { own: profile, onReply: parts.onAnswer });
  const hold: LaneHold = {
    waits(row, wait) {
      try {
        agents.waits(row, wait);
      } catch (thrown) {
        // The store cannot be written: each lane keeps asking.
        store.failed(thrown);
      }
      onChange();
    },
    release(lane) {
      if (!agents.release(lane)) return;
      onChange();
      wake();
    },
  };

  const run = (row: InboxRow): void => {
    const done = answer(parts, hold, row)
      .then(() => true)
      .catch(async (thrown: unknown) => {
        log.error(`the answer to message ${row.id} could not be stored: ${messageOf(thrown)}; trying again`);
        store.failed(thrown);
        onChange();
        await sleep(limits.state.storeRetryMs, context.signal).catch(() => {});
        return false;
      })
      .then((closed) => {
        running.delete(row.lane);
        hold.release(row.lane);
        // Asking again is safe: the agent replays what it has answered.
        if (!closed && !draining) return run(row);
        onChange();
        wake();
      });
    running.set(row.lane, done);
    onChange();
  };

  /** At the earliest of the times asked for since the last wake. */
  const wakeIn = (ms: number): void => {
    const at = performance.now() + ms;
    if (at >= wakeAt) return;
    clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(wake, ms);
  };

  const wake = (): void => {
    clearTimeout(timer);
    wakeAt = Number.POSITIVE_INFINITY;
    if (!started || draining) return;
    try {
      startNext();
    } catch (thrown) {
      // A full disk or a locked store: what waits stays where it is.
      log.error(`waiting messages could not be started: ${messageOf(thrown)}; trying again`);
      store.failed(thrown);
      onChange();
      wakeIn(limits.state.storeRetryMs);
    }
  };

  const startNext = (): void => {
    /** Lanes whose next message may have more lines to come. */
    const gathering: string[] = [];
    // A lane that waits for its agent keeps no place from the others.
    while (running.size - agents.size < limits.gateway.turnsMax) {
      const row = store.inbox.nextReceived([...running.keys(), ...gathering], [...heldProfiles(), ...agents.profiles()], profile);
      if (!row) return;
      if (isPaused(home, 'gateway', profile)) return pause();
      const gathered = gatherAfter(store.inbox, row, { gatherMs: gatherMs(row.platform), nowMs: Date.now() });
      if (gathered.kind === 'open') {
        gathering.push(row.lane);
        wakeIn(gathered.waitMs);
        continue;
      }
      if (row.id <= heldUpTo) {
        const waitMs = nextReleaseAt - performance.now();
        if (waitMs > 0) return wakeIn(waitMs);
        nextReleaseAt = performance.now() + limits.gateway.releaseMs;
      }
      store.inbox.submit(row, gathered.lines);
      run(row);
    }
  };

  return {
    start() {
      started = true;
      // These were claimed before: a pause does not hold what runs already. One lane has one at most.
      for (const row of store.inbox.submitted()) run(row);
      wake();
    },
    wake,
    held: () => (waiting ? store.inbox.countReceived() : bound.size > 0 ? store.inbox.countReceivedOf([...bound.keys()]) : 0),
    waiting: agents.facts,
    active: () => [...running.keys()].filter((lane) => !agents.has(lane)),
    async drain(signal) {
      draining = true;
      clearTimeout(timer);
      waiting?.[Symbol.dispose]();
      for (const resumed of bound.values()) resumed[Symbol.dispose]();
      const over = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      // A lane that waits for its agent has nothing to finish.
      const busy = [...running].filter(([lane]) => !agents.has(lane)).map(([, done]) => done);
      await Promise.race([Promise.all(busy), over]);
    },
  };
}

type LaneHold = { waits: AgentHold['waits']; release(lane: string): void };

interface Closing {
  state: 'answered' | 'failed';
  text: string;
  error: string | null;
}

/** Asks the agent and stores the answer; leaves the row alone when this worker goes first. */
async function answer(parts: TurnsParts, hold: LaneHold, row: InboxRow): Promise<void> {
  const { context, store } = parts;
  const startedAt = performance.now();
  let closing: Closing | undefined;
  try {
    closing = row.kind === 'deferred' ? await commandOutcome(parts, hold, row) : await turnOutcome(parts, hold, row);
  } catch (thrown) {
    if (context.signal.aborted) return;
    context.log.warn(`message ${row.id} got no turn: ${messageOf(thrown)}`, { lane: row.lane });
    closing = { text: sentenceOf(thrown), state: 'failed', error: isAgentError(thrown) ? thrown.code : 'INTERNAL' };
  }
  if (closing === undefined) return;
  const { text, state, error } = closing;
  store.transact(() => {
    store.inbox.close(row.id, state, Date.now(), error);
    putReply(store, row, { key: keysOf(row).reply, text });
  });
  context.log.info(`message ${row.id} ${state}`, { lane: row.lane, took_ms: Math.round(performance.now() - startedAt) });
  parts.onAnswer();
}

async function turnOutcome(parts: TurnsParts, hold: LaneHold, row: InboxRow): Promise<Closing | undefined> {
  const profile = row.profile ?? parts.context.profile;
  const question = {
    session_key: row.session_key,
    text: parts.store.inbox.promptOf(row),
    idempotency_key: keysOf(row).turn,
    surface: 'gateway' as const,
    platform: row.platform,
    user: row.user,
    title: `${row.platform} ${row.chat}`,
    profile,
  };
  const outcome = await askTurn(parts.agentOf(profile), question, askingFor(parts, hold, row));
  return (
    outcome && {
      text: textOf(outcome),
      // Whoever stopped it by hand wants no answer; any other end without one is a failure.
      state: outcome.status === 'complete' || outcome.error === null ? 'answered' : 'failed',
      error: outcome.error?.code ?? null,
    }
  );
}

/** A command that the agent could not take when it came. One that asks for a turn becomes that message. */
async function commandOutcome(parts: TurnsParts, hold: LaneHold, row: InboxRow): Promise<Closing | undefined> {
  const { store, agentOf, context } = parts;
  const answered = await keepAsking(agentOf(context.profile), () => parts.command(row), askingFor(parts, hold, row));
  if (answered === undefined) return undefined;
  if (answered.prompt === null) return { text: answered.text, state: 'answered', error: null };
  store.transact(() => {
    store.inbox.turnIntoMessage(row.id, answered.prompt!);
    putReply(store, row, { key: `command:${row.id}`, text: answered.text });
  });
  parts.onAnswer();
  return undefined;
}

function askingFor({ context }: TurnsParts, hold: LaneHold, row: InboxRow): Asking {
  const given = new AbortController();
  return {
    leaving: AbortSignal.any([context.signal, given.signal]),
    socket: context.home.run.socket(profileSlot('agent', row.profile ?? context.profile)),
    onWaiting: (cause, sinceMs) => hold.waits(row, { cause, sinceMs, giveBack: () => given.abort() }),
    onTaken: () => hold.release(row.lane),
  };
}
