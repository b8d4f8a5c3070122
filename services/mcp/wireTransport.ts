/**
 * A wire as a transport of the MCP SDK. Every message reaches the SDK in the form that its exact schemas accept, reduced
 * to what this client reads. An answer that cannot be used and a request that cannot be sent fail that request alone.
 * Answers to requests that have ended are dropped; only requests in flight are cancelled, and never the handshake.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage, JSONRPCNotification, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { failed, networkFailure, type Message, type Wire, type WireEvents } from './wire.ts';

export type Connect = (events: WireEvents) => Wire | Promise<Wire>;

interface InFlight {
  method: string;
  sending: AbortController;
}

const jsonrpc = '2.0';
/** The server is not asked to stop working on these. */
const NOT_CANCELLABLE: ReadonlySet<string> = new Set(['initialize', 'ping']);

export class WireTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  /** Milliseconds of the monotonic clock at which the server was heard last. */
  heardAtMs = performance.now();
  #connect: Connect;
  #versions: readonly string[];
  #wire: Wire | undefined;
  #inFlight = new Map<number, InFlight>();
  #ended = false;
  #closing: Promise<void> | undefined;

  /** `versions` of the protocol that the SDK speaks. */
  constructor(connect: Connect, versions: readonly string[]) {
    this.#connect = connect;
    this.#versions = versions;
  }

  /** Errors: MCP_FAILED. */
  async start(): Promise<void> {
    this.#wire = await this.#connect({
      onMessage: (value) => this.#receive(value),
      onTrouble: () => this.onerror?.(failed('broken', 'the connection may be broken')),
      onClosed: () => this.#end(),
    });
    if (this.#ended) await this.close();
  }

  setProtocolVersion(version: string): void {
    this.#wire!.opened(version);
  }

  /** The failure of a request is delivered as its answer: the SDK then keeps nothing of it. Errors: MCP_FAILED for other messages. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ('method' in message && 'id' in message) return this.#request(message);
    if ('method' in message && message.method === 'notifications/cancelled') return this.#cancel(message);
    return this.#post(message);
  }

  close(): Promise<void> {
    this.#end();
    this.#closing ??= this.#wire?.close();
    return this.#closing ?? Promise.resolve();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const requests = [...this.#inFlight.values()];
    this.#inFlight.clear();
    this.onclose?.();
    for (const { sending } of requests) sending.abort();
  }

  async #request(message: JSONRPCRequest): Promise<void> {
    const id = Number(message.id);
    const sending = new AbortController();
    this.#inFlight.set(id, { method: message.method, sending });
    try {
      await this.#wire!.send(message as Message, sending.signal);
    } catch (thrown) {
      this.#fail(id, networkFailure(thrown));
    }
  }

  async #cancel(message: JSONRPCNotification): Promise<void> {
    const id = Number(message.params?.requestId);
    const request = this.#inFlight.get(id);
    this.#inFlight.delete(id);
    const posted = request && !NOT_CANCELLABLE.has(request.method) ? this.#post(message) : undefined;
    request?.sending.abort();
    await posted;
  }

  #post(message: JSONRPCMessage): Promise<void> {
    return this.#wire!.send(message as Message, AbortSignal.timeout(limits.mcp.connectMs));
  }

  /** One message or a batch of them. */
  #receive(value: unknown): void {
    this.heardAtMs = performance.now();
    for (const message of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (!isObject(message)) continue;
      if (typeof message.method === 'string') this.#receiveCall(message as unknown as Message & { method: string });
      else this.#receiveAnswer(message);
    }
  }

  #receiveCall({ id, method, params }: Message & { method: string }): void {
    if (typeof id === 'string' || Number.isInteger(id)) return this.onmessage?.({ jsonrpc, id: id!, method });
    if (id !== undefined) return;
    if (method === 'notifications/tools/list_changed') return this.onmessage?.({ jsonrpc, method });
    const progressToken = Number(params?.progressToken);
    if (method !== 'notifications/progress' || !this.#inFlight.has(progressToken)) return;
    this.onmessage?.({ jsonrpc, method, params: { progressToken, progress: Number(params!.progress) || 0 } });
  }

  #receiveAnswer(answer: Record<string, unknown>): void {
    // A server that could not read a request answers without its id.
    const [lone] = this.#inFlight.size === 1 ? this.#inFlight.keys() : [];
    const id = lone !== undefined && answer.id == null ? lone : Number(answer.id);
    const request = this.#inFlight.get(id);
    if (!request) return;
    const { result, error } = answer;
    if (isObject(error)) {
      const { message, code } = error;
      return this.#fail(id, failed('answer', text(message) || 'it answered with an error', { rpc_code: Number(code) }));
    }
    if (!isObject(result)) return this.#fail(id, failed('answer', `it answered with ${shape(result)} where a result is needed`));
    const isHello = request.method === 'initialize';
    const version = text(result.protocolVersion);
    if (isHello && !this.#versions.includes(version)) {
      const message = `it speaks version ${version || 'unknown'} of the protocol; known are ${this.#versions.join(', ')}`;
      return this.#fail(id, failed('answer', message, { permanent: true }));
    }
    this.#inFlight.delete(id);
    this.onmessage?.({ jsonrpc, id, result: isHello ? helloOf(result, version) : acceptable(result) });
  }

  /** The code is a placeholder: `failureOf` in session.ts takes the error itself. */
  #fail(id: number, failure: AgentError): void {
    if (this.#inFlight.delete(id)) this.onmessage?.({ jsonrpc, id, error: { code: -32_603, message: failure.message, data: failure } });
  }
}

/** Nothing else of it is used, and servers leave out or misspell the rest. */
const helloOf = ({ capabilities, instructions }: Record<string, unknown>, protocolVersion: string) => ({
  protocolVersion,
  capabilities: isObject(capabilities) && isObject(capabilities.tools) ? { tools: {} } : {},
  serverInfo: { name: 'server', version: 'unknown' },
  instructions: text(instructions),
});

/** Of the fields of a result the SDK checks `_meta`, and for the sake of `task` it would keep the request. */
const acceptable = ({ _meta, task: _task, ...result }: Record<string, unknown>) => result;

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const shape = (value: unknown): string =>
  value === undefined ? 'nothing' : Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`;
