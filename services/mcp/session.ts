/**
 * The MCP client: handshake, tools, calls, pings over any wire. Reads what servers really send: blocks and fields
 * that are unknown are kept, an answer without a usable result fails its request alone. A request is cancelled at
 * the server only while it is in flight, and never the handshake.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason } from '../../base/time.ts';
import { openHttpWire, type Fetch } from './httpWire.ts';
import type { HttpSettings } from './settings.ts';
import { openSseWire } from './sseWire.ts';
import type { StdioChild } from './stdioChild.ts';
import { createTlsFetch } from './tls.ts';
import type { ServerAnswer } from './toolResult.ts';
import { failed, networkFailure, type Message, type Wire, type WireEvents } from './wire.ts';

export interface ServerTool {
  tool: string;
  description: string;
  inputSchema: Record<string, unknown>;
  /** What the server claims about it. */
  hints: { readOnly: boolean; destructive: boolean };
}

export interface Session {
  /** What the server says about its use; empty when it says nothing. */
  readonly instructions: string;
  /** Errors: MCP_FAILED, TIMEOUT. */
  listTools(signal: AbortSignal): Promise<ServerTool[]>;
  /** `timeoutMs` counts from the last progress. Errors: MCP_FAILED, TIMEOUT, and the signal's reason; then the server was told to cancel. */
  callTool(tool: string, args: Record<string, unknown>, options: { signal: AbortSignal; timeoutMs: number }): Promise<ServerAnswer>;
  /** Errors: MCP_FAILED, TIMEOUT. */
  ping(timeoutMs: number): Promise<void>;
  /** Milliseconds of the monotonic clock at which it was heard last. */
  heardAtMs(): number;
  close(): Promise<void>;
}

export interface SessionOptions {
  version: string;
  connectMs: number;
  signal: AbortSignal;
  onToolsChanged(): void;
  /** The connection may be broken; only `ping` tells. */
  onTrouble(): void;
  onClosed(): void;
}

const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'];

type Connect = (events: WireEvents) => Wire | Promise<Wire>;

/** Errors: MCP_FAILED. */
export function openStdioSession(child: StdioChild, options: SessionOptions): Promise<Session> {
  const connect: Connect = (events) => {
    child.onLine = (line) => {
      const value = parsed(line);
      if (isObject(value) && ('method' in value || 'id' in value)) events.onMessage(value);
      else child.noteGarbage(line);
    };
    void child.ended.then(() => events.onClosed());
    return {
      send: (message) => child.send(JSON.stringify(message)),
      opened() {},
      async close() {
        child.onLine = () => {};
      },
    };
  };
  return openSession(connect, options);
}

/** Errors: MCP_FAILED. */
export async function openHttpSession({ tls, ...settings }: HttpSettings, options: SessionOptions): Promise<Session> {
  if (!tls) return openOver(settings, options);
  const own = createTlsFetch(tls);
  try {
    const session = await openOver(settings, options, own.fetch);
    return { ...session, close: () => session.close().finally(own.close) };
  } catch (thrown) {
    own.close();
    throw thrown;
  }
}

async function openOver(settings: HttpSettings, options: SessionOptions, fetch?: Fetch): Promise<Session> {
  const parts = { url: settings.url, headers: settings.headers, fetch };
  const overSse = () => openSession((events) => openSseWire(parts, events, options.signal), options);
  if (settings.transport === 'sse') return overSse();
  try {
    return await openSession((events) => openHttpWire(parts, events), options);
  } catch (thrown) {
    const status = thrown instanceof AgentError ? thrown.facts?.status : undefined;
    if (!settings.guessed || (status !== 404 && status !== 405)) throw thrown;
    // The transport before Streamable HTTP knows no POST to its address (MCP, Transports, Backwards Compatibility).
    return overSse().catch(() => Promise.reject(thrown));
  }
}

interface Pending {
  resolve(result: Record<string, unknown>): void;
  reject(thrown: unknown): void;
  /** The server works on it: the time starts again. */
  progress(): void;
}

interface RequestOptions {
  signal?: AbortSignal | undefined;
  timeoutMs: number;
  /** The handshake must not be cancelled. */
  cancellable?: boolean;
  /** Progress prolongs it, up to this. */
  totalMs?: number;
}

async function openSession(connect: Connect, options: SessionOptions): Promise<Session> {
  const pending = new Map<number, Pending>();
  let nextId = 0;
  let heardAtMs = performance.now();
  let open = true;

  const end = () => {
    for (const { reject } of pending.values()) reject(failed('broken', 'the connection was closed'));
  };
  const receive = (value: unknown): void => {
    heardAtMs = performance.now();
    for (const message of Array.isArray(value) ? (value as unknown[]) : [value]) {
      if (!isObject(message)) continue;
      if (typeof message.method === 'string') receiveCall(message as unknown as Message & { method: string });
      else receiveAnswer(message);
    }
  };
  const receiveCall = ({ id, method, params }: Message & { method: string }): void => {
    if (id !== undefined) {
      const error = { code: -32_601, message: `${method} is not supported` };
      return post(method === 'ping' ? { jsonrpc: '2.0', id, result: {} } : { jsonrpc: '2.0', id, error });
    }
    if (method === 'notifications/tools/list_changed') options.onToolsChanged();
    else if (method === 'notifications/progress') pending.get(Number(params?.progressToken))?.progress();
  };
  const receiveAnswer = ({ id, result, error }: Record<string, unknown>): void => {
    // A server that could not read a request answers without its id.
    const waiting = id == null && pending.size === 1 ? [...pending.values()][0] : pending.get(Number(id));
    if (isObject(error)) {
      const { message, code } = error;
      return waiting?.reject(failed('answer', text(message) || 'it answered with an error', { rpc_code: Number(code) }));
    }
    if (isObject(result)) return waiting?.resolve(result);
    waiting?.reject(failed('answer', `it answered with ${shape(result)} where a result is needed`));
  };

  const wire = await connect({
    onMessage: receive,
    onTrouble: () => open && options.onTrouble(),
    onClosed() {
      if (open) options.onClosed();
      open = false;
      end();
    },
  });
  const never = new AbortController().signal;
  const post = (message: Message): void => void wire.send(message, never).catch(() => open && options.onTrouble());

  function request(method: string, params: Record<string, unknown>, given: RequestOptions): Promise<Record<string, unknown>> {
    const { signal, timeoutMs, cancellable = true, totalMs = timeoutMs } = given;
    const id = nextId++;
    const sending = new AbortController();
    const answer = Promise.withResolvers<Record<string, unknown>>();
    const giveUp = (reason: unknown) => {
      if (!pending.has(id)) return;
      const why = reason instanceof Error ? reason.message : 'cancelled';
      if (cancellable && open) post({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason: why } });
      answer.reject(reason);
      sending.abort(reason);
    };
    const onAbort = () => giveUp(abortReason(signal!));
    const endsAtMs = performance.now() + totalMs;
    const expire = () => giveUp(new AgentError('TIMEOUT', `${method} took longer than ${timeoutMs} ms`));
    let timer = setTimeout(expire, timeoutMs);
    const progress = () => {
      clearTimeout(timer);
      timer = setTimeout(expire, Math.min(timeoutMs, endsAtMs - performance.now()));
    };
    if (signal?.aborted) answer.reject(abortReason(signal));
    else {
      signal?.addEventListener('abort', onAbort, { once: true });
      pending.set(id, { resolve: answer.resolve, reject: answer.reject, progress });
      wire.send({ jsonrpc: '2.0', id, method, params }, sending.signal).catch((thrown: unknown) => answer.reject(networkFailure(thrown)));
    }
    return answer.promise.finally(() => {
      clearTimeout(timer);
      pending.delete(id);
      signal?.removeEventListener('abort', onAbort);
    });
  }

  const close = async () => {
    open = false;
    await wire.close();
    end();
  };
  const { connectMs, signal } = options;
  let hello: Record<string, unknown>;
  try {
    const params = { protocolVersion: VERSIONS[0], capabilities: {}, clientInfo: { name: 'agent-service', version: options.version } };
    hello = await request('initialize', params, { signal, timeoutMs: connectMs, cancellable: false });
    const version = text(hello.protocolVersion);
    if (!VERSIONS.includes(version)) {
      throw failed('answer', `it speaks version ${version || 'unknown'} of the protocol; known are ${VERSIONS.join(', ')}`, {
        permanent: true,
      });
    }
    wire.opened(version);
    await wire.send({ jsonrpc: '2.0', method: 'notifications/initialized' }, signal);
  } catch (thrown) {
    await close().catch(() => {});
    throw signal.aborted ? abortReason(signal) : thrown;
  }
  const hasTools = isObject(hello.capabilities) && isObject(hello.capabilities.tools);

  return {
    instructions: text(hello.instructions),
    listTools: (listing) => (hasTools ? listTools(request, listing, connectMs) : Promise.resolve([])),
    async callTool(tool, args, { signal: calling, timeoutMs }) {
      const params = { name: tool, arguments: args, _meta: { progressToken: nextId } };
      const result = await request('tools/call', params, {
        signal: calling,
        timeoutMs,
        totalMs: Math.max(timeoutMs, limits.mcp.callTotalMs),
      });
      const { content, structuredContent: structured, isError } = result;
      const blocks: unknown[] = Array.isArray(content) ? content : content == null ? [] : [content];
      return { content: blocks, ...(structured == null ? {} : { structured }), isError: isError === true };
    },
    async ping(timeoutMs) {
      await request('ping', {}, { timeoutMs, cancellable: false });
    },
    heardAtMs: () => heardAtMs,
    close,
  };
}

type Request = (method: string, params: Record<string, unknown>, options: RequestOptions) => Promise<Record<string, unknown>>;

/** Bounded in pages, tools and time together: a server may name a next page for ever. */
async function listTools(request: Request, signal: AbortSignal, connectMs: number): Promise<ServerTool[]> {
  const tools: ServerTool[] = [];
  const seen = new Set<string>();
  const endsAtMs = performance.now() + connectMs;
  let cursor: string | undefined;
  do {
    const timeoutMs = endsAtMs - performance.now();
    if (timeoutMs <= 0) throw new AgentError('TIMEOUT', `listing its tools took longer than ${connectMs} ms`);
    const page = await request('tools/list', cursor === undefined ? {} : { cursor }, { signal, timeoutMs });
    if (!Array.isArray(page.tools)) throw failed('answer', `it lists ${shape(page.tools)} where tools are needed`);
    tools.push(...(page.tools as unknown[]).flatMap((each) => toolOf(each) ?? []));
    cursor = typeof page.nextCursor === 'string' && !seen.has(page.nextCursor) ? page.nextCursor : undefined;
    if (cursor !== undefined) seen.add(cursor);
  } while (cursor !== undefined && tools.length <= limits.mcp.toolsMax && seen.size < limits.mcp.pagesMax);
  return tools;
}

function toolOf(value: unknown): ServerTool | undefined {
  if (!isObject(value) || typeof value.name !== 'string' || value.name === '') return undefined;
  const { name, description, inputSchema, annotations } = value;
  const hints = isObject(annotations) ? annotations : {};
  return {
    tool: name,
    description: text(description),
    inputSchema: isObject(inputSchema) ? inputSchema : { type: 'object' },
    hints: { readOnly: hints.readOnlyHint === true, destructive: hints.destructiveHint === true },
  };
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const shape = (value: unknown): string =>
  value === undefined ? 'nothing' : Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`;

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
