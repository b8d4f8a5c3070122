/**
 * The MCP client: the SDK's handshake, requests, timeouts and progress over our wires, for tools, calls and pings. The
 * SDK is loaded with the first server (7 MB). Blocks and fields that are unknown are kept, an answer without a usable
 * result fails its request alone, and nothing is kept of a request that has ended.
 */
import { AgentError, isAgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, joinSignals, within } from '../../base/time.ts';
import { openHttpWire, type Fetch } from './httpWire.ts';
import type { HttpSettings } from './settings.ts';
import { openSseWire } from './sseWire.ts';
import type { StdioChild } from './stdioChild.ts';
import { createTlsFetch } from './tls.ts';
import type { ServerAnswer } from './toolResult.ts';
import { failed, type WireEvents } from './wire.ts';
import { isObject, shape, text, WireTransport, type Connect } from './wireTransport.ts';

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

/** Errors: MCP_FAILED. */
export function openStdioSession(child: StdioChild, options: SessionOptions): Promise<Session> {
  let receive: WireEvents['onMessage'] = () => {};
  child.onLine = (line) => {
    const value = parsed(line);
    if (isObject(value) && ('method' in value || 'id' in value)) receive(value);
    else child.noteGarbage(line);
  };
  const connect: Connect = (events) => {
    receive = events.onMessage;
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

interface RequestOptions {
  signal?: AbortSignal;
  timeoutMs: number;
  /** Progress prolongs it, up to this. */
  totalMs?: number;
}

async function openSession(connect: Connect, options: SessionOptions): Promise<Session> {
  const [{ Client }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  let open = true;
  // Not `client.onclose`, which also reports the SDK's own end of a handshake that failed.
  const watched: Connect = (events) => {
    const onClosed = () => {
      if (open) options.onClosed();
      open = false;
      events.onClosed();
    };
    return connect({ ...events, onClosed });
  };
  const transport = new WireTransport(watched, types.SUPPORTED_PROTOCOL_VERSIONS);
  const client = new Client({ name: 'agent-service', version: options.version });
  client.onerror = () => void (open && options.onTrouble());
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => options.onToolsChanged());

  // Not `client.close`: after a failed handshake it would not wait for the wire.
  const close = () => {
    open = false;
    return transport.close();
  };
  const { connectMs, signal } = options;
  try {
    const connecting = client.connect(transport, { timeout: connectMs });
    await within(connecting, { ms: connectMs, signal, what: 'the MCP handshake' });
  } catch (thrown) {
    await close();
    throw signal.aborted ? abortReason(signal) : failureOf(thrown, 'the MCP handshake');
  }

  async function request(method: string, params: Record<string, unknown>, { signal, timeoutMs, totalMs }: RequestOptions) {
    const giveUp = new AbortController();
    // The SDK leaves its listener on the signal for ever: this one ends with the request.
    using own = joinSignals(giveUp.signal, ...(signal ? [signal] : []));
    const progress = { onprogress() {}, resetTimeoutOnProgress: true, maxTotalTimeout: totalMs };
    const limit = { timeout: timeoutMs, ...(totalMs === undefined ? {} : progress) };
    try {
      return await client.request({ method, params }, types.ResultSchema, { signal: own.signal, ...limit });
    } catch (thrown) {
      if (signal?.aborted) throw abortReason(signal);
      const failure = failureOf(thrown, method);
      // At the limit of the total time the SDK does not cancel the request.
      if (failure.code === 'TIMEOUT') giveUp.abort(failure);
      throw failure;
    }
  }

  return {
    instructions: client.getInstructions() ?? '',
    listTools: (listing) => (client.getServerCapabilities()?.tools ? listTools(request, listing, connectMs) : Promise.resolve([])),
    async callTool(tool, args, { signal: calling, timeoutMs }) {
      const totalMs = Math.max(timeoutMs, limits.mcp.callTotalMs);
      // Not `client.callTool`, which compiles and enforces the output schemas of tools.
      const result = await request('tools/call', { name: tool, arguments: args }, { signal: calling, timeoutMs, totalMs });
      const { content, structuredContent: structured, isError } = result;
      const blocks: unknown[] = Array.isArray(content) ? content : content == null ? [] : [content];
      return { content: blocks, ...(structured == null ? {} : { structured }), isError: isError === true };
    },
    async ping(timeoutMs) {
      await request('ping', {}, { timeoutMs });
    },
    heardAtMs: () => transport.heardAtMs,
    close,
  };
}

/** The SDK's code for a request that timed out. */
const REQUEST_TIMEOUT = -32_001;

/** What was wrong with `what`. A server may answer with any of the SDK's own codes: its errors come as the data of the SDK's. */
function failureOf(thrown: unknown, what: string): AgentError {
  if (isAgentError(thrown)) return thrown;
  const { code, data } = thrown as { code?: unknown; data?: { timeout?: number; maxTotalTimeout?: number } };
  if (isAgentError(data)) return data;
  if (code !== REQUEST_TIMEOUT) return failed('broken', 'the connection was closed', { cause: thrown });
  return new AgentError('TIMEOUT', `${what} took longer than ${data?.timeout ?? data?.maxTotalTimeout} ms`, { cause: thrown });
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

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
