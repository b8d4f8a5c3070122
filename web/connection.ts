/**
 * Everything between this tab and the agent worker. One WebSocket, dialled again for ever; calls with
 * limits; sessions that attach again after every gap by the number of their last event; prompts that are
 * sent again with the same key until the service says that they are stored. Nothing here is drawn.
 */
import type { EventParams, EventPayloads } from '../ipc/contracts/rpcEvents.ts';
import type * as rpc from '../ipc/contracts/rpc.ts';
import type * as settings from '../ipc/contracts/rpcSettings.ts';
import type { InputOf, ResultOf } from '../ipc/method.ts';
import { applyEvent, fromSnapshot, type Transcript } from './chat/transcript.ts';
import { Observable } from './observable.ts';

interface Methods {
  'session.create': typeof rpc.sessionCreate;
  'session.list': typeof rpc.sessionList;
  'session.resume': typeof rpc.sessionResume;
  'session.interrupt': typeof rpc.sessionInterrupt;
  'session.delete': typeof rpc.sessionDelete;
  'session.events.since': typeof rpc.eventsSince;
  'prompt.submit': typeof rpc.promptSubmit;
  'setup.status': typeof settings.setupStatus;
  'client.ping': typeof settings.clientPing;
}
type Name = keyof Methods;

/** A call that did not succeed. `retry`: the service was not there; the same call may be made again. */
export class CallError extends Error {
  override readonly name = 'CallError';
  readonly code: string;
  readonly retry: boolean;
  readonly fix: string | undefined;

  constructor(code: string, message: string, { retry = false, fix }: { retry?: boolean; fix?: string | undefined } = {}) {
    super(message);
    this.code = code;
    this.retry = retry;
    this.fix = fix;
  }
}

export type Phase =
  /** The dashboard is not there (yet). */
  | 'dialling'
  /** The dashboard is there, the agent worker is not. */
  | 'agentAway'
  | 'ready'
  /** The dashboard does not let this tab in. */
  | 'refused';

export interface ConnectionState {
  phase: Phase;
  /** Has been ready once: what is shown now is a gap, not a start. */
  known: boolean;
  reason: string | null;
  version: string | null;
}

/** Limits of waiting, each beside its reason; milliseconds. */
const waits = {
  /** First pause before the next dial; a worker is back within a second. */
  redialMin: 150,
  redialMax: 8_000,
  /** A call is answered from memory or SQLite. */
  call: 15_000,
  /** A socket can be dead without telling: asked this often, for this long. */
  ping: 20_000,
  pong: 8_000,
  /** Between two tries of a call that was refused for the moment. */
  askAgain: 300,
  /** Bursts of events become one drawing. */
  hiddenDraw: 250,
} as const;

/** Sessions kept up to date though nobody looks at them: going back to one of these is instant. */
const SESSIONS_KEPT = 8;

const CLOSE_UNAUTHENTICATED = 4401;
const CLOSE_FORBIDDEN = 4403;

interface Pending {
  resolve(value: unknown): void;
  reject(thrown: CallError): void;
}

export interface ConnectionOptions {
  /** Address with the current token. */
  address(): string;
  /** A fresh token after 4401; false when there is none. */
  renew(): Promise<boolean>;
}

export class Connection {
  readonly state = new Observable<ConnectionState>({ phase: 'dialling', known: false, reason: null, version: null });
  #options: ConnectionOptions;
  #socket: WebSocket | undefined;
  #pending = new Map<number, Pending>();
  #nextId = 1;
  #attempt = 0;
  #redial: ReturnType<typeof setTimeout> | undefined;
  #sessions = new Map<string, SessionLink>();
  #listeners = new Set<(event: EventParams) => void>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    addEventListener('online', () => this.dialNow());
    document.addEventListener('visibilitychange', () => {
      this.dialNow();
      void this.#checkAlive();
    });
    setInterval(() => void this.#checkAlive(), waits.ping);
    this.#dial();
  }

  /** Errors: CallError. A call made while nothing is there fails at once with PEER_GONE. */
  call<N extends Name>(method: N, params: InputOf<Methods[N]>, limitMs: number = waits.call): Promise<ResultOf<Methods[N]>> {
    const socket = this.#socket;
    if (this.state.get().phase !== 'ready' || !socket) return Promise.reject(gone('the agent is not connected'));
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#pending.delete(id);
        reject(new CallError('TIMEOUT', `${method} was not answered within ${limitMs / 1_000} s`, { retry: true }));
      }, limitMs);
      const finish =
        <V>(settle: (value: V) => void) =>
        (value: V) => (clearTimeout(late), settle(value));
      this.#pending.set(id, { resolve: finish(resolve as (value: unknown) => void), reject: finish(reject) });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Calls when the agent is there, and again after each loss. For what may safely happen twice. */
  async callSafely<N extends Name>(method: N, params: InputOf<Methods[N]>): Promise<ResultOf<Methods[N]>> {
    for (;;) {
      await this.#ready();
      try {
        return await this.call(method, params);
      } catch (thrown) {
        if (!(thrown instanceof CallError) || !thrown.retry) throw thrown;
        // A worker that drains refuses at once: it is not asked in a loop.
        await new Promise((resolve) => setTimeout(resolve, waits.askAgain));
      }
    }
  }

  /** The session of that id, attached from now on. */
  session(id: string): SessionLink {
    const known = this.#sessions.get(id);
    if (known) return known;
    const link = new SessionLink(this, id);
    this.#sessions.set(id, link);
    if (this.state.get().phase === 'ready') void link.attach();
    const left = [...this.#sessions.values()].filter(
      ({ state }) => !state.observed && state.get().outgoing.length === 0 && state !== link.state,
    );
    for (const { id: oldest } of left.slice(0, Math.max(0, this.#sessions.size - SESSIONS_KEPT))) this.#sessions.delete(oldest);
    return link;
  }

  /** Events of every session and of none. */
  onEvent(listener: (event: EventParams) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Skips the pause before the next dial. */
  dialNow(): void {
    if (this.#redial === undefined) return;
    clearTimeout(this.#redial);
    this.#dial();
  }

  // --- the socket ---

  #dial(): void {
    this.#redial = undefined;
    const socket = new WebSocket(this.#options.address());
    this.#socket = socket;
    socket.onopen = () => this.#move({ phase: 'agentAway', reason: null });
    socket.onmessage = ({ data }) => this.#receive(data as string);
    socket.onclose = ({ code, reason }) => void this.#lost(socket, code, reason);
  }

  async #lost(socket: WebSocket, code: number, reason: string): Promise<void> {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#failPending('the connection was lost');
    if (code === CLOSE_FORBIDDEN) return this.#move({ phase: 'refused', reason: reason || 'this address is not allowed' });
    if (code === CLOSE_UNAUTHENTICATED) {
      const renewed = await this.#options.renew().catch(() => undefined);
      if (renewed === false) return this.#move({ phase: 'refused', reason: null });
    }
    this.#move({ phase: 'dialling', reason: null });
    const ceiling = Math.min(waits.redialMax, waits.redialMin * 2 ** this.#attempt++);
    this.#redial = setTimeout(() => this.#dial(), ceiling / 2 + (Math.random() * ceiling) / 2);
  }

  #receive(text: string): void {
    const frame = JSON.parse(text) as { id?: number; method?: string; params?: EventParams; result?: unknown; error?: RpcError };
    if (frame.method === 'event' && frame.params) return this.#hear(frame.params);
    const pending = frame.id === undefined ? undefined : this.#pending.get(frame.id);
    if (!pending || frame.method !== undefined) return;
    this.#pending.delete(frame.id!);
    if (frame.error) pending.reject(callError(frame.error));
    else pending.resolve(frame.result);
  }

  #hear(event: EventParams): void {
    if (event.type === 'gateway.ready') {
      this.#attempt = 0;
      this.#move({ phase: 'ready', known: true, reason: null, version: (event.payload as EventPayloads['gateway.ready']).version });
      for (const link of this.#sessions.values()) void link.attach();
    } else if (event.type === 'gateway.away') {
      this.#failPending('the agent worker ended');
      this.#move({ phase: 'agentAway', reason: (event.payload as EventPayloads['gateway.away']).reason });
    }
    if (event.session_id !== null) this.#sessions.get(event.session_id)?.receive(event);
    for (const listener of this.#listeners) listener(event);
  }

  async #checkAlive(): Promise<void> {
    const socket = this.#socket;
    if (document.hidden || this.state.get().phase !== 'ready') return;
    const alive = await this.call('client.ping', {}, waits.pong).then(
      () => true,
      (thrown: CallError) => thrown.code !== 'TIMEOUT',
    );
    if (!alive && socket === this.#socket) socket?.close();
  }

  #failPending(why: string): void {
    const open = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of open) reject(gone(why));
  }

  #ready(): Promise<void> {
    return new Promise((resolve) => {
      if (this.state.get().phase === 'ready') return resolve();
      const stop = this.state.subscribe(() => {
        if (this.state.get().phase !== 'ready') return;
        stop();
        resolve();
      });
    });
  }

  #move(change: Partial<ConnectionState>): void {
    this.state.set({ ...this.state.get(), ...change });
  }
}

// --- one session ---

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

  async interrupt(): Promise<void> {
    await this.#connection.call('session.interrupt', { session_id: this.id }).catch(() => {});
  }

  async #catchUp(): Promise<void> {
    const known = this.#transcript;
    if (known) {
      const since = await this.#connection.call('session.events.since', { session_id: this.id, last_seen: known.seq });
      if (!since.truncated && since.epoch === known.epoch) return this.#apply(since.events, since.latest_seq);
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
    if (document.hidden) setTimeout(draw, waits.hiddenDraw);
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

interface RpcError {
  message: string;
  data?: { code?: string; retry?: boolean; fix?: string };
}

const callError = ({ message, data = {} }: RpcError): CallError =>
  new CallError(data.code ?? 'INTERNAL', message, { retry: data.retry ?? false, fix: data.fix });
const gone = (message: string): CallError => new CallError('PEER_GONE', message, { retry: true });
