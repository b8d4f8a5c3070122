/**
 * One JSON-RPC connection between two of our processes, symmetrical: either side calls, notifies and
 * answers. Owns error translation, time limits and cancellation; refuses anything before the hello.
 */
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  CancellationTokenSource,
  createMessageConnection,
  type CancellationToken,
  ErrorCodes,
  type MessageConnection,
  ResponseError,
} from 'vscode-jsonrpc/node';
import type { z } from 'zod';
import { AgentError, errorTable, isAgentError, messageOf, type ErrorCode } from '../base/errors.ts';
import { abortReason, within } from '../base/time.ts';
import { errorText, FrameReader, FrameWriter, invalidMessage } from './frames.ts';
import type { Method, Notice } from './method.ts';

/** Who is at the other end, as it said in its hello. */
export interface Peer {
  slot: string;
  pid: number;
  /** Content id of the code it runs. */
  code: string;
  /** True for a browser's frames relayed by the dashboard: only public methods are open to it. */
  relay: boolean;
}

export interface CallContext {
  link: Link;
  /** Aborts when the caller cancels or is gone. */
  signal: AbortSignal;
}

export interface Handler {
  readonly method: Method;
  readonly run: (params: unknown, context: CallContext) => unknown;
}

export interface NoticeHandler {
  readonly notice: Notice;
  readonly run: (params: unknown, link: Link) => void;
}

/** Binds a method to the function that serves it. */
export function handle<P, R, I>(method: Method<P, R, I>, run: (params: P, context: CallContext) => R | Promise<R>): Handler {
  return { method, run: run as Handler['run'] };
}

export function onNotice<P>(notice: Notice<P>, run: (params: P, link: Link) => void): NoticeHandler {
  return { notice, run: run as NoticeHandler['run'] };
}

export interface CallOptions {
  signal?: AbortSignal | undefined;
  /** Overrides the method's own limit. */
  timeoutMs?: number;
}

const silent = { error() {}, warn() {}, info() {}, log() {} };

export class Link {
  peer: Peer;
  /** Resolves when the connection has ended, with the reason where there was one. Never rejects. */
  readonly closed: Promise<unknown>;
  #socket: Socket;
  #connection: MessageConnection;
  #writer: FrameWriter;
  #refuseUnknown = (name: string): AgentError => new AgentError('METHOD_NOT_FOUND', `unknown method ${name}`);
  #handlers = new Map<string, Handler>();
  #notices = new Map<string, NoticeHandler>();
  #running = new Set<AbortController>();
  #open = true;

  constructor(socket: Socket, peer: Peer) {
    this.peer = peer;
    this.#socket = socket;
    const ended = Promise.withResolvers<unknown>();
    this.closed = ended.promise;
    let reason: unknown;
    socket.on('error', (thrown) => (reason ??= thrown));
    // Frames that have arrived and are not dispatched yet: that is done one a turn of the loop.
    let waiting = 0;
    socket.once('close', async () => {
      this.#open = false;
      for (const controller of this.#running) controller.abort(new AgentError('PEER_GONE', 'the caller is gone'));
      // The last words of a peer may come together with its end: they are heard first.
      for (let turns = waiting; turns > 0 && waiting > 0; turns--) await nextTurn();
      this.#connection.dispose();
      ended.resolve(reason);
    });
    this.#writer = new FrameWriter(socket);
    this.#connection = createMessageConnection(new FrameReader(socket, () => waiting++), this.#writer, silent, {
      messageStrategy: {
        handleMessage: (message, next) => {
          waiting--;
          const invalid = invalidMessage(message);
          if (invalid) return this.#writer.push(errorText(invalid.id, 'INVALID_REQUEST', invalid.why));
          return next(message);
        },
      },
    });
    this.#connection.onRequest((name: string, params: unknown, token: CancellationToken) => this.#answer(name, params, token));
    this.#connection.onNotification((name: string, params: unknown) => this.#receive(name, params));
    this.#connection.onError(() => {});
    this.#connection.listen();
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Bytes handed to the socket that the peer has not taken yet. */
  get unsentBytes(): number {
    return this.#socket.writableLength;
  }

  /** Resolves once the peer has taken what waits for it, or is gone. */
  async drained(): Promise<void> {
    if (!this.#open || !this.#socket.writableNeedDrain) return;
    const drained = Promise.withResolvers<void>();
    const done = () => drained.resolve();
    this.#socket.once('drain', done);
    await Promise.race([drained.promise, this.closed]);
    this.#socket.off('drain', done);
  }

  /** Stops reading, so that a fast peer waits for a slow consumer of ours; `resume` goes on. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  handle(...handlers: Handler[]): void {
    for (const handler of handlers) this.#handlers.set(handler.method.name, handler);
  }

  /** What to answer to a method that nobody handles. */
  onUnknown(refuse: (name: string) => AgentError): void {
    this.#refuseUnknown = refuse;
  }

  on(...handlers: NoticeHandler[]): void {
    for (const handler of handlers) this.#notices.set(handler.notice.name, handler);
  }

  /** Calls the peer. Errors: what the method names, and PEER_GONE, TIMEOUT, CANCELLED. */
  async call<P, R, I>(method: Method<P, R, I>, params: I, { signal, timeoutMs = method.timeoutMs }: CallOptions = {}): Promise<R> {
    if (!this.#open) throw new AgentError('PEER_GONE', `${this.peer.slot} is gone: ${method.name} was not sent`);
    if (signal?.aborted) throw abortReason(signal);
    const source = new CancellationTokenSource();
    const sent = this.#connection
      .sendRequest(method.name, params, source.token)
      .catch((thrown: unknown) => Promise.reject(this.#translate(thrown, method.name)));
    try {
      const answer = await (timeoutMs > 0 || signal
        ? within(sent, { ms: timeoutMs > 0 ? timeoutMs : 2 ** 40, signal, what: `${method.name} of ${this.peer.slot}` })
        : sent);
      return checked(method.result, answer, 'INTERNAL', `${this.peer.slot} answered ${method.name} in an unknown shape`);
    } catch (thrown) {
      source.cancel();
      throw thrown;
    } finally {
      source.dispose();
    }
  }

  /** Sends without an answer; dropped when the peer is gone. */
  notify<P>(notice: Notice<P>, params: P): void {
    this.notifyJson(notice, JSON.stringify(params));
  }

  /** The same with parameters that are JSON already, for what many are told. */
  notifyJson(notice: Notice, params: string): void {
    // Past vscode-jsonrpc, which takes 20 µs and four promises for a frame that nobody answers (measured).
    if (this.#open) this.#writer.push(`{"jsonrpc":"2.0","method":"${notice.name}","params":${params}}`);
  }

  /** What is sent until `uncork` leaves in one piece. */
  cork(): void {
    this.#socket.cork();
  }

  uncork(): void {
    this.#socket.uncork();
  }

  close(): void {
    this.#socket.end();
    this.#socket.unref();
    const force = setTimeout(() => this.#socket.destroy(), 1_000).unref();
    void this.closed.then(() => clearTimeout(force));
  }

  destroy(reason?: Error): void {
    this.#socket.destroy(reason);
  }

  /** An idle link does not keep the process alive. */
  unref(): void {
    this.#socket.unref();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #answer(name: string, params: unknown, token: CancellationToken): Promise<unknown> {
    if (!this.#open) return new ResponseError(errorTable.PEER_GONE.rpc, 'the caller is gone');
    const handler = this.#handlers.get(name);
    if (!handler) return toResponseError(this.#refuseUnknown(name));
    const controller = new AbortController();
    token.onCancellationRequested(() => controller.abort(new AgentError('CANCELLED', `${name} was cancelled by the caller`)));
    this.#running.add(controller);
    try {
      const { method } = handler;
      const input = checked(method.params, params ?? {}, method.invalid, `${name}: wrong parameters`);
      const result = await handler.run(input, { link: this, signal: controller.signal });
      return checked(method.result, result, 'INTERNAL', `${name} produced an unknown shape`) ?? null;
    } catch (thrown) {
      return toResponseError(thrown);
    } finally {
      this.#running.delete(controller);
    }
  }

  #receive(name: string, params: unknown): void {
    const handler = this.#notices.get(name);
    if (!handler) return;
    const parsed = handler.notice.params.safeParse(params ?? {});
    if (parsed.success) handler.run(parsed.data, this);
  }

  #translate(thrown: unknown, name: string): unknown {
    if (isAgentError(thrown)) return thrown;
    if (thrown instanceof ResponseError) {
      const data = (thrown.data ?? {}) as Record<string, unknown>;
      if (typeof data.code === 'string' && data.code in errorTable) {
        return new AgentError(data.code as ErrorCode, thrown.message, {
          ...(typeof data.fix === 'string' ? { fix: data.fix } : {}),
          ...(typeof data.retry_after_ms === 'number' ? { retryAfterMs: data.retry_after_ms } : {}),
          ...(typeof data.field === 'string' ? { field: data.field } : {}),
          ...(data.facts && typeof data.facts === 'object' ? { facts: data.facts as Record<string, unknown> } : {}),
        });
      }
      const code: number = thrown.code;
      if (code === ErrorCodes.MessageWriteError && this.#writer.refusal) return this.#writer.refusal;
      if (code === errorTable.METHOD_NOT_FOUND.rpc) return new AgentError('METHOD_NOT_FOUND', thrown.message);
    }
    if (!this.#open || this.#socket.destroyed) {
      return new AgentError('PEER_GONE', `${this.peer.slot} ended before it answered ${name}`, { cause: thrown });
    }
    return new AgentError('INTERNAL', `${name} of ${this.peer.slot}: ${messageOf(thrown)}`, { cause: thrown });
  }
}

/** The JSON-RPC error of anything thrown: domain codes as strings in `data.code` (contract §8). */
export function toResponseError(thrown: unknown): ResponseError<unknown> {
  if (!isAgentError(thrown)) return new ResponseError(errorTable.INTERNAL.rpc, messageOf(thrown), { code: 'INTERNAL' });
  return new ResponseError(errorTable[thrown.code].rpc, thrown.message, {
    code: thrown.code,
    retry: thrown.retry,
    ...(thrown.fix === undefined ? {} : { fix: thrown.fix }),
    ...(thrown.retryAfterMs === undefined ? {} : { retry_after_ms: thrown.retryAfterMs }),
    ...(thrown.field === undefined ? {} : { field: thrown.field }),
    ...(thrown.facts === undefined ? {} : { facts: thrown.facts }),
  });
}

/** Parses or throws an AgentError that names the first wrong field. */
export function checked<T>(schema: z.ZodType<T>, value: unknown, code: ErrorCode, what: string): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  const unknownKeys = issue.code === 'unrecognized_keys' ? issue.keys : [];
  const field = [...issue.path.map(String), ...unknownKeys.slice(0, 1)].join('.');
  // Contract §8: a frame without its session has a code of its own.
  if (code === 'BAD_REQUEST' && field === 'session_id' && (value as Record<string, unknown> | null)?.session_id === undefined)
    code = 'MISSING_SESSION';
  const hint = unknownKeys.length ? 'client and service may be of different versions' : undefined;
  throw new AgentError(code, `${what}${field ? ` at ${field}` : ''}: ${issue.message}`, {
    field,
    ...(hint ? { fix: hint } : {}),
  });
}
