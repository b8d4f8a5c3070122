/** Models and settings of the gateway RPC. */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';
import { SessionInfo } from './rpcRecords.ts';

/** Contract §11. */
export const reasoningLevels = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export const ReasoningLevel = z.enum(reasoningLevels);
export type ReasoningLevel = z.infer<typeof ReasoningLevel>;

/**
 * `model`, `reasoning`, `fast`, `service_tier` answer what the session (or the profile) uses; any other key is a dotted
 * path of config.yaml. What a name calls a secret is not given out.
 */
export const configGet = rpcMethod('config.get', {
  params: z.strictObject({ key: z.string(), session_id: z.string().optional() }),
  result: z.looseObject({ key: z.string(), value: z.unknown() }),
});

/**
 * For `model` the value is a model with flags: `[provider:]model [--provider P] [--reasoning LEVEL] [--session|--global]`.
 * `reasoning` takes a level, `fast` one of on, off, auto, cold. Without a scope a plain model pick is for the session,
 * or for the profile when `model.persist_switch_by_default` is on or no model was configured yet. Errors:
 * MODEL_SWITCH_ERR_BAD_REASONING, UNKNOWN_MODEL, NO_PROVIDER, CONFIG_KEY, CONFIG_INVALID.
 */
export const configSet = rpcMethod('config.set', {
  params: z.strictObject({
    key: z.string(),
    value: z.union([z.string(), z.number(), z.boolean()]),
    session_id: z.string().optional(),
    scope: z.enum(['session', 'global', 'once']).optional(),
  }),
  result: z.looseObject({
    key: z.string(),
    value: z.unknown(),
    scope: z.enum(['session', 'global', 'once']),
    /** What the user should know: the level was clamped, the prompt cache starts anew. */
    warning: z.string().nullable(),
    info: SessionInfo.nullable(),
  }),
});

export const ModelRow = z.object({
  id: z.string(),
  name: z.string(),
  context_window: z.number().nullable(),
  max_output: z.number().nullable(),
  /** US dollars per million tokens. */
  price: z.object({ input: z.number(), output: z.number(), cache_read: z.number().nullable() }).nullable(),
  reasoning: z.array(ReasoningLevel),
  vision: z.boolean(),
  tools: z.boolean(),
});
export type ModelRow = z.infer<typeof ModelRow>;

export const ProviderRow = z.object({
  name: z.string(),
  kind: z.string(),
  /** Has what it needs to serve now. */
  usable: z.boolean(),
  /** Why not. */
  problem: z.string().nullable(),
  /** Found running on this machine, not in the configuration. */
  detected: z.boolean(),
  models: z.array(ModelRow),
  /** When the list was fetched, RFC 3339; null = from configuration and the built-in table alone. */
  fetched_at: z.string().nullable(),
  error: z.string().nullable(),
});
export type ProviderRow = z.infer<typeof ProviderRow>;

/** Providers and their models for a picker. Lists older than `model_catalog.ttl_minutes` are fetched again, at once with `refresh`. */
export const modelOptions = rpcMethod('model.options', {
  params: z.strictObject({
    refresh: z.boolean().optional(),
    include_unconfigured: z.boolean().optional(),
    session_id: z.string().optional(),
  }),
  result: z.object({
    current: z.object({ provider: z.string().nullable(), model: z.string().nullable(), reasoning: z.string().nullable() }),
    providers: z.array(ProviderRow),
    aliases: z.record(z.string(), z.string()),
  }),
  timeoutMs: 30_000,
});

export const setupStatus = rpcMethod('setup.status', {
  params: z.strictObject({}),
  result: z.object({
    ready: z.boolean(),
    provider_configured: z.boolean(),
    inference_provider: z.string().nullable(),
    model: z.string().nullable(),
    scripted: z.boolean(),
    free_tier: z.unknown().nullable(),
    other_providers: z.array(z.string()),
    message: z.string().nullable(),
  }),
});

/** Strict check with the resolver that turns use, of one provider or of the one in use; `probe` also asks its host for the list of models. */
export const setupRuntimeCheck = rpcMethod('setup.runtime_check', {
  params: z.strictObject({ provider: z.string().optional(), probe: z.boolean().optional() }),
  result: z.object({
    ok: z.boolean(),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    source: z.string().nullable(),
    error: z.string().nullable(),
  }),
  timeoutMs: 30_000,
});

/** Keeps an idle client counted as connected. */
export const clientPing = rpcMethod('client.ping', { params: z.strictObject({}), result: z.object({ at: z.string() }) });

/**
 * Reads MCP servers and tools afresh, also what had failed; new tools join sessions at the end of their pinned order.
 * `servers` counts those that are enabled, `tools` what they offer. Errors: PEER_UNREACHABLE.
 */
export const reloadMcp = rpcMethod('reload.mcp', {
  params: z.strictObject({ session_id: z.string().optional() }),
  result: z.object({
    servers: z.number(),
    tools: z.number(),
    added: z.array(z.string()),
    removed: z.array(z.string()),
    /** Enabled servers that did not connect. */
    failed: z.array(z.object({ name: z.string(), error: z.string() })),
  }),
  timeoutMs: 90_000,
});

export const settingMethods: readonly Method[] = [
  configGet,
  configSet,
  modelOptions,
  setupStatus,
  setupRuntimeCheck,
  clientPing,
  reloadMcp,
];
