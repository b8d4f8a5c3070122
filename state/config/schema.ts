/**
 * What config.yaml may say (contract §12, interface spec "Configuration keys shown"). One schema gives
 * the types, the checks and the list of known keys. Objects are loose: unknown keys are kept.
 */
import { z } from 'zod';
import { levels } from '../../base/log.ts';

const Port = z.number().int().min(0).max(65_535);
const Names = z.array(z.string());
const PositiveMs = z.number().int().min(1);

export const ProviderConfig = z.looseObject({
  kind: z.enum(['openai-compatible', 'openai', 'anthropic', 'google', 'demo']).optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of the variable in `.env` that holds the key; never the key itself. */
  key_env: z.string().optional(),
  models: Names.optional(),
  headers: z.record(z.string(), z.string()).optional(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

export const PlatformConfig = z.looseObject({
  enabled: z.boolean().optional(),
  host: z.string().optional(),
  port: Port.optional(),
  allowed_users: Names.optional(),
  home_channel: z.string().optional(),
  require_mention: z.boolean().optional(),
});
export type PlatformConfig = z.infer<typeof PlatformConfig>;

export const McpServerConfig = z.looseObject({
  command: z.string().optional(),
  args: Names.optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: z.string().optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  transport: z.enum(['stdio', 'http', 'sse']).optional(),
  enabled: z.boolean().optional(),
  timeout: z.number().positive().optional(),
  connect_timeout: z.number().positive().optional(),
});
export type McpServerConfig = z.infer<typeof McpServerConfig>;

const WorkerConfig = z.looseObject({
  startup_ms: PositiveMs.optional(),
  drain_ms: z.number().int().min(0).optional(),
  /** An on-demand worker leaves after this long without work. */
  idle_ms: PositiveMs.optional(),
  memory_soft_mb: z.number().positive().optional(),
  memory_hard_mb: z.number().positive().optional(),
});

/** Contract §12: a program of the user's that runs as a slot. */
export const SidecarConfig = z.looseObject({
  /** A path, or a name looked up in PATH. No shell. */
  command: z.string().min(1),
  args: Names.optional(),
  /** `${NAME}` in a value is read from `.env`. */
  env: z.record(z.string(), z.coerce.string()).optional(),
  cwd: z.string().optional(),
  after: Names.optional(),
  ready: z
    .union([
      z.literal('none'),
      z.strictObject({ log: z.string().refine(isPattern, 'it is not a regular expression') }),
      z.strictObject({ tcp: z.number().int().min(1).max(65_535) }),
      z.strictObject({ http: z.url({ protocol: /^https?$/ }) }),
      z.strictObject({ file: z.string().min(1) }),
    ])
    .optional(),
  stop_signal: z.enum(['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2', 'SIGKILL']).optional(),
  stop_grace_seconds: z.number().min(0).max(3_600).optional(),
  start_timeout_seconds: z.number().positive().max(3_600).optional(),
  memory_max_mb: z.number().positive().optional(),
  restart: z.enum(['always', 'on-failure', 'never']).optional(),
  enabled: z.boolean().optional(),
});
export type SidecarConfig = z.infer<typeof SidecarConfig>;

/** Taken by the service's own slots and logs. */
const RESERVED_SLOTS = new Set([
  'agent',
  'dashboard',
  'gateway',
  'cron',
  'mcp',
  'terminal',
  'supervisor',
  'desktop',
  'gui',
  'errors',
  'cli',
]);
const SidecarName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'a service is named with small letters, digits, - and _')
  .refine((name) => !RESERVED_SLOTS.has(name), 'the service itself uses this name');

function isPattern(text: string): boolean {
  try {
    return Boolean(new RegExp(text));
  } catch {
    return false;
  }
}

export const Config = z.looseObject({
  model: z
    .looseObject({
      default: z.string().optional(),
      provider: z.string().optional(),
      persist_switch_by_default: z.boolean().optional(),
    })
    .optional(),
  providers: z.record(z.string(), ProviderConfig).optional(),
  agent: z
    .looseObject({
      disabled_toolsets: Names.optional(),
      max_turns: z.number().int().min(1).optional(),
      reasoning_effort: z.string().optional(),
      system_prompt: z.string().optional(),
    })
    .optional(),
  /** `manual` (default): a real model gets no terminal until approvals are answered; `off`: it runs commands unasked. */
  approvals: z.looseObject({ mode: z.enum(['manual', 'off']).optional() }).optional(),
  platform_toolsets: z.record(z.string(), z.union([z.string(), Names])).optional(),
  display: z
    .looseObject({
      interface: z.enum(['cli', 'tui']).optional(),
      vim_mode: z.boolean().optional(),
      busy_input_mode: z.enum(['queue', 'interrupt', 'steer']).optional(),
    })
    .optional(),
  dashboard: z.looseObject({ host: z.string().optional(), port: Port.optional() }).optional(),
  platforms: z.record(z.string(), PlatformConfig).optional(),
  mcp_servers: z.record(z.string(), McpServerConfig).optional(),
  cron: z
    .looseObject({
      catch_up_missed: z.boolean().optional(),
      max_parallel_jobs: z.number().int().min(1).optional(),
      script_timeout_seconds: z.number().positive().optional(),
      wrap_response: z.boolean().optional(),
    })
    .optional(),
  logging: z
    .looseObject({
      level: z.enum(levels).optional(),
      /** A log is rotated at this size; so many old files stay beside it. */
      max_size_mb: z.number().positive().optional(),
      backup_count: z.number().int().min(0).max(9).optional(),
      /** All of logs/ and crash/ together. */
      budget_mb: z.number().positive().optional(),
    })
    .optional(),
  services: z.record(SidecarName, SidecarConfig).optional(),
  supervisor: z
    .looseObject({
      restart: z
        .looseObject({ base_ms: PositiveMs.optional(), max_ms: PositiveMs.optional(), healthy_ms: PositiveMs.optional() })
        .optional(),
      liveness: z.looseObject({ suspect_ms: PositiveMs.optional(), kill_ms: PositiveMs.optional() }).optional(),
      workers: z.record(z.string(), WorkerConfig).optional(),
    })
    .optional(),
  timezone: z.string().optional(),
});
export type Config = z.infer<typeof Config>;

/** Top-level keys that other parts of the product define or reserve; anything else is warned about once. */
export const reservedKeys: ReadonlySet<string> = new Set([
  'auxiliary',
  'delegation',
  'model_catalog',
  'model_aliases',
  'portal',
  'connections',
  'memory',
  'updates',
  'telemetry',
  'compression',
  'sessions',
  'skills',
  'toolsets',
  'gateway',
  'terminal',
  'quick_commands',
  'fallback_providers',
  'tools',
  'web',
  'personalities',
  'desktop',
  'database',
  '_config_version',
]);
