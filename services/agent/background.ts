/**
 * `/bg`: work in an independent hidden session. Which session asked for which stands in the store until
 * the result has been told, so neither a surface that leaves nor a restart of the worker loses it.
 */
import { encodePrincipal } from '../../agent/authority/principal.ts';
import { AgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { enqueueDelivery } from '../../ipc/contracts/gateway.ts';
import { keepAsking } from '../../ipc/keepAsking.ts';
import { profileSlot } from '../../state/home.ts';
import type { WorkerContext } from '../worker.ts';
import { beginAside, endAside } from './asides.ts';
import type { EventLog } from './events.ts';
import { principalOfTurn } from './principal.ts';
import type { SessionRecord, Store } from './store.ts';
import { originOf } from './toolbox.ts';
import { turnErrorOf, type Transcripts } from './transcripts.ts';
import type { Turns } from './turns.ts';

export interface BackgroundParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  turns: Turns;
}

/** Rows of state_meta: `background:<child>` → `{asked_by, message_id}`. */
const PREFIX = 'background:';
/** Rows of state_meta: a `Result` that the gateway has not accepted yet. */
const RESULT = 'background-result:';

interface Task {
  child: string;
  askedBy: string;
  messageId: number;
}

interface Result {
  child: string;
  target: string;
  text: string;
  /** When the work ended, epoch milliseconds. */
  at: number;
}

export class Background {
  #parts: BackgroundParts;

  constructor(parts: BackgroundParts) {
    this.#parts = parts;
  }

  /** Errors: BUSY when too many work already, those of a new session and of a prompt. */
  start(session: SessionRecord, { text, surface }: { text: string; surface: string }): { taskId: string; sessionId: string } {
    const { store, turns } = this.#parts;
    turns.refuseWhenDraining();
    const open = this.#open();
    if (open.length >= limits.side.backgroundMax)
      throw new AgentError('BUSY', `${open.length} background sessions work already`, {
        retryAfterMs: 30_000,
        fix: 'wait for one of them',
      });
    const task = store.transaction(() => {
      const child = store.createSession({
        source: session.source,
        title: `Background: ${text.replaceAll(/\s+/g, ' ').slice(0, 60)}`,
        model: session.model ?? undefined,
        provider: session.provider ?? undefined,
        cwd: session.cwd,
        principal: encodePrincipal(principalOfTurn(session, surface)),
      });
      store.run(
        'UPDATE sessions SET hidden = 1, parent_session_id = ?, platform = ?, safe_mode = ?, reasoning_effort = ? WHERE id = ?',
        session.id,
        session.platform,
        session.safe_mode,
        session.reasoning_effort,
        child.id,
      );
      return { child: child.id, askedBy: session.id };
    });
    const { messageId } = turns.submit({ sessionId: task.child, text, surface }, (id) => {
      store.run(
        'INSERT INTO state_meta (key, value) VALUES (?, ?)',
        PREFIX + task.child,
        JSON.stringify({ asked_by: task.askedBy, message_id: id }),
      );
      beginAside(store, { sessionId: task.askedBy, taskId: task.child, kind: 'background', question: text });
    });
    void this.#follow({ ...task, messageId });
    return { taskId: task.child, sessionId: task.child };
  }

  /** At start: those of the last worker. */
  resume(): void {
    for (const task of this.#open()) void this.#follow(task);
    const results = this.#parts.store.all<{ value: string }>('SELECT value FROM state_meta WHERE key GLOB ?', `${RESULT}*`);
    for (const { value } of results) void this.#deliver(JSON.parse(value) as Result);
  }

  #open(): Task[] {
    return this.#parts.store
      .all<{ key: string; value: string }>("SELECT key, value FROM state_meta WHERE key LIKE 'background:%'")
      .map(({ key, value }) => {
        const { asked_by, message_id } = JSON.parse(value) as { asked_by: string; message_id: number };
        return { child: key.slice(PREFIX.length), askedBy: asked_by, messageId: message_id };
      });
  }

  async #follow(task: Task): Promise<void> {
    const { context, transcripts, turns } = this.#parts;
    try {
      while (transcripts.message(task.messageId)?.position === null || turns.runs(task.messageId)) await turns.ended(task.messageId);
      this.#tell(task);
    } catch (thrown) {
      // The worker is leaving, or the store is full: the next start takes it up again.
      context.log.info(`the result of a background session is kept for later: ${messageOf(thrown)}`, { session_id: task.child });
    }
  }

  #tell({ child, askedBy, messageId }: Task): void {
    const { store, events, transcripts } = this.#parts;
    const turn = transcripts.lastTurnOf(messageId);
    const error = turn ? turnErrorOf(turn) : null;
    const status = !turn || turn.status === 'running' ? 'error' : turn.status;
    const text = [turn?.text ?? '', error ? `${error.code}: ${error.message}` : ''].filter(Boolean).join('\n');
    const asker = store.session(askedBy);
    const done = () => store.run('DELETE FROM state_meta WHERE key = ?', PREFIX + child);
    if (!asker) return void done();
    const question = transcripts.message(messageId)?.content ?? '';
    // A chat of the gateway receives no events.
    const target = originOf(asker);
    const reply = status === 'complete' ? text || '(nothing to say)' : `${text}\n(${status})`;
    const result: Result | null = target === null ? null : { child, target, text: reply, at: Date.now() };
    events.atomically(askedBy, () => {
      const aside = { sessionId: askedBy, taskId: child, kind: 'background' as const, question };
      const aside_id = endAside(store, aside, { text, error: null, status });
      events.emit(askedBy, null, 'background.complete', { aside_id, task_id: child, session_id: child, question, text, status });
      if (result) store.run('INSERT OR REPLACE INTO state_meta (key, value) VALUES (?, ?)', RESULT + child, JSON.stringify(result));
      done();
    });
    events.broadcast('sessions.changed');
    if (result) void this.#deliver(result);
  }

  /** Offers a result to the gateway until it is accepted there, at most for a day; it stays on record until then. */
  async #deliver({ child, target, text, at }: Result): Promise<void> {
    const { context, store } = this.#parts;
    const slot = profileSlot('gateway', context.profile);
    const gateway = context.peer(slot);
    const message = { target, text, idempotency_key: `background:${child}`, origin: 'background' };
    const expired = AbortSignal.timeout(Math.max(0, at + limits.gateway.deliveryFreshMs - Date.now()));
    const asking = { leaving: context.signal, cancel: expired, socket: context.home.run.socket(slot) };
    try {
      if ((await keepAsking(gateway, () => gateway.call(enqueueDelivery, message), asking)) === undefined) return;
    } catch (thrown) {
      context.log.warn('the result of a background session could not be delivered', { session_id: child, ...errorFields(thrown) });
    }
    try {
      store.run('DELETE FROM state_meta WHERE key = ?', RESULT + child);
    } catch (thrown) {
      context.log.warn(`the result of a background session is offered again later: ${messageOf(thrown)}`, { session_id: child });
    }
  }
}
