/**
 * One conversation seen from a terminal: submits prompts to the agent worker and hands on its events in
 * order, each once. Outlives the worker: it dials again and asks for what it missed (house, flow 1).
 */
import { AgentError, isAgentError } from '../base/errors.ts';
import { uuid } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { createClient, type Client } from '../ipc/client.ts';
import * as rpc from '../ipc/contracts/rpc.ts';
import type { SessionInfo, Snapshot } from '../ipc/contracts/rpcRecords.ts';
import { event, type EventParams, type EventPayloads } from '../ipc/contracts/rpcEvents.ts';
import { handle, onNotice, type Handler, type Link, type NoticeHandler } from '../ipc/link.ts';
import type { InputOf, Method, ResultOf } from '../ipc/method.ts';
import * as requests from '../ipc/contracts/rpcRequests.ts';

type Payloads = EventPayloads;

/** What a surface draws: the worker's events, and the state of the connection. */
export type ChatEvent =
  | { [T in keyof Payloads]: { type: T; payload: Payloads[T] } }[keyof Payloads]
  | { type: 'connection.lost' }
  /** Not only the worker is gone: no supervisor runs that could start another. Told once for each time it is missed. */
  | { type: 'connection.absent'; waitMs: number }
  | { type: 'connection.back'; missed: number }
  /** Too much was missed to replay: this is how things stand now. */
  | { type: 'connection.snapshot'; snapshot: Snapshot }
  | { type: 'connection.failed'; error: unknown }
  /** The agent asks; told again after a reconnect, under the same id. */
  | { type: 'request.open'; id: string; method: requests.RequestKind; params: Record<string, unknown> };

export interface ConversationHost {
  /** Dials the agent worker, waiting as long as one may take to start. */
  dial(notices: NoticeHandler[], signal: AbortSignal, handlers?: Handler[]): Promise<Link>;
}

export interface OpenOptions {
  /** Id, exact title or `latest`; a new conversation otherwise. */
  session?: string | undefined;
  /** Of a new conversation. */
  fresh?: NewSession | undefined;
  surface: 'cli' | 'tui';
  /** Requests of the agent are answered here; without it they wait for another surface. */
  answers?: boolean | undefined;
  /** How long it waits for a service that is gone as a whole. Default: `limits.chat.absentMs`. */
  absentMs?: number | undefined;
}

export type NewSession = Pick<
  InputOf<typeof rpc.sessionCreate>,
  'model' | 'provider' | 'reasoning_effort' | 'safe_mode' | 'title' | 'hidden'
>;

/** How a prompt is sent, beside its text. */
export type PromptOptions = Pick<InputOf<typeof rpc.promptSubmit>, 'attachments' | 'unattended' | 'busy'>;

export class Conversation implements Disposable {
  readonly #host: ConversationHost;
  readonly #surface: OpenOptions['surface'];
  readonly #fresh: NewSession;
  readonly #answers: boolean;
  readonly #absentMs: number;
  /** Requests that came as frames of this connection: an answer goes back on it. */
  #asked = new Map<string, (result: Record<string, unknown>) => void>();
  readonly #leaving = new AbortController();
  readonly #client: Client;
  #listener: (event: ChatEvent) => void = () => {};
  #sessionId: string | undefined;
  #lastSeq = 0;
  #epoch = '';
  /** Live events wait here while missed ones are being fetched. */
  #waiting: EventParams[] | undefined = [];
  #wasConnected = false;
  #reconnecting = false;
  info!: SessionInfo;

  private constructor(host: ConversationHost, { surface, fresh = {}, answers = false, absentMs = limits.chat.absentMs }: OpenOptions) {
    this.#host = host;
    this.#surface = surface;
    this.#fresh = fresh;
    this.#answers = answers;
    this.#absentMs = absentMs;
    this.#client = createClient(() => this.#connect());
  }

  /** Errors: UNKNOWN_SESSION, and those of the host's dial. */
  static async open(host: ConversationHost, options: OpenOptions): Promise<{ conversation: Conversation; snapshot: Snapshot | undefined }> {
    const conversation = new Conversation(host, options);
    try {
      const snapshot = options.session === undefined ? await conversation.startNew() : await conversation.resume(options.session);
      return { conversation, snapshot };
    } catch (thrown) {
      conversation[Symbol.dispose]();
      throw thrown;
    }
  }

  get sessionId(): string {
    return this.#sessionId!;
  }

  /** One listener: the surface that draws. */
  listen(listener: (event: ChatEvent) => void): void {
    this.#listener = listener;
  }

  /** Leaves this conversation for a new one. */
  async startNew(): Promise<undefined> {
    this.#waiting = [];
    const made = await this.#client.call(rpc.sessionCreate, { source: this.#surface, cwd: process.cwd(), ...this.#fresh });
    this.#enter(made.session_id, 0, made.info);
    return undefined;
  }

  /** Leaves this conversation for another. Errors: UNKNOWN_SESSION. */
  async resume(session: string): Promise<Snapshot> {
    this.#waiting = [];
    try {
      const snapshot = await this.#client.call(rpc.sessionResume, { session_id: session }, { repeatForMs: limits.ipc.startingMs });
      this.#epoch = snapshot.epoch;
      this.#enter(snapshot.session_id, snapshot.latest_seq, snapshot.info);
      this.#reopen(snapshot.open_requests);
      return snapshot;
    } catch (thrown) {
      this.#flush();
      throw thrown;
    }
  }

  /** Answers when the prompt is stored; a worker that dies meanwhile is asked again, and stores it once. */
  submit(text: string, options: PromptOptions = {}): Promise<ResultOf<typeof rpc.promptSubmit>> {
    const params = { session_id: this.sessionId, text, idempotency_key: uuid(), surface: this.#surface, ...options };
    return this.#client.call(rpc.promptSubmit, params, { repeatForMs: limits.chat.reconnectMs });
  }

  async interrupt(): Promise<boolean> {
    const { status } = await this.#client.call(rpc.sessionInterrupt, { session_id: this.sessionId });
    return status === 'interrupted';
  }

  /** Any method of the gateway RPC. `signal` cancels it. */
  call<P, R, I>(method: Method<P, R, I>, params: I, signal?: AbortSignal): Promise<R> {
    return this.#client.call(method, params, { signal });
  }

  /** The request stands on a screen: its clock starts. A worker that does not know the method has no clock. */
  async shown(requestId: string): Promise<void> {
    await this.#client.call(requests.requestShown, { session_id: this.sessionId, request_id: requestId }).catch(() => {});
  }

  /** False = it was no longer open. */
  async answer(requestId: string, result: Record<string, unknown>): Promise<boolean> {
    const asked = this.#asked.get(requestId);
    this.#asked.delete(requestId);
    if (asked) {
      asked(result);
      return true;
    }
    const params = { session_id: this.sessionId, request_id: requestId, result };
    return (await this.#client.call(requests.requestAnswer, params, { repeatForMs: limits.ipc.startingMs })).status === 'ok';
  }

  [Symbol.dispose](): void {
    this.#leaving.abort(new AgentError('CANCELLED', 'the conversation is closed'));
    this.#client[Symbol.dispose]();
  }

  #enter(sessionId: string, lastSeq: number, info: SessionInfo): void {
    this.#sessionId = sessionId;
    this.#lastSeq = lastSeq;
    this.info = info;
    this.#flush();
  }

  // --- connection ---

  async #connect(): Promise<Link> {
    const notices = [onNotice(event, (params) => this.#receive(params))];
    const link = await this.#host.dial(notices, this.#leaving.signal, this.#answers ? this.#requestHandlers() : []);
    void link.closed.then(() => this.#lost());
    if (this.#wasConnected && this.#sessionId) {
      await this.#catchUp(link, true);
    }
    this.#wasConnected = true;
    return link;
  }

  async #lost(): Promise<void> {
    if (this.#leaving.signal.aborted || this.#reconnecting) return;
    this.#reconnecting = true;
    this.#waiting ??= [];
    this.#asked.clear();
    this.#listener({ type: 'connection.lost' });
    await this.#reconnect();
    this.#reconnecting = false;
  }

  async #reconnect(): Promise<void> {
    const deadlineMs = performance.now() + limits.chat.reconnectMs;
    let absentFromMs: number | undefined;
    for (;;) {
      try {
        await this.#client.link();
        return;
      } catch (thrown) {
        if (this.#leaving.signal.aborted) return;
        const nowMs = performance.now();
        if (!isAbsent(thrown)) absentFromMs = undefined;
        else if (absentFromMs === undefined) {
          absentFromMs = nowMs;
          this.#listener({ type: 'connection.absent', waitMs: this.#absentMs });
        }
        const isAway = absentFromMs !== undefined && nowMs - absentFromMs > this.#absentMs;
        if (isAway || nowMs > deadlineMs || !isRetryable(thrown)) return this.#listener({ type: 'connection.failed', error: thrown });
        await new Promise((resolve) => setTimeout(resolve, limits.ipc.redialMaxMs));
      }
    }
  }

  /** Replays what happened while nobody listened, or takes a snapshot where that is too much; `wasLost` = tell that we are back. */
  async #catchUp(link: Link, wasLost: boolean): Promise<void> {
    const sessionId = this.sessionId;
    this.#waiting ??= [];
    const missed = await link.call(rpc.eventsSince, { session_id: sessionId, last_seen: this.#lastSeq });
    const gap = missed.truncated || (this.#epoch !== '' && missed.epoch !== this.#epoch);
    this.#epoch = missed.epoch;
    if (wasLost) this.#listener({ type: 'connection.back', missed: missed.events.length });
    if (gap) {
      const snapshot = await link.call(rpc.sessionResume, { session_id: sessionId });
      this.#lastSeq = snapshot.latest_seq;
      this.info = snapshot.info;
      this.#listener({ type: 'connection.snapshot', snapshot });
    } else {
      for (const event of missed.events) this.#deliver(event);
    }
    this.#flush();
    this.#reopen(missed.open_requests);
  }

  // --- requests of the agent ---

  #requestHandlers(): Handler[] {
    const open =
      (method: requests.RequestKind) =>
      (
        params: Record<string, unknown> & { session_id: string; request_id: string },
        { signal }: { signal: AbortSignal },
      ): Promise<never> => {
        const answered = Promise.withResolvers<Record<string, unknown>>();
        const id = params.request_id;
        this.#asked.set(id, answered.resolve);
        signal.addEventListener('abort', () => this.#asked.delete(id) && answered.reject(signal.reason), { once: true });
        if (params.session_id === this.#sessionId) this.#listener({ type: 'request.open', id, method, params });
        return answered.promise as Promise<never>;
      };
    return [handle(requests.approvalRequest, open('approval')), handle(requests.clarifyRequest, open('clarify'))];
  }

  /** Those that were open before this connection. */
  #reopen(open: readonly requests.OpenRequest[]): void {
    if (!this.#answers) return;
    for (const { id, method, params } of open) this.#listener({ type: 'request.open', id, method, params });
  }

  // --- events ---

  #receive(event: EventParams): void {
    if (event.type === 'gateway.ready') this.#epoch ||= String(event.payload.epoch ?? '');
    if (this.#waiting) {
      // Bounded: what overflows is fetched again by number.
      if (this.#waiting.length < limits.turn.eventsMax) this.#waiting.push(event);
      return;
    }
    if (event.session_id === this.#sessionId && event.seq !== null && event.seq > this.#lastSeq + 1) return this.#fillGap(event);
    this.#deliver(event);
  }

  #fillGap(event: EventParams): void {
    this.#waiting = [event];
    this.#client
      .link()
      .then((link) => this.#catchUp(link, false))
      // A lost connection catches up when it is back; any other failure must not hold up what follows.
      .catch(() => this.#flush());
  }

  #flush(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const event of waiting) this.#deliver(event);
  }

  #deliver({ type, session_id, seq, payload }: EventParams): void {
    if (session_id !== null && session_id !== this.#sessionId) return;
    if (seq !== null) {
      if (seq <= this.#lastSeq) return;
      this.#lastSeq = seq;
    }
    if (type === 'session_info') this.info = payload as unknown as SessionInfo;
    this.#listener({ type, payload } as ChatEvent);
  }
}

const isAbsent = (thrown: unknown): boolean => isAgentError(thrown) && thrown.code === 'NO_SUPERVISOR';

/** A worker that is starting, restarting or draining comes back, and so may a supervisor; a parked one does not. */
const isRetryable = (thrown: unknown): boolean =>
  isAbsent(thrown) ||
  (isAgentError(thrown) && ['PEER_GONE', 'PEER_UNREACHABLE', 'DRAINING', 'TIMEOUT', 'START_FAILED'].includes(thrown.code));
