/**
 * `/btw`: a question beside a conversation. One call of the auxiliary model over the transcript as it
 * stands, without tools; history, the provider's cache and a running turn are not touched.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { sortableId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, within } from '../../base/time.ts';
import type { Model, ModelMessage } from '../../agent/ports.ts';
import type { WorkerContext } from '../worker.ts';
import { beginAside, endAside, openQuestions } from './asides.ts';
import type { EventLog } from './events.ts';
import type { ModelDesk } from './models.ts';
import type { SessionRecord, Store } from './store.ts';
import type { Transcripts } from './transcripts.ts';
import type { Turns } from './turns.ts';

export interface SideParts {
  context: WorkerContext;
  store: Store;
  transcripts: Transcripts;
  events: EventLog;
  turns: Turns;
  desk: ModelDesk & { auxiliary?: (task: string, session: SessionRecord) => Promise<Model> };
}

interface Asked {
  sessionId: string;
  controller: AbortController;
  answer: Promise<string>;
}

const INSTRUCTIONS =
  'You answer a side question about the conversation that follows. Answer it directly and briefly from what is there and from what you know. You have no tools, and nothing of this becomes part of the conversation. If it cannot be answered that way, say so.';

export class SideQuestions {
  #parts: SideParts;
  #asked = new Map<string, Asked>();
  #leaving = false;

  constructor(parts: SideParts) {
    this.#parts = parts;
  }

  /** The answer comes as `btw.complete`. Errors: BUSY when too many are under way, DRAINING, those of the store. */
  ask(session: SessionRecord, question: string): string {
    if (this.#leaving)
      throw new AgentError('DRAINING', 'the agent worker is on its way out', { retryAfterMs: 1_000, fix: 'ask again in a moment' });
    const ofSession = [...this.#asked.values()].filter(({ sessionId }) => sessionId === session.id).length;
    if (ofSession >= limits.side.perSessionMax || this.#asked.size >= limits.side.allMax)
      throw new AgentError('BUSY', `${this.#asked.size} side questions are being answered already`, {
        retryAfterMs: 2_000,
        fix: 'wait for one of them',
      });
    const taskId = sortableId('btw');
    // On record before it is accepted: whoever asks again after a crash sees what became of it.
    const { store } = this.#parts;
    store.transaction(() => beginAside(store, { sessionId: session.id, taskId, kind: 'btw', question }));
    const controller = new AbortController();
    const answer = this.#answer(session, question, controller.signal);
    this.#asked.set(taskId, { sessionId: session.id, controller, answer });
    void this.#settle(session.id, { taskId, question, answer });
    return taskId;
  }

  /** For surfaces that hear no events. Errors: those of the model. */
  answerOf(taskId: string): Promise<string> | null {
    return this.#asked.get(taskId)?.answer ?? null;
  }

  active(): string[] {
    return [...this.#asked.entries()].map(([id, { sessionId }]) => `side question ${id} of ${sessionId}`);
  }

  /** At start: what the last worker was asked and could not answer. It is not asked again by itself: it cost money once. */
  settleCut(): void {
    for (const cut of openQuestions(this.#parts.store)) this.#tell(cut, { text: '', error: CUT });
  }

  /** Ends all of them with an error event. */
  async leave(): Promise<void> {
    this.#leaving = true;
    const all = [...this.#asked.values()];
    for (const { controller } of all) controller.abort(new AgentError('DRAINING', 'the agent worker was restarted', { fix: 'ask again' }));
    await Promise.allSettled(all.map(({ answer }) => answer));
  }

  async #answer(session: SessionRecord, question: string, signal: AbortSignal): Promise<string> {
    const { desk, turns } = this.#parts;
    const open = desk.auxiliary ? desk.auxiliary('btw', session) : desk.open(session);
    const limit = { ms: limits.side.answerMs, signal, what: 'the answer to a side question' };
    const model = await within(open, limit);
    const ended = AbortSignal.any([signal, AbortSignal.timeout(limits.side.answerMs)]);
    let text = '';
    const snapshot = this.#snapshot(session, model, turns.inflight(session.id)?.text ?? '');
    const messages: ModelMessage[] = [...snapshot, { role: 'user', content: question }];
    for await (const chunk of model.stream({ system: INSTRUCTIONS, messages, tools: [], signal: ended })) {
      if (chunk.type === 'text') text += chunk.text;
      if (text.length > limits.side.answerMaxChars) break;
    }
    if (signal.aborted) throw abortReason(signal);
    if (!text.trim()) throw new AgentError('PROVIDER_FAILED', 'the model said nothing', { fix: 'ask again' });
    return text.slice(0, limits.side.answerMaxChars);
  }

  /** As plain talk: without tools in the request, calls and results of tools may not stand in it. The newest part, when all is too much. */
  #snapshot(session: SessionRecord, model: Model, inflight: string): ModelMessage[] {
    const charsMax = model.contextWindow === null ? limits.side.snapshotMaxChars : model.contextWindow * CHARS_PER_TOKEN_KEPT;
    const told = this.#parts.transcripts.modelMessages(session.id, { withAuthors: !model.scripted }).map(plain);
    if (inflight) told.push({ role: 'assistant', content: inflight, toolCalls: [] });
    let chars = 0;
    const from = told.findLastIndex(({ content }) => (chars += content.length) > charsMax) + 1;
    return told.slice(from).filter(({ content }) => content !== '');
  }

  async #settle(
    sessionId: string,
    { taskId, question, answer }: { taskId: string; question: string; answer: Promise<string> },
  ): Promise<void> {
    const said = await answer.then(
      (text) => ({ text, error: null }),
      (thrown: unknown) => ({ text: '', error: sentence(thrown) }),
    );
    this.#asked.delete(taskId);
    this.#tell({ sessionId, taskId, question }, said);
  }

  /** The record first, and with it the event; where the store refuses, followers hear it all the same. */
  #tell(
    { sessionId, taskId, question }: { sessionId: string; taskId: string; question: string },
    { text, error }: { text: string; error: string | null },
  ): void {
    const { store, events, context } = this.#parts;
    const payload = { task_id: taskId, question, text, error };
    try {
      // Its session was deleted meanwhile, and with it all that was said in it.
      if (!store.session(sessionId)) return;
      events.atomically(sessionId, () => {
        const end = { text, error, status: error === null ? ('complete' as const) : ('error' as const) };
        const aside_id = endAside(store, { sessionId, taskId, kind: 'btw', question }, end);
        events.emit(sessionId, null, 'btw.complete', { aside_id, ...payload });
      });
    } catch (thrown) {
      context.log.warn(`the answer to a side question could not be stored: ${messageOf(thrown)}`, { session_id: sessionId });
      events.tell(sessionId, 'btw.complete', { aside_id: 0, ...payload });
    }
  }
}

const CUT = 'TURN_CUT: the agent worker ended before this was answered — ask again';

/** Half of the window at four characters a token: the answer and the question need room too. */
const CHARS_PER_TOKEN_KEPT = 2;
const RESULT_MAX_CHARS = 2_000;

function plain(message: ModelMessage): ModelMessage {
  if (message.role === 'tool') {
    const said = message.content.length > RESULT_MAX_CHARS ? `${message.content.slice(0, RESULT_MAX_CHARS)}…` : message.content;
    return { role: 'assistant', content: `[${message.toolName} ${message.isError ? 'failed' : 'returned'}: ${said}]`, toolCalls: [] };
  }
  if (message.role !== 'assistant') return message;
  const calls = message.toolCalls.map(({ name, args }) => `[called ${name} ${JSON.stringify(args).slice(0, 300)}]`);
  return { role: 'assistant', content: [message.content, ...calls].filter(Boolean).join('\n'), toolCalls: [] };
}

const sentence = (thrown: unknown): string =>
  isAgentError(thrown) ? `${thrown.code}: ${thrown.message}${thrown.fix ? ` — ${thrown.fix}` : ''}` : messageOf(thrown);
