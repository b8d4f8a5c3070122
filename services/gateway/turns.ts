/**
 * From a stored message to its answer: one turn at a time per conversation, several conversations at
 * once, none while the gateway is paused. The agent is asked under the key `gateway:<inbox id>`, so a
 * kill between receipt and answer costs neither the answer nor a second turn.
 */
import { isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { askTurn } from '../../ipc/askTurn.ts';
import type { Client } from '../../ipc/client.ts';
import type { TurnOutcome } from '../../ipc/contracts/agent.ts';
import { isPaused, readPause } from '../../state/pause.ts';
import { whenResumed } from '../../state/pauseWatch.ts';
import type { WorkerContext } from '../worker.ts';
import type { InboxRow } from './inbox.ts';
import type { GatewayStore } from './store.ts';

export interface Turns {
  /** Takes up what an earlier incarnation had asked for, then whatever waits. */
  start(): void;
  /** A message was stored. */
  wake(): void;
  /** Messages that a pause holds back. */
  held(): number;
  /** Lanes with a turn under way. */
  active(): string[];
  /** Starts no more turns and waits for the running ones until `signal` aborts. What is left stays in the inbox. */
  drain(signal: AbortSignal): Promise<void>;
}

export interface TurnsParts {
  context: WorkerContext;
  store: GatewayStore;
  agentOf(profile: string): Client;
  /** Something was put into the outbox. */
  onAnswer(): void;
  /** Active lanes or held messages have changed. */
  onChange(): void;
}

export function createTurns(parts: TurnsParts): Turns {
  const { context, store, onChange } = parts;
  const { home, profile, log } = context;
  const running = new Map<string, Promise<void>>();
  let started = false;
  let draining = false;
  let waiting: Disposable | undefined;
  let timer: NodeJS.Timeout | undefined;
  /** Messages up to this id were held by a pause and leave one by one. */
  let heldUpTo = 0;
  let nextReleaseAt = 0;

  const hold = (): void => {
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

  const run = (row: InboxRow): void => {
    const done = answer(parts, row)
      .then(() => true)
      .catch(async (thrown: unknown) => {
        log.error(`the answer to message ${row.id} could not be stored: ${messageOf(thrown)}; trying again`);
        store.failed(thrown);
        onChange();
        await sleep(limits.gateway.turnRetryMaxMs, context.signal).catch(() => {});
        return false;
      })
      .then((closed) => {
        running.delete(row.lane);
        // Asking again is safe: the agent replays what it has answered.
        if (!closed && !draining) return run(row);
        onChange();
        wake();
      });
    running.set(row.lane, done);
    onChange();
  };

  const wake = (): void => {
    clearTimeout(timer);
    if (!started) return;
    while (!draining && running.size < limits.gateway.turnsMax) {
      const row = store.inbox.nextReceived([...running.keys()], heldProfiles());
      if (!row) return;
      if (isPaused(home, 'gateway', profile)) return hold();
      if (row.id <= heldUpTo) {
        const waitMs = nextReleaseAt - performance.now();
        if (waitMs > 0) return void (timer = setTimeout(wake, waitMs));
        nextReleaseAt = performance.now() + limits.gateway.releaseMs;
      }
      store.inbox.markSubmitted(row.id);
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
    active: () => [...running.keys()],
    async drain(signal) {
      draining = true;
      clearTimeout(timer);
      waiting?.[Symbol.dispose]();
      for (const resumed of bound.values()) resumed[Symbol.dispose]();
      const over = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      await Promise.race([Promise.all(running.values()), over]);
    },
  };
}

/** Asks the agent and stores the answer; leaves the row alone when this worker goes first. */
async function answer(parts: TurnsParts, row: InboxRow): Promise<void> {
  const { context, store } = parts;
  const startedAt = performance.now();
  let reply: { text: string; state: 'answered' | 'failed'; error: string | null };
  try {
    const outcome = await ask(parts, row);
    if (outcome === undefined) return;
    reply = { text: textOf(outcome), state: outcome.status === 'error' ? 'failed' : 'answered', error: outcome.error?.code ?? null };
  } catch (thrown) {
    if (context.signal.aborted) return;
    context.log.warn(`message ${row.id} got no turn: ${messageOf(thrown)}`, { lane: row.lane });
    reply = { text: sentenceOf(thrown), state: 'failed', error: isAgentError(thrown) ? thrown.code : 'INTERNAL' };
  }
  store.transact(() => {
    store.inbox.close(row.id, reply.state, Date.now(), reply.error);
    putReply(store, row, { key: `inbox:${row.id}`, text: reply.text });
  });
  context.log.info(`message ${row.id} ${reply.state}`, { lane: row.lane, took_ms: Math.round(performance.now() - startedAt) });
  parts.onAnswer();
}

function ask(parts: TurnsParts, row: InboxRow): Promise<TurnOutcome | undefined> {
  const { context, store, agentOf, onAnswer } = parts;
  const profile = row.profile ?? context.profile;
  const question = {
    session_key: row.session_key,
    text: row.text,
    idempotency_key: `gateway:${row.id}`,
    surface: 'gateway' as const,
    platform: row.platform,
    user: row.user,
    title: `${row.platform} ${row.chat}`,
    profile,
  };
  return askTurn(agentOf(profile), question, {
    leaving: context.signal,
    patienceMs: limits.gateway.deliveryFreshMs,
    onWaiting() {
      putReply(store, row, {
        key: `wait:${row.id}`,
        text: 'The agent cannot be reached at the moment; your message is kept and will be answered.',
      });
      onAnswer();
    },
  });
}

/** Puts a text for the sender of a message into the outbox, once per key; nothing when no answer is wanted. */
export function putReply(store: GatewayStore, row: InboxRow, { key, text }: { key: string; text: string }): void {
  if (row.reply_platform === null || row.reply_chat === null || text === '') return;
  store.outbox.enqueue(
    { idempotency_key: key, platform: row.reply_platform, chat: row.reply_chat, thread: row.reply_thread, text, origin: 'gateway' },
    Date.now(),
  );
}

function textOf({ status, text, error }: TurnOutcome): string {
  const said = text.trim();
  if (status === 'complete') return said || '(the agent has nothing to say)';
  if (status === 'interrupted') return said ? `${said}\n(stopped)` : '(stopped)';
  const sentence = sentenceOf(error ?? new Error('unknown'));
  return said ? `${said}\n${sentence}` : sentence;
}

/** One sentence for a person in a chat: what went wrong and what helps; never a stack. */
export function sentenceOf(problem: unknown): string {
  const { code, message, fix } = problem as { code?: string; message: string; fix?: string | null };
  if (code === undefined || code === 'INTERNAL') return 'Sorry, something went wrong inside the service; its log has the details.';
  const line = message.split('\n')[0]!.slice(0, SENTENCE_MAX_CHARS);
  return `Sorry, that did not work: ${line}${fix ? ` (${fix.split('\n')[0]!.slice(0, SENTENCE_MAX_CHARS)})` : ''}`;
}

const SENTENCE_MAX_CHARS = 300;
