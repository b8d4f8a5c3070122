/**
 * One session of this tab: kept up to date by numbered events, its prompts sent again with the same key until the
 * service says that they are stored, its open questions shown and answered.
 */
import type { EventParams } from '../ipc/contracts/rpcEvents.ts';
import type { OpenRequest } from '../ipc/contracts/rpcRequests.ts';
import { CallError } from './callError.ts';
import { applyEvent, fromSnapshot, withRequest, type Transcript } from './chat/transcript.ts';
import type { Connection } from './connection.ts';
import { Observable } from './observable.ts';

/** Bursts of events become one drawing, also where nobody looks. */
const HIDDEN_DRAW_MS = 250;

/** A prompt on its way. It is shown until the transcript holds it. */
export interface Outgoing {
  key: string;
  text: string;
  sentAt: number;
  /** Highest message that was known when it was written. */
  afterId: number;
  /** The service's number for it, once stored. */
  messageId: number | null;
  failure: { message: string; fix: string | null } | null;
}

export interface SessionState {
  /** Null until the first snapshot. */
  transcript: Transcript | null;
  outgoing: readonly Outgoing[];
  /** The session cannot be shown. */
  failure: string | null;
}

export class SessionLink {
  readonly id: string;
  readonly state: Observable<SessionState>;
  #connection: Connection;
  #transcript: Transcript | null = null;
  #outgoing: Outgoing[];
  #failure: string | null = null;
  /** Events that came before those they follow. */
  #early: EventParams[] = [];
  #attaching: Promise<void> | undefined;
  #drawing = false;

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.id = id;
    this.#outgoing = readOutgoing(id);
    this.state = new Observable<SessionState>({ transcript: null, outgoing: this.#outgoing, failure: null });
  }

  /** Brings the session up to date and follows it; then sends what has not been acknowledged. */
  async attach(): Promise<void> {
    if (this.#attaching) return this.#attaching;
    this.#attaching = this.#catchUp().finally(() => (this.#attaching = undefined));
    try {
      await this.#attaching;
      this.#failure = null;
    } catch (thrown) {
      // A loss on the way is followed by another `gateway.ready`, which attaches again.
      if (thrown instanceof CallError && thrown.retry) return;
      this.#failure = thrown instanceof Error ? thrown.message : String(thrown);
    }
    this.#draw();
    for (const prompt of this.#outgoing) if (prompt.messageId === null && !prompt.failure) void this.#send(prompt);
  }

  /** An event of this session, possibly out of order, possibly for the second time. */
  receive(event: EventParams): void {
    if (!this.#transcript || this.#attaching) return void this.#early.push(event);
    if (event.seq !== null && event.seq > this.#transcript.seq + 1) {
      this.#early.push(event);
      return void this.attach();
    }
    this.#apply([event]);
  }

  submit(text: string): void {
    const afterId = Math.max(0, ...(this.#transcript?.items ?? []).map(({ id }) => id));
    const prompt: Outgoing = { key: crypto.randomUUID(), text, sentAt: Date.now(), afterId, messageId: null, failure: null };
    this.#setOutgoing([...this.#outgoing, prompt]);
    void this.#send(prompt);
  }

  /** Sends a refused prompt again, or forgets it. */
  settle(key: string, what: 'retry' | 'discard'): void {
    const prompt = this.#outgoing.find((candidate) => candidate.key === key);
    if (!prompt) return;
    if (what === 'discard') return this.#setOutgoing(this.#outgoing.filter((candidate) => candidate.key !== key));
    this.#change(key, { failure: null, sentAt: Date.now() });
    void this.#send(prompt);
  }

  /** A question of the agent has come. */
  ask(request: OpenRequest): void {
    // What is asked while the session attaches is in what it attaches to; only the rare one that crosses it is not.
    if (!this.#transcript) return void this.#attaching?.then(() => this.ask(request)).catch(() => {});
    this.#transcript = withRequest(this.#transcript, request);
    this.#draw();
  }

  /** Its card goes: the question is over. */
  #drop(requestId: string): void {
    if (!this.#transcript) return;
    this.#transcript = { ...this.#transcript, requests: this.#transcript.requests.filter(({ id }) => id !== requestId) };
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

  async interrupt(): Promise<void> {
    await this.#connection.call('session.interrupt', { session_id: this.id }).catch(() => {});
  }

  async #catchUp(): Promise<void> {
    const known = this.#transcript;
    if (known) {
      const since = await this.#connection.call('session.events.since', { session_id: this.id, last_seen: known.seq });
      if (!since.truncated && since.epoch === known.epoch) {
        this.#transcript = { ...known, requests: since.open_requests };
        return this.#apply(since.events, since.latest_seq);
      }
    }
    this.#transcript = fromSnapshot(await this.#connection.call('session.resume', { session_id: this.id }), Date.now());
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
    this.#draw();
  }

  /** A prompt that the transcript holds is no longer on its way. */
  #forgetShown({ items, queued }: Transcript): void {
    const shown = new Set([...items, ...queued].map(({ id }) => id));
    const left = this.#outgoing.filter(({ messageId }) => messageId === null || !shown.has(messageId));
    if (left.length < this.#outgoing.length) this.#setOutgoing(left);
  }

  /** The same key each time: however often it is sent, it is stored once. */
  async #send({ key, text }: Outgoing): Promise<void> {
    try {
      const { message_id } = await this.#connection.call('prompt.submit', {
        session_id: this.id,
        text,
        idempotency_key: key,
        surface: 'api',
      });
      this.#change(key, { messageId: message_id });
      if (this.#transcript) this.#apply([]);
    } catch (thrown) {
      const error = thrown as CallError;
      if (error.code === 'TIMEOUT') return void this.attach();
      if (!error.retry || error.code === 'BUSY') this.#change(key, { failure: { message: error.message, fix: error.fix ?? null } });
    }
  }

  #change(key: string, change: Partial<Outgoing>): void {
    this.#setOutgoing(this.#outgoing.map((prompt) => (prompt.key === key ? { ...prompt, ...change } : prompt)));
  }

  /** Kept for this tab, so that a reload during an outage loses nothing. */
  #setOutgoing(outgoing: Outgoing[]): void {
    this.#outgoing = outgoing;
    if (outgoing.length > 0) sessionStorage.setItem(outgoingKey(this.id), JSON.stringify(outgoing));
    else sessionStorage.removeItem(outgoingKey(this.id));
    this.#draw();
  }

  /** Once a frame, however many events arrive. */
  #draw(): void {
    if (this.#drawing) return;
    this.#drawing = true;
    const draw = () => {
      this.#drawing = false;
      this.state.set({ transcript: this.#transcript, outgoing: this.#outgoing, failure: this.#failure });
    };
    if (document.hidden) setTimeout(draw, HIDDEN_DRAW_MS);
    else requestAnimationFrame(draw);
  }
}

const outgoingKey = (id: string): string => `agent.outgoing.${id}`;

function readOutgoing(id: string): Outgoing[] {
  try {
    return JSON.parse(sessionStorage.getItem(outgoingKey(id)) ?? '[]') as Outgoing[];
  } catch {
    return [];
  }
}
