/**
 * Everything between this tab and the agent worker. One WebSocket, dialled again for ever; calls with
 * limits; sessions that attach again after every gap; questions of the service. Nothing here is drawn.
 */
import type { EventParams, EventPayloads } from '../ipc/contracts/rpcEvents.ts';
import type * as rpc from '../ipc/contracts/rpc.ts';
import type * as commands from '../ipc/contracts/rpcCommands.ts';
import type * as requests from '../ipc/contracts/rpcRequests.ts';
import type * as sessions from '../ipc/contracts/rpcSessions.ts';
import type * as settings from '../ipc/contracts/rpcSettings.ts';
import type { InputOf, ResultOf } from '../ipc/method.ts';
import { CallError } from './callError.ts';
import { Observable } from './observable.ts';
import { SessionLink } from './sessionLink.ts';

interface Methods {
  'session.create': typeof rpc.sessionCreate;
  'session.list': typeof rpc.sessionList;
  'session.resume': typeof rpc.sessionResume;
  'session.history': typeof rpc.sessionHistory;
  'session.interrupt': typeof rpc.sessionInterrupt;
  'session.title': typeof rpc.sessionTitle;
  'session.delete': typeof rpc.sessionDelete;
  'session.events.since': typeof rpc.eventsSince;
  'prompt.submit': typeof rpc.promptSubmit;
  'session.queue': typeof sessions.sessionQueue;
  'session.branch': typeof sessions.sessionBranch;
  'session.undo': typeof sessions.sessionUndo;
  'session.compress': typeof sessions.sessionCompress;
  'session.usage': typeof sessions.sessionUsage;
  'session.context_breakdown': typeof sessions.contextBreakdown;
  'session.search': typeof sessions.sessionSearch;
  'session.archive': typeof sessions.sessionArchive;
  'session.export': typeof sessions.sessionExport;
  'prompt.btw': typeof sessions.promptBtw;
  'commands.catalog': typeof commands.commandsCatalog;
  'command.dispatch': typeof commands.commandDispatch;
  'complete.slash': typeof commands.completeSlash;
  'complete.path': typeof commands.completePath;
  'request.shown': typeof requests.requestShown;
  'request.answer': typeof requests.requestAnswer;
  'config.get': typeof settings.configGet;
  'config.set': typeof settings.configSet;
  'model.options': typeof settings.modelOptions;
  'setup.status': typeof settings.setupStatus;
  'client.ping': typeof settings.clientPing;
}
type Name = keyof Methods;
export type Answer<N extends Name> = ResultOf<Methods[N]>;

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
  /** A dashboard that accepts and does not answer is dialled anew. */
  dial: 10_000,
  /** A call is answered from memory or SQLite. Those that ask a model or another host name their own limit. */
  call: 15_000,
  /** A socket can be dead without telling: asked this often, for this long. */
  ping: 20_000,
  pong: 8_000,
  /** Between two tries of a call that was refused for the moment. */
  askAgain: 300,
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
  /** Address with the proof of this tab, made for one dial. */
  address(): Promise<string>;
  /** A fresh token after 4401; false when there is none. */
  renew(): Promise<boolean>;
}

export class Connection {
  readonly state = new Observable<ConnectionState>({ phase: 'dialling', known: false, reason: null, version: null });
  #options: ConnectionOptions;
  #socket: WebSocket | undefined;
  #pending = new Map<number, Pending>();
  /** Frames of questions that are open, by request. */
  #asking = new Map<string, number>();
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
    this.#options.address().then(
      (address) => this.#open(address),
      () => this.#dialAgain(),
    );
  }

  #open(address: string): void {
    const socket = new WebSocket(address);
    this.#socket = socket;
    const late = setTimeout(() => socket.close(), waits.dial);
    socket.onopen = () => {
      clearTimeout(late);
      this.#move({ phase: 'agentAway', reason: null });
    };
    socket.onmessage = ({ data }) => this.#receive(data as string);
    socket.onclose = ({ code, reason }) => {
      clearTimeout(late);
      void this.#lost(socket, code, reason);
    };
  }

  async #lost(socket: WebSocket, code: number, reason: string): Promise<void> {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    this.#asking.clear();
    this.#failPending('the connection was lost');
    if (code === CLOSE_FORBIDDEN) return this.#move({ phase: 'refused', reason: reason || 'this address is not allowed' });
    if (code === CLOSE_UNAUTHENTICATED) {
      const renewed = await this.#options.renew().catch(() => undefined);
      if (renewed === false) return this.#move({ phase: 'refused', reason: null });
    }
    this.#move({ phase: 'dialling', reason: null });
    this.#dialAgain();
  }

  #dialAgain(): void {
    const ceiling = Math.min(waits.redialMax, waits.redialMin * 2 ** this.#attempt++);
    this.#redial = setTimeout(() => this.#dial(), ceiling / 2 + (Math.random() * ceiling) / 2);
  }

  #receive(text: string): void {
    const frame = JSON.parse(text) as Frame;
    if (frame.method === 'event' && frame.params) return this.#hear(frame.params);
    if (frame.method !== undefined && frame.id !== undefined) return this.#asked(frame.id, frame.method, frame.params);
    const pending = frame.id === undefined ? undefined : this.#pending.get(frame.id);
    if (!pending || frame.method !== undefined) return;
    this.#pending.delete(frame.id!);
    if (frame.error) pending.reject(callError(frame.error));
    else pending.resolve(frame.result);
  }

  /**
   * A question of the service. It is answered by `request.answer`, which works after a reload as well; the frame itself
   * is settled when the question is over.
   */
  #asked(frameId: number, method: string, params: unknown): void {
    const { session_id, request_id } = (params ?? {}) as { session_id?: string; request_id?: string };
    const session = session_id === undefined ? undefined : this.#sessions.get(session_id);
    if ((method !== 'approval' && method !== 'clarify') || !session || request_id === undefined)
      return this.#refuse(frameId, { code: -32601, message: `this page does not answer ${method}` });
    this.#asking.set(request_id, frameId);
    const asked_at = new Date().toISOString();
    session.ask({ id: request_id, method, params: params as Record<string, unknown>, asked_at, expires_at: null });
  }

  #refuse(id: number, error: { code: number; message: string }): void {
    this.#socket?.send(JSON.stringify({ jsonrpc: '2.0', id, error }));
  }

  #hear(event: EventParams): void {
    if (event.type === 'gateway.ready') {
      this.#attempt = 0;
      this.#move({ phase: 'ready', known: true, reason: null, version: (event.payload as EventPayloads['gateway.ready']).version });
      for (const link of this.#sessions.values()) void link.attach();
    } else if (event.type === 'gateway.away') {
      this.#asking.clear();
      this.#failPending('the agent worker ended');
      this.#move({ phase: 'agentAway', reason: (event.payload as EventPayloads['gateway.away']).reason });
    }
    if (event.type === 'request.cancel') {
      const { id } = event.payload as EventPayloads['request.cancel'];
      const frameId = this.#asking.get(id);
      if (frameId !== undefined) this.#refuse(frameId, { code: -32800, message: 'the question is over' });
      this.#asking.delete(id);
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

interface Frame {
  id?: number;
  method?: string;
  params?: EventParams;
  result?: unknown;
  error?: RpcError;
}

interface RpcError {
  message: string;
  data?: { code?: string; retry?: boolean; fix?: string };
}

const callError = ({ message, data = {} }: RpcError): CallError =>
  new CallError(data.code ?? 'INTERNAL', message, { retry: data.retry ?? false, fix: data.fix });
const gone = (message: string): CallError => new CallError('PEER_GONE', message, { retry: true });
