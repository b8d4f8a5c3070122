/**
 * Turns in progress and prompts in line. One turn a session, many sessions at once; a prompt is durable
 * before anybody hears that it was accepted, and every turn ends with a recorded outcome and one
 * `message.complete`. Knows nothing of sockets.
 */
import { titleOf } from '../../agent/title.ts';
import { turnError, type TurnEnd } from '../../agent/turn.ts';
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields } from '../../base/log.ts';
import { abortReason, deferred, isoTime, sleep, within, type Deferred } from '../../base/time.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import { untilStored } from '../../state/db/untilStored.ts';
import type { Attachment, Snapshot } from '../../ipc/contracts/rpcRecords.ts';
import { announceInfo, announceQueue, inflightOf, performTurn, type EngineParts, type Running } from './engine.ts';
import { isSamePrincipal, principalOfPrompt, surfaceOfPrompt } from './principal.ts';
import { completePayload, settleCutTurn } from './recover.ts';
import type { BusyMode, MessageRecord, NewPrompt, TurnCause } from './transcripts.ts';
import { recordTurn } from './usage.ts';

export type Accepted = { status: 'streaming' | 'queued' | 'steered'; messageId: number };

export class Turns {
  #parts: EngineParts;
  #running = new Map<string, Running>();
  /** Sessions with prompts that wait for a free place. */
  #waiting = new Set<string>();
  /** Sessions that something else has to itself: prompts wait until it is done. */
  #exclusive = new Map<string, Promise<unknown>>();
  /** Those who wait for the end of a prompt's turn. */
  #listeners = new Map<number, Deferred<void>>();
  /** Prompts that wait for a locked store, by session: the last of each. */
  #late = new Map<string, Promise<void>>();
  /** Turns whose end could not be stored yet. */
  #unstored = new Map<string, { error: Error; sinceMs: number }>();
  #retry: NodeJS.Timeout | undefined;
  #draining = false;
  /** Aborts when a drain is over: what could not be stored until then is left to the next start. */
  #left = new AbortController();

  constructor(parts: EngineParts) {
    this.#parts = parts;
  }

  // --- from outside ---

  /**
   * Stores a prompt and starts its turn; on a busy session it waits in line, joins the running turn or ends it. The same key
   * gives the same answer again.
   * `alongside` writes what must be true together with the prompt.
   * Errors: DRAINING, BUSY, BAD_REQUEST, DISK_FULL; nothing is stored then.
   */
  submit(prompt: NewPrompt, alongside?: (messageId: number) => void): Accepted {
    const { transcripts, events } = this.#parts;
    const { sessionId } = prompt;
    this.refuseWhenDraining();
    if (prompt.text.length > limits.turn.promptMaxChars) {
      throw new AgentError('BAD_REQUEST', `the prompt has ${prompt.text.length} characters; ${limits.turn.promptMaxChars} are accepted`, {
        field: 'text',
        fix: 'put long material into a file and name it',
      });
    }
    const known = prompt.idempotencyKey === undefined ? undefined : transcripts.promptByKey(sessionId, prompt.idempotencyKey);
    if (known) {
      if (known.content !== prompt.text) throw keyConflict();
      return { status: statusOf(known), messageId: known.id };
    }
    if (transcripts.queued(sessionId).length >= limits.turn.queueMax) {
      throw new AgentError('BUSY', `${limits.turn.queueMax} prompts wait in this session already`, {
        retryAfterMs: 5_000,
        fix: 'wait for the running turn, or interrupt it',
      });
    }
    const running = this.#running.get(sessionId);
    const busy = running ? (prompt.busy ?? this.busyMode()) : 'queue';
    const steer = busy === 'steer' && running !== undefined && takesSteer(running, prompt);
    const store = () => {
      const id = transcripts.addPrompt(prompt, { steer, first: busy === 'interrupt' });
      alongside?.(id);
      if (this.#canStart(sessionId)) return { messageId: id, started: this.#begin(sessionId, { waited: false }) };
      announceQueue(this.#parts, sessionId);
      return { messageId: id, started: undefined };
    };
    const { messageId, started } = this.#parts.store.durably(() => events.atomically(sessionId, store));
    if (started) this.#launch(started);
    else if (busy === 'interrupt') this.interrupt(sessionId);
    else if (!this.#running.has(sessionId)) this.#waiting.add(sessionId);
    return { status: started ? 'streaming' : steer ? 'steered' : 'queued', messageId };
  }

  /**
   * `submit`, tried again for a while when another program has locked the store; prompts of one session keep their order.
   * Errors: as `submit`.
   */
  submitPatiently(prompt: NewPrompt): Accepted | Promise<Accepted> {
    const before = this.#late.get(prompt.sessionId);
    const attempt = () => this.submit(prompt);
    if (!before) {
      try {
        return attempt();
      } catch (thrown) {
        if (!isLocked(thrown)) throw thrown;
      }
    }
    const accepted = (before ?? Promise.resolve()).then(() => this.#retryLocked(attempt));
    const settled = accepted.then(
      () => {},
      () => {},
    );
    this.#late.set(prompt.sessionId, settled);
    void settled.then(() => this.#late.get(prompt.sessionId) === settled && this.#late.delete(prompt.sessionId));
    return accepted;
  }

  async #retryLocked(attempt: () => Accepted): Promise<Accepted> {
    const deadlineMs = performance.now() + limits.state.promptRetryMs;
    for (;;) {
      try {
        return attempt();
      } catch (thrown) {
        if (!isLocked(thrown) || performance.now() > deadlineMs) throw thrown;
        // Between two tries the worker answers others.
        await sleep(limits.state.lockedPauseMs, this.#parts.context.signal);
      }
    }
  }

  /** `display.busy_input_mode`. */
  busyMode(): BusyMode {
    return this.#parts.context.config().config.display?.busy_input_mode ?? 'queue';
  }

  /** Work that has a session to itself: no turn begins until it is done. Errors: BUSY, DRAINING, those of the work. */
  async exclusively<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    this.refuseWhenDraining();
    if (this.isRunning(sessionId))
      throw new AgentError('BUSY', 'the session is working', { retryAfterMs: 1_000, fix: 'wait for it, or interrupt it' });
    const done = work();
    this.#exclusive.set(
      sessionId,
      done.catch(() => {}),
    );
    try {
      return await done;
    } finally {
      this.#exclusive.delete(sessionId);
      this.pump(sessionId);
    }
  }

  /** Starts what waits in a session, if it can. */
  pump(sessionId: string): void {
    if (!this.#canStart(sessionId)) {
      if (!this.#draining && !this.isRunning(sessionId)) this.#waiting.add(sessionId);
      return;
    }
    this.#waiting.delete(sessionId);
    try {
      const started = this.#parts.events.atomically(sessionId, () => this.#begin(sessionId, { waited: true }));
      if (started) this.#launch(started);
    } catch (thrown) {
      this.#waiting.add(sessionId);
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.#pumpWaiting();
      }, limits.state.storeRetryMs).unref();
      this.#parts.context.log.error('a waiting prompt could not be started', { session_id: sessionId, ...errorFields(thrown) });
    }
  }

  /** A prompt that cannot start goes back into the set: only those that wait now are tried. */
  #pumpWaiting(): void {
    for (const waiting of Array.from(this.#waiting)) this.pump(waiting);
  }

  /** Turns that are over and whose end waits for room on the disk. */
  held(): WaitingWork[] {
    const waits = [...this.#unstored.values()];
    const [first] = waits;
    if (!first) return [];
    const since = isoTime(Date.now() - (performance.now() - first.sinceMs));
    const code = isAgentError(first.error) ? first.error.code : 'INTERNAL';
    return [{ slot: 'state.db', held: waits.length, code, reason: first.error.message, since }];
  }

  /** Prompts that waited when the last worker ended. */
  resumeQueues(): void {
    for (const sessionId of this.#parts.transcripts.sessionsWithQueue()) this.pump(sessionId);
  }

  /** True when a turn was running. It ends at once; its tools are killed. */
  interrupt(sessionId: string, reason = new AgentError('CANCELLED', 'interrupted by the user')): boolean {
    const running = this.#running.get(sessionId);
    running?.controller.abort(reason);
    return running !== undefined;
  }

  /** Resolves when the prompt's turn has ended. Errors: DRAINING when the worker leaves first. */
  ended(messageId: number): Promise<void> {
    let listener = this.#listeners.get(messageId);
    if (!listener) this.#listeners.set(messageId, (listener = deferred<void>()));
    return listener.promise;
  }

  /** Its asker no longer wants this prompt: a running turn is interrupted, a waiting one leaves the line. */
  withdraw(messageId: number): void {
    const { transcripts, events } = this.#parts;
    const prompt = transcripts.message(messageId);
    if (!prompt) return;
    if (this.runs(messageId)) return void this.interrupt(prompt.session_id, new AgentError('CANCELLED', 'withdrawn by its asker'));
    if (prompt.position !== null) return;
    events.atomically(prompt.session_id, () => {
      transcripts.withdraw(prompt);
      announceQueue(this.#parts, prompt.session_id);
    });
    this.#tellListeners(messageId);
  }

  isRunning(sessionId: string): boolean {
    return this.#running.has(sessionId) || this.#exclusive.has(sessionId);
  }

  /** Whether this prompt's turn runs right now. */
  runs(messageId: number): boolean {
    return [...this.#running.values()].some((running) => running.prompt.id === messageId);
  }

  inflight(sessionId: string): Snapshot['inflight'] {
    const running = this.#running.get(sessionId);
    return running ? inflightOf(running) : null;
  }

  /** For `worker.report`. */
  active(): string[] {
    const turns = [...this.#running.values()].map(({ session, id }) => `turn ${id} of ${session.id}`);
    return [...turns, ...[...this.#exclusive.keys()].map((id) => `compression of ${id}`)];
  }

  refuseWhenDraining(): void {
    if (this.#draining)
      throw new AgentError('DRAINING', 'the agent worker is on its way out and takes no new prompts', {
        retryAfterMs: 1_000,
        fix: 'send it again in a moment',
      });
  }

  /** Running turns go on until the signal; then they are interrupted. Waiting prompts stay for the next worker. */
  async drain(signal: AbortSignal): Promise<{ interrupted: number }> {
    this.#draining = true;
    const leaving = new AgentError('DRAINING', 'the agent worker was restarted while it answered', { fix: 'send the message again' });
    // A person may take hours: who waits for one is not waited for.
    for (const running of this.#running.values()) if (this.#parts.requests.holdsUp(running.session.id)) running.controller.abort(leaving);
    const all = Promise.all([...[...this.#running.values()].map((running) => running.ended.promise), ...this.#exclusive.values()]);
    const outOfTime = Promise.withResolvers<void>();
    signal.addEventListener('abort', () => outOfTime.resolve(), { once: true });
    if (signal.aborted) outOfTime.resolve();
    await Promise.race([all, outOfTime.promise]);
    const late = [...this.#running.values()];
    for (const running of late) running.controller.abort(leaving);
    await within(all, { ms: limits.turn.toolStopMs, what: 'interrupting turns' }).catch(() => {});
    clearTimeout(this.#retry);
    this.#left.abort();
    await within(all, { ms: limits.state.storeRetryMs, what: 'storing the ends of turns' }).catch(() => {});
    for (const listener of this.#listeners.values()) listener.reject(leaving);
    this.#listeners.clear();
    return { interrupted: late.length };
  }

  /** The store refused an event: the turn cannot go on without losing text. */
  storeFailed(sessionId: string, thrown: unknown): void {
    const reason = isAgentError(thrown) ? thrown : new AgentError('INTERNAL', 'an event could not be stored', { cause: thrown });
    this.interrupt(sessionId, reason);
  }

  /** Old events are about to go: the text that only they hold is saved in its row. */
  saveProgress(sessionId: string, seq: number): void {
    const running = this.#running.get(sessionId);
    if (running && (running.text || running.reasoning))
      this.#parts.transcripts.saveProgress(running.messageId, { text: running.text, reasoning: running.reasoning, seq });
  }

  // --- the life of a turn ---

  #canStart(sessionId: string): boolean {
    return !this.#draining && !this.isRunning(sessionId) && this.#running.size < limits.turn.parallelMax;
  }

  /** Inside a transaction: the first prompt in line becomes a running turn. */
  #begin(sessionId: string, { waited }: { waited: boolean }): Running | undefined {
    const { store, transcripts, events } = this.#parts;
    const prompt = transcripts.queued(sessionId)[0];
    if (!prompt) return undefined;
    for (const stale of transcripts.runningTurns(sessionId)) {
      settleCutTurn({ ...this.#parts, log: this.#parts.context.log }, stale, {
        code: 'DISK_FULL',
        message: 'the end of this turn could not be stored',
        fix: null,
      });
    }
    this.#parts.notes.place(sessionId);
    const id = transcripts.startTurn(prompt);
    const emit = (type: string, payload: Record<string, unknown>) => events.emit(sessionId, id, type, payload);
    emit('prompt.accepted', {
      message_id: prompt.id,
      text: prompt.content,
      surface: prompt.surface ?? 'other',
      ...(prompt.attachments ? { attachments: JSON.parse(prompt.attachments) as Attachment[] } : {}),
    });
    if (waited) announceQueue(this.#parts, sessionId);
    let session = store.session(sessionId)!;
    const title = session.title === null ? titleOf(prompt.content) : undefined;
    if (title) {
      store.setTitle(sessionId, title);
      emit('session.title', { session_id: sessionId, title });
      session = { ...session, title };
    }
    const surface = surfaceOfPrompt(session, prompt);
    return {
      id,
      session,
      prompt,
      surface,
      controller: new AbortController(),
      startedAt: Date.now(),
      messageId: 0,
      text: '',
      reasoning: '',
      tools: new Map(),
      left: [],
      ended: deferred<void>(),
    };
  }

  #launch(running: Running): void {
    this.#running.set(running.session.id, running);
    void this.#perform(running);
  }

  async #perform(running: Running): Promise<void> {
    const { context, events } = this.#parts;
    const { session, controller } = running;
    let end: TurnEnd;
    try {
      end = await performTurn(this.#parts, running);
    } catch (thrown) {
      if (!isAgentError(thrown)) context.log.error('a turn failed', { session_id: session.id, ...errorFields(thrown) });
      const status = controller.signal.aborted ? 'interrupted' : 'error';
      const error = controller.signal.aborted && causeOf(controller.signal) === 'user' ? null : turnError(thrown);
      end = { status, messageId: null, text: running.text, error, usage: null, modelCalls: 0, toolCalls: 0 };
    }
    await this.#finish(running, end);
    if (running.left.length > 0)
      await within(Promise.allSettled(running.left), { ms: limits.turn.toolStopMs, what: 'stopping tools' }).catch(() => {});
    this.#running.delete(session.id);
    running.ended.resolve();
    this.#tellListeners(running.prompt.id);
    announceInfo(this.#parts, running, false);
    events.broadcast('sessions.changed');
    this.pump(session.id);
    this.#pumpWaiting();
    if (!this.#running.has(session.id)) events.rest(session.id);
  }

  /**
   * Row, outcome and last event, together, as soon as the store takes them: until then the turn counts as running. When the
   * worker exits first, the next start settles it.
   */
  async #finish(running: Running, given: TurnEnd): Promise<void> {
    const { context, store, transcripts, events, notes } = this.#parts;
    const { id, session, startedAt, controller } = running;
    let end = given;
    const durationMs = Date.now() - startedAt;
    const payload = () => completePayload(end, durationMs);
    const cause = end.status === 'interrupted' ? causeOf(controller.signal) : null;
    const write = () =>
      events.atomically(session.id, () => {
        end = given.messageId === null ? { ...given, messageId: this.#closeOpenRow(running, given.status) } : given;
        transcripts.finishTurn(id, end, cause);
        notes.place(session.id);
        events.emit(session.id, id, 'session.usage', { usage: recordTurn(store, session.id, end) });
        events.emit(session.id, id, 'message.complete', payload());
        events.turnEnded(session.id, id);
      });
    try {
      await untilStored(write, {
        path: store.path,
        signal: this.#left.signal,
        onWaiting: (error) => {
          context.log.error('the end of a turn waits for its store', { session_id: session.id, turn: id, ...errorFields(error) });
          this.#unstored.set(session.id, { error, sinceMs: performance.now() });
          context.reportFacts({ waiting: this.held() });
          events.tell(session.id, 'notice', {
            level: 'error',
            text: `The turn is over, but its end cannot be stored yet: ${error.message}`,
          });
        },
      });
      context.log.info('turn ended', {
        session_id: session.id,
        turn: id,
        status: end.status,
        model_calls: end.modelCalls,
        tool_calls: end.toolCalls,
        ...(end.error ? { code: end.error.code } : {}),
      });
    } catch (thrown) {
      context.log.error('the end of a turn could not be stored', { session_id: session.id, turn: id, ...errorFields(thrown) });
      events.tell(session.id, 'message.complete', { ...payload(), status: 'error', error: turnError(thrown) });
    } finally {
      if (this.#unstored.delete(session.id)) context.reportFacts({ waiting: this.held() });
    }
  }

  /** Every turn leaves an assistant row that says how it ended, also one that failed before its first word. */
  #closeOpenRow({ id, session, text, reasoning }: Running, finishReason: string): number {
    const { transcripts } = this.#parts;
    const open = transcripts.rowsOfTurn(id).findLast((row) => row.role === 'assistant' && row.finish_reason === null);
    const messageId = open?.id ?? transcripts.openAssistant(session.id, id);
    transcripts.closeAssistant(messageId, { text, reasoning, toolCalls: [], finishReason });
    return messageId;
  }

  #tellListeners(messageId: number): void {
    this.#listeners.get(messageId)?.resolve();
    this.#listeners.delete(messageId);
  }
}

/** A file cannot join a running turn, an aborted turn takes no text, and no one adds to a turn that acts for another principal. */
function takesSteer({ session, prompt, controller }: Running, { surface, attachments }: NewPrompt): boolean {
  if (attachments?.length || controller.signal.aborted) return false;
  return isSamePrincipal(principalOfPrompt(session, prompt), principalOfPrompt(session, { surface }));
}

function statusOf({ position, kind }: MessageRecord): Accepted['status'] {
  if (kind === 'steer') return 'steered';
  return position === null ? 'queued' : 'streaming';
}

const isLocked = (thrown: unknown): boolean => isAgentError(thrown) && thrown.code === 'STORE_BUSY';

const keyConflict = (): AgentError =>
  new AgentError('KEY_REUSED', 'this idempotency_key was used for a prompt with another text; nothing was stored', {
    field: 'idempotency_key',
    fix: 'use a new key for a new prompt',
  });

function causeOf(signal: AbortSignal): TurnCause {
  const reason = abortReason(signal);
  const code = isAgentError(reason) ? reason.code : '';
  return code === 'CANCELLED' || code === 'NOT_ANSWERED' ? 'user' : code === 'DRAINING' ? 'drain' : 'store';
}
