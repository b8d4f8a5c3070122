/** What others ask of the MCP broker. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { method } from '../method.ts';

export const Tool = z.object({
  /** `mcp__<server>__<tool>`; characters outside [A-Za-z0-9_] become `_`. */
  name: z.string(),
  server: z.string(),
  /** Name the server knows it by. */
  tool: z.string(),
  description: z.string(),
  /** JSON Schema of the arguments, as the server sent it. */
  input_schema: z.record(z.string(), z.unknown()),
  /** What the server claims about it. */
  read_only: z.boolean(),
  destructive: z.boolean(),
  /** Of its server, as config.yaml says; null = not said. */
  trust: z.enum(['full', 'untrusted']).nullable(),
});
export type Tool = z.infer<typeof Tool>;

export const ServerState = z.object({
  name: z.string(),
  transport: z.enum(['stdio', 'http', 'sse', 'unknown']),
  state: z.enum(['disabled', 'idle', 'connecting', 'connected', 'retrying', 'failed']),
  tools: z.number(),
  pid: z.number().nullable(),
  error: z.string().nullable(),
  /** What to do about the error. */
  fix: z.string().nullable(),
  /** It answers 401 and no credentials are configured for it. */
  needs_sign_in: z.boolean(),
  /** When asked for: its tools in a stranger's words, cut to what a person reads; null = not known. */
  tool_list: z
    .array(z.object({ name: z.string(), description: z.string() }))
    .nullable()
    .optional(),
});
export type ServerState = z.infer<typeof ServerState>;

/** Tools of every connected server; connects what is configured and not yet tried. `version` changes with the set. */
export const listTools = method('mcp.tools.list', {
  params: z.object({ profile: z.string().optional() }),
  result: z.object({
    tools: z.array(Tool),
    /** What servers say about their use, in their own words; not of untrusted ones. */
    instructions: z.array(z.object({ server: z.string(), text: z.string() })),
    version: z.string(),
  }),
  timeoutMs: limits.mcp.connectMs + 5_000,
});

/** Errors: UNKNOWN_SERVER, MCP_FAILED, TOOL_UNKNOWN. Cancelling the call cancels it at the server. */
export const callTool = method('mcp.tools.call', {
  params: z.object({
    /** Either the full name, or server and tool. */
    name: z.string().optional(),
    server: z.string().optional(),
    tool: z.string().optional(),
    args: z.record(z.string(), z.unknown()).default({}),
    profile: z.string().optional(),
  }),
  result: z.object({
    /** Text blocks joined; other blocks described in brackets. */
    text: z.string(),
    content: z.array(z.unknown()),
    structured: z.unknown().optional(),
    is_error: z.boolean(),
  }),
  // Beside the call itself: connecting, and a ping after a call that timed out.
  timeoutMs: limits.mcp.callTotalMs + limits.mcp.connectMs + limits.mcp.pingMs + 5_000,
});

export const listServers = method('mcp.servers.list', {
  params: z.object({ profile: z.string().optional(), tools: z.boolean().default(false) }),
  result: z.object({ servers: z.array(ServerState) }),
});

/** Connects the configured server afresh, lists its tools, and says how long it took. Errors: UNKNOWN_SERVER. */
export const testServer = method('mcp.servers.test', {
  params: z.object({ name: z.string(), profile: z.string().optional() }),
  result: z.object({
    ok: z.boolean(),
    error: z.string().nullable(),
    fix: z.string().nullable(),
    ms: z.number(),
    tools: z.array(z.object({ name: z.string(), description: z.string() })),
  }),
  timeoutMs: limits.mcp.connectMs + 5_000,
});

/** Reads config.yaml again; servers whose settings did not change stay connected. */
export const reload = method('mcp.reload', {
  params: z.object({}),
  result: z.object({ started: z.array(z.string()), stopped: z.array(z.string()), kept: z.array(z.string()) }),
});
