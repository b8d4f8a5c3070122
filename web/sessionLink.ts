/**
 * One session of this tab: kept up to date by numbered events, its prompts sent again with the same key until the
 * service says that they are stored, its open questions shown and answered.
 */
import type { AttachmentInput } from '../ipc/contracts/rpc.ts';
import type { EventParams } from '../ipc/contracts/rpcEvents.ts';
import type { OpenRequest } from '../ipc/contracts/rpcRequests.ts';
import { CallError, failureOf, type Failed } from './callError.ts';
import { fromSnapshot, withOlder } from './chat/snapshot.ts';
import { applyEvent, withRequest, type Transcript } from './chat/transcript.ts';
import type { Connection } from './connection.ts';
import { Observable } from './observable.ts';
import { readOutgoing, writeOutgoing } from './outgoing.ts';
import type { BusyMode, Echo, Outgoing, SessionState } from './sessionState.ts';

/** Bursts of events become one drawing, also where nobody looks. */
const HIDDEN_DRAW_MS = 250;
/** Rows asked for at a time when a reader goes back: a few screens. */
const PAGE_ROWS = 200;
/** A session that was not answered for, while the line stands, is asked for again. */
const ATTACH_AGAIN_MS = 1_000;
/** A prompt with files is stored when their bytes are on disk. */
const FILES_LIMIT_MS = 120_000;

export interface Prompt {
  text: string;
  files?: readonly AttachmentInput[];
  /** What a busy session does with it; undefined = as configured. */
  busy?: BusyMode | undefined;
}

export class SessionLink {
  readonly id: string;
  readonly state: Observable<SessionState>;
  #connection: Connection;
  #transcript: Transcript | null = null;
  #outgoing: Outgoing[];
  #files = new Map<string, readonly AttachmentInput[]>();
  #echoes: Echo[] = [];
  #failure: Failed | null = null;
  /** Events that came before those they follow. */
  #early: EventParams[] = [];
  #attaching: Promise<void> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;
  #paging = false;
  #drawing = false;

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.id = id;
    this.#outgoing = readOutgoing(id);
    this.state = new Observable<SessionState>({ transcript: null, outgoing: this.#outgoing, echoes: [], failure: null });
  }

  // --- up to date ---

  /** Brings the session up to date and follows it; then sends what has not been acknowledged. */
  async attach(): Promise<void> {
    if (this.#attaching) return this.#attaching.catch(() => {});
    this.#attaching = this.#catchUp().finally(() => (this.#attaching = undefined));
    try {
      await this.#attaching;
      this.#failure = null;
    } catch (thrown) {
      // A loss on the way is followed by another `gateway.ready`, which attaches again; a refusal for the moment by nothing.
      if (thrown instanceof CallError && thrown.retry) return this.#attachSoon();
      this.#failure = failureOf(thrown);
    }
    this.#draw();
    for (const prompt of this.#outgoing) if (prompt.messageId === null && !prompt.failure) void this.#send(prompt);
    if (this.#failure === null && this.#transcript?.stale) void this.attach();
  }

  #attachSoon(): void {
    if (this.#again !== undefined) return;
    this.#again = setTimeout(() => {
      this.#again = undefined;
      if (this.#connection.state.get().phase === 'ready') void this.attach();
    }, ATTACH_AGAIN_MS);
  }

  /** An event of this session, possibly out of order, possibly for the second time. */
  receive(event: EventParams): void {
    if (!this.#transcript || this.#attaching) return void this.#early.push(event);
    if (event.seq !== null && event.seq > this.#transcript.seq + 1) {
      this.#early.push(event);
      return void this.attach();
    }
    this.#apply([event]);
    if (this.#transcript.stale) void this.attach();
  }

  /** Reads the page before the first row that is known. */
  async loadOlder(): Promise<void> {
    const { rowId, all } = this.#transcript?.oldest ?? { rowId: null, all: true };
    if (all || rowId === null || this.#paging) return;
    this.#paging = true;
    try {
      const { messages, asides } = await this.#connection.call('session.history', {
        session_id: this.id,
        limit: PAGE_ROWS,
        before_id: rowId,
      });
      if (this.#transcript?.oldest.rowId === rowId) this.#transcript = withOlder(this.#transcript, messages, asides);
      this.#draw();
    } catch {
      // The reader is still there: the next look asks again.
    } finally {
      this.#paging = false;
    }
  }

  // --- prompts ---

  submit({ text, files = [], busy }: Prompt): void {
    const afterId = Math.max(0, ...(this.#transcript?.items.slice(-20) ?? []).map(({ id }) => id));
    const key = crypto.randomUUID();
    const names = files.map((file) => ('name' in file ? file.name : file.path));
    const prompt: Outgoing = { key, text, files: names, busy: busy ?? null, sentAt: Date.now(), afterId, messageId: null, failure: null };
    if (files.length > 0) this.#files.set(key, files);
    this.#setOutgoing([...this.#outgoing, prompt]);
    void this.#send(prompt);
  }

  /** Sends a refused or unanswered prompt again, or forgets it. */
  settle(key: string, what: 'retry' | 'discard'): void {
    const prompt = this.#outgoing.find((candidate) => candidate.key === key);
    if (!prompt) return;
    if (what === 'discard') return this.#setOutgoing(this.#outgoing.filter((candidate) => candidate.key !== key));
    this.#change(key, { failure: null, sentAt: Date.now() });
    void this.#send(prompt);
  }

  async interrupt(): Promise<void> {
    await this.#connection.call('session.interrupt', { session_id: this.id }).catch(() => {});
  }

  // --- commands and side questions ---

  /** Runs a slash command; what it says stands in the conversation. Answers what the page has to do. */
  async command(line: string): Promise<{ kind: 'session'; sessionId: string } | { kind: 'local'; name: string; args: string } | null> {
    const key = this.#echo(line);
    try {
      const done = await this.#connection.call('command.dispatch', { session_id: this.id, line, surface: 'api' }, COMMAND_LIMIT_MS);
      if (done.kind === 'text' || done.kind === 'choice') this.#settleEcho(key, 'done', done.text, done.choices);
      else this.#dropEcho(key);
      if (done.kind === 'session' && done.session_id !== null) return { kind: 'session', sessionId: done.session_id };
      return done.kind === 'local' ? { kind: 'local', name: done.name, args: done.args } : null;
    } catch (thrown) {
      const { message, fix } = failureOf(thrown);
      this.#settleEcho(key, 'failed', fix ? `${message}\n${fix}` : message);
      return null;
    }
  }

  /** A question beside the conversation: its answer comes as an event. */
  async askAside(question: string): Promise<void> {
    const key = this.#echo(question);
    try {
      const { task_id } = await this.#connection.call('prompt.btw', { session_id: this.id, text: question });
      this.#echoes = this.#echoes.map((echo) => (echo.key === key ? { ...echo, key: task_id } : echo));
      this.#forgetAnswered();
      this.#draw();
    } catch (thrown) {
      this.#settleEcho(key, 'failed', failureOf(thrown).message);
    }
  }

  /** Something the page itself has to say about a command. */
  say(line: string, text: string, state: Echo['state'] = 'done'): void {
    this.#settleEcho(this.#echo(line), state, text);
  }

  dropEcho(key: string): void {
    this.#dropEcho(key);
  }

  // --- questions of the agent ---

  /** A question of the agent has come. */
  ask(request: OpenRequest): void {
    // What is asked while the session attaches is in what it attaches to; only the rare one that crosses it is not.
    if (!this.#transcript) return void this.#attaching?.then(() => this.ask(request)).catch(() => {});
    this.#transcript = withRequest(this.#transcript, request);
    this.#draw();
  }

  /** The question is on the screen: its clock starts. */
  async shown(request: OpenRequest): Promise<void> {
    const { acknowledged, expires_at } = await this.#connection.callSafely('request.shown', {
      session_id: this.id,
      request_id: request.id,
    });
    if (!acknowledged) this.#drop(request.id);
    else if (this.#transcript?.requests.some(({ id }) => id === request.id)) this.ask({ ...request, expires_at });
  }

  /** A sentence when the answer was not taken. */
  async answer(request: OpenRequest, result: Record<string, unknown>): Promise<string | null> {
    try {
      await this.#connection.call('request.answer', { session_id: this.id, request_id: request.id, result });
      this.#drop(request.id);
      return null;
    } catch (thrown) {
      return (thrown as CallError).message;
    }
  }

  /** Its card goes: the question is over. */
  #drop(requestId: string): void {
    if (!this.#transcript) return;
    this.#transcript = { ...this.#transcript, requests: this.#transcript.requests.filter(({ id }) => id !== requestId) };
    this.#draw();
  }

  // --- inside ---

  async #catchUp(): Promise<void> {
    const known = this.#transcript;
    if (known && !known.stale) {
      const since = await this.#connection.call('session.events.since', { session_id: this.id, last_seen: known.seq });
      if (!since.truncated && since.epoch === known.epoch) {
        this.#transcript = { ...this.#transcript!, requests: since.open_requests };
        return this.#apply(since.events, since.latest_seq);
      }
    }
    const snapshot = await this.#connection.call('session.resume', { session_id: this.id });
    this.#transcript = fromSnapshot(snapshot, Date.now(), this.#transcript);
    // What the service has stored is in the snapshot, in one form or another.
    this.#setOutgoing(this.#outgoing.filter(({ messageId }) => messageId === null));
    this.#apply([]);
  }

  /** Applies events in order, with those that waited for them. `latest`: numbers up to here need no event. */
  #apply(events: readonly EventParams[], latest = 0): void {
    const all = [...events, ...this.#early.splice(0)].toSorted((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
    for (const event of all) this.#transcript = applyEvent(this.#transcript!, event, Date.now());
    if (latest > this.#transcript!.seq) this.#transcript = { ...this.#transcript!, seq: latest };
    if (this.#outgoing.length > 0) this.#forgetShown(this.#transcript!);
    this.#forgetAnswered();
    this.#draw();
  }

  /** A prompt that the transcript holds is no longer on its way. */
  #forgetShown({ items, queued }: Transcript): void {
    const shown = new Set([...items, ...queued].map(({ id }) => id));
    const left = this.#outgoing.filter(({ messageId }) => messageId === null || !shown.has(messageId));
    if (left.length < this.#outgoing.length) this.#setOutgoing(left);
  }

  /** A side question that the transcript holds stands there. */
  #forgetAnswered(): void {
    if (this.#echoes.length === 0 || !this.#transcript) return;
    const answered = new Set(this.#transcript.items.flatMap((item) => (item.kind === 'aside' ? [item.taskId] : [])));
    this.#echoes = this.#echoes.filter(({ key }) => !answered.has(key));
  }

  /** The same key each time: however often it is sent, it is stored once. */
  async #send({ key, text, busy }: Outgoing): Promise<void> {
    const files = this.#files.get(key);
    try {
      const { message_id } = await this.#connection.call(
        'prompt.submit',
        {
          session_id: this.id,
          text,
          idempotency_key: key,
          surface: 'api',
          ...(busy ? { busy } : {}),
          ...(files ? { attachments: [...files] } : {}),
        },
        files ? FILES_LIMIT_MS : undefined,
      );
      this.#files.delete(key);
      this.#change(key, { messageId: message_id });
      if (this.#transcript) this.#apply([]);
    } catch (thrown) {
      const error = thrown as CallError;
      if (error.code === 'TIMEOUT') return void this.attach();
      if (!error.retry || error.code === 'BUSY') this.#change(key, { failure: failureOf(error) });
    }
  }

  #change(key: string, change: Partial<Outgoing>): void {
    this.#setOutgoing(this.#outgoing.map((prompt) => (prompt.key === key ? { ...prompt, ...change } : prompt)));
  }

  #setOutgoing(outgoing: Outgoing[]): void {
    this.#outgoing = outgoing;
    for (const key of this.#files.keys()) if (!outgoing.some((prompt) => prompt.key === key)) this.#files.delete(key);
    writeOutgoing(this.id, outgoing);
    this.#draw();
  }

  #echo(line: string): string {
    const key = crypto.randomUUID();
    const last = this.#transcript?.items.at(-1);
    const below = last ? { kind: last.kind, id: last.id } : null;
    this.#echoes = [...this.#echoes, { key, line, state: 'running', text: '', choices: [], below }];
    this.#draw();
    return key;
  }

  #settleEcho(key: string, state: Echo['state'], text: string, choices: Echo['choices'] = []): void {
    this.#echoes = this.#echoes.map((echo) => (echo.key === key ? { ...echo, state, text, choices } : echo));
    this.#draw();
  }

  #dropEcho(key: string): void {
    this.#echoes = this.#echoes.filter((echo) => echo.key !== key);
    this.#draw();
  }

  /** Once a frame, however many events arrive. */
  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    const draw = () => {
      this.#drawing = false;
      this.state.set({ transcript: this.#transcript, outgoing: this.#outgoing, echoes: this.#echoes, failure: this.#failure });
    };
    if (document.hidden) setTimeout(draw, HIDDEN_DRAW_MS);
    else requestAnimationFrame(draw);
  }
}

/** As long as the service itself waits for a command. */
const COMMAND_LIMIT_MS = 180_000;
