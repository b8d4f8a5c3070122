/** MCP servers over HTTP (interface spec, http.6 and http.7; reference/clients §1.4). Settings are config.yaml's, states the broker's. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';

const tag = 'MCP';
const profile = z.string().max(100).optional();
const Name = z.object({ name: z.string().min(1).max(64) });
const Text = z.string().max(2_000);
const Values = z.record(z.string().max(100), z.string().max(8_000));

/** A stranger's words: to be shown as text. */
const ShownTool = z.object({ name: z.string(), description: z.string() });

export const McpServer = z.object({
  name: z.string(),
  transport: z.enum(['stdio', 'http', 'sse', 'unknown']),
  url: z.string().nullable(),
  command: z.string().nullable(),
  args: z.array(z.string()),
  /** Values are hidden; `${NAME}` is shown as it is. */
  env: z.record(z.string(), z.string()),
  headers: z.record(z.string(), z.string()),
  auth: z.enum(['header', 'oauth']).nullable(),
  enabled: z.boolean(),
  /** At most the first 200; null = not connected. */
  tools: z.array(ShownTool).nullable(),
  tool_count: z.number(),
  /** `unknown`: the broker does not answer. */
  state: z.enum(['disabled', 'idle', 'connecting', 'connected', 'retrying', 'failed', 'unknown']),
  needs_sign_in: z.boolean(),
  pid: z.number().nullable(),
  error: z.string().nullable(),
  fix: z.string().nullable(),
});
export type McpServer = z.infer<typeof McpServer>;

export const listMcpServers = httpRoute('GET /api/mcp/servers', {
  tag,
  summary: 'The servers of config.yaml with their live state and tools.',
  profile: true,
  result: z.object({ servers: z.array(McpServer), live: z.boolean() }),
  errors: ['CONFIG_INVALID'],
});

export const addMcpServerRoute = httpRoute('POST /api/mcp/servers', {
  tag,
  summary: 'Adds a server: a program (`command`, `args`, `env`) or an address (`url`, `headers`, `bearer_token`). Secrets go into .env.',
  profile: true,
  body: z.strictObject({
    name: z.string().min(1).max(64),
    url: Text.optional(),
    command: Text.optional(),
    args: z.array(Text).max(100).optional(),
    env: Values.optional(),
    headers: Values.optional(),
    transport: z.enum(['stdio', 'http', 'sse']).optional(),
    auth: z.enum(['none', 'header', 'oauth']).optional(),
    bearer_token: z.string().min(1).max(8_000).optional(),
    enabled: z.boolean().optional(),
    profile,
  }),
  result: z.object({ server: McpServer, variables: z.array(z.string()) }),
  status: 201,
  errors: ['INVALID_PARAMS', 'SERVER_EXISTS', 'CONFIG_INVALID', 'DISK_FULL'],
});

export const removeMcpServerRoute = httpRoute('DELETE /api/mcp/servers/:name', {
  tag,
  summary: 'Removes a server, and the variables of .env that were made for it.',
  profile: true,
  params: Name,
  result: z.object({ removed: z.string(), variables: z.array(z.string()) }),
  errors: ['UNKNOWN_SERVER', 'CONFIG_INVALID'],
});

export const testMcpServer = httpRoute('POST /api/mcp/servers/:name/test', {
  tag,
  summary: 'Connects a server afresh, with the variables of that profile, and lists its tools.',
  profile: true,
  params: Name,
  body: z.strictObject({ profile }),
  result: z.object({
    ok: z.boolean(),
    error: z.string().nullable(),
    fix: z.string().nullable(),
    ms: z.number(),
    tools: z.array(ShownTool),
  }),
  errors: ['UNKNOWN_SERVER'],
});

export const enableMcpServer = httpRoute('PUT /api/mcp/servers/:name/enabled', {
  tag,
  summary: 'Switches a server on or off; its settings stay.',
  profile: true,
  params: Name,
  body: z.strictObject({ enabled: z.boolean(), profile }),
  result: z.object({ server: McpServer }),
  errors: ['UNKNOWN_SERVER', 'CONFIG_INVALID'],
});

const CatalogField = z.object({
  name: z.string(),
  label: z.string(),
  help: z.string().nullable(),
  secret: z.boolean(),
  default: z.string().nullable(),
  optional: z.boolean(),
  /** Of a secret: .env has it already, so it need not be given. */
  set: z.boolean(),
});

export const McpCatalogEntry = z.object({
  name: z.string(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  homepage: z.string(),
  transport: z.enum(['stdio', 'http']),
  /** What is run or reached. */
  source: z.string(),
  fields: z.array(CatalogField),
  needs_sign_in: z.boolean(),
  installed: z.boolean(),
});
export type McpCatalogEntry = z.infer<typeof McpCatalogEntry>;

export const mcpCatalogRoute = httpRoute('GET /api/mcp/catalog', {
  tag,
  summary: 'Servers that are known to be of use, and what each needs.',
  profile: true,
  result: z.object({
    entries: z.array(McpCatalogEntry),
    diagnostics: z.array(z.object({ name: z.string(), kind: z.string(), message: z.string() })),
  }),
  errors: ['CONFIG_INVALID'],
});

export const installMcpServer = httpRoute('POST /api/mcp/catalog/install', {
  tag,
  summary: 'Runs `agent mcp install` for that profile; its progress is polled at `GET /api/actions/<action>/status`.',
  profile: true,
  body: z.strictObject({ name: z.string().min(1).max(64), env: Values.default({}), enable: z.boolean().default(true), profile }),
  result: z.object({ ok: z.literal(true), name: z.string(), background: z.literal(true), action: z.string(), pid: z.number() }),
  status: 202,
  errors: ['NOT_FOUND', 'INVALID_PARAMS', 'ACTION_RUNNING'],
});

/** Enough for the slowest line, with the test of the server after it. */
export const installTimeoutMs = limits.mcp.installMs + 2 * limits.mcp.connectMs;
