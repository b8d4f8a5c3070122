/**
 * The only file that knows the MCP SDK, loaded when the first server is connected (it costs 28 MB).
 * Turns a transport into a `Session` and the SDK's errors into MCP_FAILED with `facts.kind`, so that
 * another SDK can take its place behind the same functions.
 */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { abortReason, within } from '../../base/time.ts';
import type { HttpSettings } from './settings.ts';
import type { StdioChild } from './stdioChild.ts';
import { createTlsFetch, tlsFix } from './tls.ts';
import type { ServerAnswer } from './toolResult.ts';

export interface ServerTool {
  tool: string;
  description: string;
  inputSchema: Record<string, unknown>;
}

/** What was wrong: the server answered with an error, the connection broke, or nothing was reached at all. */
export type FailureKind = 'answer' | 'broken' | 'unreached';

export interface Session {
  listTools(signal: AbortSignal): Promise<ServerTool[]>;
  /** Errors: MCP_FAILED, TIMEOUT, and the signal's reason; then the server was told to cancel. */
  callTool(tool: string, args: Record<string, unknown>, options: { signal: AbortSignal; timeoutMs: number }): Promise<ServerAnswer>;
  /** Errors: MCP_FAILED. */
  ping(timeoutMs: number): Promise<void>;
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
export async function openStdioSession(child: StdioChild, options: SessionOptions): Promise<Session> {
  const { JSONRPCMessageSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const transport: Transport = {
    async start() {
      child.onLine = (line) => {
        const message = parseLine(line, (value) => JSONRPCMessageSchema.safeParse(value));
        if (message) transport.onmessage?.(message);
        else child.noteGarbage(line);
      };
      void child.ended.then(() => transport.onclose?.());
    },
    send: (message) => child.send(JSON.stringify(message)),
    async close() {
      child.onLine = () => {};
      transport.onclose?.();
    },
  };
  return openSession(transport, options);
}

function parseLine(line: string, check: (value: unknown) => { success: boolean; data?: JSONRPCMessage }): JSONRPCMessage | undefined {
  try {
    const parsed = check(JSON.parse(line));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
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

type Fetch = (input: string | URL, init?: RequestInit) => Promise<Response>;

async function openOver({ transport: kind, url, headers }: HttpSettings, options: SessionOptions, fetch?: Fetch): Promise<Session> {
  const init = { requestInit: { headers }, ...(fetch ? { fetch } : {}) };
  if (kind === 'sse') {
    const { SSEClientTransport } = await import('@modelcontextprotocol/sdk/client/sse.js');
    return openSession(new SSEClientTransport(new URL(url), init), options);
  }
  const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
  const transport = new StreamableHTTPClientTransport(new URL(url), init);
  const session = await openSession(transport, options);
  return {
    ...session,
    async close() {
      // Tells the server to forget the session; one that does not answer is left to its own clean-up.
      await within(transport.terminateSession(), { ms: limits.mcp.closeMs, what: 'the end of the session' }).catch(() => {});
      await session.close();
    },
  };
}

async function openSession(transport: Transport, options: SessionOptions): Promise<Session> {
  const [{ Client }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/client/index.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const client = new Client({ name: 'agent-service', version: options.version });
  let open = true;
  client.onclose = () => {
    if (!open) return;
    open = false;
    options.onClosed();
  };
  client.onerror = () => {
    if (open) options.onTrouble();
  };
  client.setNotificationHandler(types.ToolListChangedNotificationSchema, () => options.onToolsChanged());
  const close = async () => {
    open = false;
    await client.close();
  };
  try {
    const connecting = client.connect(transport, { timeout: options.connectMs, signal: options.signal });
    await within(connecting, { ms: options.connectMs, signal: options.signal, what: 'the MCP handshake' });
  } catch (thrown) {
    await close().catch(() => {});
    throw options.signal.aborted ? abortReason(options.signal) : failure(thrown, types);
  }
  return {
    async listTools(signal) {
      if (!client.getServerCapabilities()?.tools) return [];
      const tools: ServerTool[] = [];
      let cursor: string | undefined;
      do {
        const params = cursor === undefined ? {} : { cursor };
        const page = await client
          .request({ method: 'tools/list', params }, types.ListToolsResultSchema, { timeout: options.connectMs, signal })
          .catch((thrown: unknown) => Promise.reject(failure(thrown, types)));
        tools.push(...page.tools.map(({ name, description = '', inputSchema }) => ({ tool: name, description, inputSchema })));
        cursor = page.nextCursor === cursor ? undefined : page.nextCursor;
      } while (cursor !== undefined && tools.length < limits.mcp.toolsMax);
      return tools;
    },
    async callTool(tool, args, { signal, timeoutMs }) {
      try {
        const params = { name: tool, arguments: args };
        const result = await client.request({ method: 'tools/call', params }, types.CallToolResultSchema, { signal, timeout: timeoutMs });
        return { content: result.content, structured: result.structuredContent, isError: result.isError ?? false };
      } catch (thrown) {
        throw signal.aborted ? abortReason(signal) : failure(thrown, types);
      }
    },
    async ping(timeoutMs) {
      await client.ping({ timeout: timeoutMs }).catch((thrown: unknown) => Promise.reject(failure(thrown, types)));
    },
    close,
  };
}

type Types = typeof import('@modelcontextprotocol/sdk/types.js');

function failure(thrown: unknown, { McpError, ErrorCode }: Types): AgentError {
  if (thrown instanceof AgentError) return thrown;
  const message = messageOf(thrown);
  if (thrown instanceof McpError) {
    if (thrown.code === Number(ErrorCode.RequestTimeout)) return new AgentError('TIMEOUT', message, { cause: thrown });
    const kind: FailureKind = thrown.code === Number(ErrorCode.ConnectionClosed) ? 'broken' : 'answer';
    return new AgentError('MCP_FAILED', message, { cause: thrown, facts: { kind, rpc_code: thrown.code } });
  }
  const status = statusOf(thrown);
  const errno = errnoOf(thrown) ?? errnoOf((thrown as { cause?: unknown }).cause);
  // Refused, or unknown to a server that has forgotten the session: the request had no effect.
  const kind: FailureKind = errno === 'ECONNREFUSED' || errno === 'ENOTFOUND' || status === 404 ? 'unreached' : 'broken';
  const permanent = status !== undefined && status >= 400 && status < 500 && ![404, 408, 425, 429].includes(status);
  const fix = status === 401 || status === 403 ? 'check the credentials in its headers (values come from .env)' : tlsFix(thrown);
  return new AgentError('MCP_FAILED', errno ? `${message} (${errno})` : message, {
    cause: thrown,
    facts: { kind, ...(status === undefined ? {} : { status }), ...(permanent ? { permanent } : {}) },
    ...(fix === undefined ? {} : { fix }),
  });
}

/** HTTP status of the SDK's transport errors. */
function statusOf(thrown: unknown): number | undefined {
  const { code } = thrown as { code?: unknown };
  return typeof code === 'number' && code >= 300 && code < 600 ? code : undefined;
}
