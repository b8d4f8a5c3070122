/**
 * What config.yaml may say (contract §12, interface spec "Configuration keys shown"). One schema gives
 * the types, the checks and the list of known keys. Objects are loose: unknown keys are kept.
 */
import { levels } from '../../base/closedWords.ts';
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { isZone } from '../../base/time.ts';

const Port = z.number().int().min(0).max(65_535);
const Names = z.array(z.string());
const PositiveMs = z.number().int().min(1);
/** An unquoted `~` (contract §12) is YAML's null: the home directory. */
const Folder = z.string().nullable();

/** Plain http only to this machine: tokens travel there. */
const SafeUrl = z.url({ protocol: /^https?$/ }).refine(isSafeUrl, 'only https, or http on this machine');

/** Signing in at a provider: a public client with PKCE or a device code; the secret of a client that has one stands in `.env`. */
export const ProviderOauth = z
  .looseObject({
    flow: z.enum(['pkce', 'device_code']),
    /** Where the browser goes (pkce). */
    authorization_url: SafeUrl.optional(),
    token_url: SafeUrl,
    /** Where a device code comes from (device_code). */
    device_url: SafeUrl.optional(),
    client_id: z.string().min(1),
    client_secret_env: z.string().optional(),
    scopes: z.union([Names, z.string()]).optional(),
    /** Where the provider sends the browser; by default a loopback address that is open for the sign-in alone. */
    redirect_uri: z.url().optional(),
    /** What the provider calls the service the token is for (RFC 8707). */
    resource: z.string().optional(),
    name: z.string().optional(),
    docs_url: z.url({ protocol: /^https?$/ }).optional(),
  })
  .refine(({ flow, device_url }) => flow !== 'device_code' || device_url !== undefined, {
    error: 'device_code needs a device_url',
    path: ['device_url'],
  })
  .refine(({ flow, authorization_url }) => flow !== 'pkce' || authorization_url !== undefined, {
    error: 'pkce needs an authorization_url',
    path: ['authorization_url'],
  });
export type ProviderOauth = z.infer<typeof ProviderOauth>;

function isSafeUrl(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d+){3}$/.test(hostname);
}

/** How long the first byte of an answer may take. */
const FirstByteSeconds = z
  .number()
  .min(1)
  .max(limits.turn.providerFirstByteMaxMs / 1_000);

export const ProviderConfig = z.looseObject({
  /** `openai` speaks the responses API, `openai-chat` its older chat API; `openrouter` is an aggregator; the last three are local servers. */
  kind: z
    .enum(['openai-compatible', 'openai', 'openai-chat', 'anthropic', 'google', 'openrouter', 'ollama', 'lmstudio', 'llamacpp', 'demo'])
    .optional(),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of the variable in `.env` that holds the key; never the key itself. */
  key_env: z.string().optional(),
  /** More keys of the same account or team: variables in `.env`. */
  pool: Names.optional(),
  models: Names.optional(),
  /** Tokens of the window, and US dollars per million tokens, by model: stand over the built-in table. */
  context_window: z.record(z.string(), z.number().int().positive()).optional(),
  prices: z
    .record(z.string(), z.looseObject({ input: z.number().min(0), output: z.number().min(0), cache_read: z.number().min(0).optional() }))
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  first_byte_timeout_seconds: FirstByteSeconds.optional(),
  oauth: ProviderOauth.optional(),
});
export type ProviderConfig = z.infer<typeof ProviderConfig>;

const Effort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
/** A model for one kind of side work; what is left out is as for the main model. */
const AuxiliaryConfig = z.looseObject({
  provider: z.string().optional(),
  model: z.string().optional(),
  reasoning_effort: Effort.optional(),
});

export const PlatformConfig = z.looseObject({
  enabled: z.boolean().optional(),
  host: z.string().optional(),
  port: Port.optional(),
  allowed_users: Names.optional(),
  /** Users who may do from a chat what the owner does: change the configuration. */
  owners: Names.optional(),
  /** MCP servers whose tools chats of this platform may use; none by default. */
  mcp_servers: Names.optional(),
  home_channel: z.string().optional(),
  require_mention: z.boolean().optional(),
});
export type PlatformConfig = z.infer<typeof PlatformConfig>;

export const McpServerConfig = z.looseObject({
  command: z.string().optional(),
  args: Names.optional(),
  env: z.record(z.string(), z.string()).optional(),
  cwd: Folder.optional(),
  url: z.url({ protocol: /^https?$/ }).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  transport: z.enum(['stdio', 'http', 'sse']).optional(),
  /** `oauth`: the server asks for a sign-in in the browser. A token stands in `headers`. */
  auth: z.enum(['none', 'header', 'oauth']).optional(),
  /** TLS to an HTTP server: a PEM file (with its key, or beside `client_key`), or `[cert, key]`, or `[cert, key, password]`. */
  client_cert: z.union([z.string().min(1), z.array(z.string().min(1)).min(2).max(3)]).optional(),
  client_key: z.string().min(1).optional(),
  /** False = unchecked; a path = the authorities of that PEM file. */
  ssl_verify: z.union([z.boolean(), z.string().min(1)]).optional(),
  enabled: z.boolean().optional(),
  timeout: z.number().positive().optional(),
  connect_timeout: z.number().positive().optional(),
  /** Seconds of silence after which it is asked whether it is still there. */
  keepalive_interval: z.number().min(5).optional(),
  /** `untrusted`: each tool that does not claim to read only is asked about; so is any other word. `full`: none is. */
  trust: z.string().min(1).optional(),
  /** Names as the server has them, or with `*`. With `include` no others, without those of `exclude`. */
  tools: z.looseObject({ include: Names.optional(), exclude: Names.optional() }).optional(),
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
  cwd: Folder.optional(),
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

/** What the words mean together is checked in signIn.ts: a wrong one concerns the dashboard alone, not the whole file. */
const DashboardConfig = z.looseObject({
  host: z.string().optional(),
  port: Port.optional(),
  /** What the place Files shows; default the home directory, where the agent's tools start. */
  files_root: z.string().min(1).optional(),
  /** The address that people type, when a proxy stands in front. */
  public_url: z.string().optional(),
  /** Addresses or networks whose X-Forwarded-… counts. */
  trusted_proxies: z.array(z.string()).max(limits.signIn.trustedProxiesMax).optional(),
  basic_auth: z
    .looseObject({
      username: z.string().max(limits.signIn.usernameMaxChars).optional(),
      /** `agent dashboard passwd` makes it, and writes it into .env. */
      password_hash: z.string().optional(),
      password: z.string().max(limits.signIn.passwordMaxChars).optional(),
      secret: z.string().optional(),
      session_ttl_seconds: z.number().int().min(60).max(limits.signIn.renewalsMaxSeconds).optional(),
    })
    .optional(),
  oauth: z
    .looseObject({
      /** Offers only this one of the two. */
      provider: z.enum(['self-hosted', 'portal']).optional(),
      /** Subjects or verified mail addresses; without it, whoever the provider signs in. */
      allowed_users: z.array(z.string()).max(limits.signIn.allowedUsersMax).optional(),
      self_hosted: z
        .looseObject({ issuer: z.string().optional(), client_id: z.string().optional(), scopes: z.string().optional() })
        .optional(),
    })
    .optional(),
});

export const Config = z.looseObject({
  model: z
    .looseObject({
      default: z.string().optional(),
      provider: z.string().optional(),
      persist_switch_by_default: z.boolean().optional(),
      /** Of every provider that names none. */
      first_byte_timeout_seconds: FirstByteSeconds.optional(),
      /** Short names for `provider:model`. */
      aliases: z.record(z.string(), z.string()).optional(),
    })
    .optional(),
  model_aliases: z.record(z.string(), z.string()).optional(),
  /** Interface spec: minutes between two looks at the lists of models; an explicit older `ttl_hours` is honoured. */
  model_catalog: z
    .looseObject({
      ttl_minutes: z.number().int().min(0).optional(),
      ttl_hours: z.number().min(0).optional(),
      /** False = no look at the usual ports of model servers on this machine. */
      detect_local: z.boolean().optional(),
    })
    .optional(),
  /** Tried in turn when the chosen provider fails: `provider`, or `provider:model`. */
  fallback_providers: Names.optional(),
  credential_pool_strategies: z.record(z.string(), z.enum(['fill_first', 'round_robin', 'least_used', 'random'])).optional(),
  /** By task: `compression`, `title`, `btw`, `web_extract`, `vision`. */
  auxiliary: z.record(z.string(), AuxiliaryConfig).optional(),
  delegation: z
    .looseObject({
      provider: z.string().optional(),
      model: z.string().optional(),
      reasoning_effort: Effort.optional(),
      max_turns: z.number().int().min(1).optional(),
      max_depth: z.number().int().min(0).max(3).optional(),
      max_concurrent: z.number().int().min(1).max(16).optional(),
    })
    .optional(),
  providers: z.record(z.string(), ProviderConfig).optional(),
  agent: z
    .looseObject({
      disabled_toolsets: Names.optional(),
      max_turns: z.number().int().min(1).optional(),
      reasoning_effort: Effort.optional(),
      /** `auto` and `cold` are the bounded fast modes (interface spec); `fast` and `normal` the static toggle. */
      service_tier: z.enum(['normal', 'fast', 'auto', 'cold']).optional(),
      fast_auto_seconds: z.number().min(0).optional(),
      system_prompt: z.string().optional(),
    })
    .optional(),
  approvals: z
    .looseObject({
      /** `manual` (default): dangerous calls are asked about; `smart`: an auxiliary model lets the plainly harmless pass; `off`: only what is never allowed is refused. */
      mode: z.enum(['manual', 'smart', 'off']).optional(),
      /** Seconds from the moment a card is on a screen. */
      timeout_seconds: z.number().positive().optional(),
      /** When nobody answers in time. */
      on_timeout: z.enum(['deny', 'halt', 'wait']).optional(),
      /** Scheduled jobs, and one-shot prompts of commands: nobody can be asked. */
      cron_mode: z.enum(['deny', 'approve']).optional(),
      single_query_mode: z.enum(['deny', 'approve']).optional(),
    })
    .optional(),
  /** How long a question of the model waits for its answer once it is shown, on every surface. */
  clarify: z.looseObject({ timeout_seconds: z.number().positive().optional() }).optional(),
  memory: z.looseObject({ write_approval: z.boolean().optional(), enabled: z.boolean().optional() }).optional(),
  skills: z
    .looseObject({
      disabled: Names.optional(),
      paths: Names.optional(),
      /** Where the files of upstream skills are fetched: `<base>/<owner>/<name>/HEAD/<path>/<file>`. */
      upstream_base_url: z.url({ protocol: /^https?$/ }).optional(),
    })
    .optional(),
  compression: z
    .looseObject({
      enabled: z.boolean().optional(),
      /** Share of the model's window at which a turn compresses before it goes on. */
      threshold: z.number().min(0.1).max(0.95).optional(),
      /** Share of the window that is left after it. */
      target_ratio: z.number().min(0.05).max(0.9).optional(),
      protect_last: z.number().int().min(0).optional(),
      protect_first: z.number().int().min(0).optional(),
    })
    .optional(),
  terminal: z
    .looseObject({
      timeout_seconds: z.number().positive().optional(),
      /** Names of variables that commands of the agent may see beside the usual ones. */
      env_passthrough: Names.optional(),
    })
    .optional(),
  sandbox: z
    .looseObject({
      /** What commands and file tools may change: the working directory, nothing, or whatever the user may. */
      level: z.enum(['workspace', 'read-only', 'none']).optional(),
      network: z.enum(['off', 'allowlist']).optional(),
      /** `example.org`, `*.example.org`, an address; with `:port` for others than 80 and 443. */
      hosts: Names.optional(),
      writable: Names.optional(),
      readable: Names.optional(),
    })
    .optional(),
  web: z
    .looseObject({
      /** `search`: a SearXNG or Brave-shaped endpoint. Hosts of private networks are refused unless listed. */
      search: z
        .looseObject({
          kind: z.enum(['searxng', 'brave']).optional(),
          base_url: z.url({ protocol: /^https?$/ }).optional(),
          key_env: z.string().optional(),
        })
        .optional(),
      allow_hosts: Names.optional(),
    })
    .optional(),
  sessions: z
    .looseObject({
      auto_prune: z.boolean().optional(),
      retention_days: z.number().positive().optional(),
      /** Hidden sessions (cron, delegation, `/bg`) go after this. */
      hidden_retention_days: z.number().positive().optional(),
    })
    .optional(),
  personalities: z.record(z.string(), z.string()).optional(),
  quick_commands: z
    .record(z.string(), z.looseObject({ type: z.enum(['exec', 'alias']), command: z.string().optional(), target: z.string().optional() }))
    .optional(),
  platform_toolsets: z.record(z.string(), z.union([z.string(), Names])).optional(),
  display: z
    .looseObject({
      interface: z.enum(['cli', 'tui']).optional(),
      vim_mode: z.boolean().optional(),
      busy_input_mode: z.enum(['queue', 'interrupt', 'steer']).optional(),
      /** Shown in the terminal chat. */
      skin: z.string().optional(),
      personality: z.string().optional(),
      show_reasoning: z.boolean().optional(),
      tool_progress: z.enum(['off', 'new', 'all', 'verbose']).optional(),
    })
    .optional(),
  dashboard: DashboardConfig.optional(),
  /** The account service; what it is good for comes with a sign-in there. */
  portal: z.looseObject({ base_url: z.string().optional() }).optional(),
  platforms: z.record(z.string(), PlatformConfig).optional(),
  mcp_servers: z.record(z.string(), McpServerConfig).optional(),
  cron: z
    .looseObject({
      catch_up_missed: z.boolean().optional(),
      max_parallel_jobs: z.number().int().min(1).optional(),
      script_timeout_seconds: z.number().positive().optional(),
      wrap_response: z.boolean().optional(),
      /** Also accept a signature of `POST /api/cron/fire` over the body alone, which whoever has read a request can repeat. */
      fire_body_signature: z.boolean().optional(),
      /** An outside scheduler that proves itself at `POST /api/cron/fire` with a JWT (contract §10). */
      fire_jwt: z
        .looseObject({
          /** Public keys of the issuer. */
          jwks_url: SafeUrl,
          /** `aud` has to be, or contain, exactly this. */
          audience: z.string().min(1),
          /** The claim `purpose` has to be exactly this: a token for something else does not fire jobs. */
          purpose: z.string().min(1),
          /** `iss` and `sub`, where written. */
          issuer: z.string().min(1).optional(),
          subject: z.string().min(1).optional(),
        })
        .optional(),
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
  timezone: z.string().refine(isZone, { error: 'write a time zone such as Europe/Berlin or UTC' }).optional(),
});
export type Config = z.infer<typeof Config>;

/** Top-level keys that are documented for later releases; this one ignores them. */
export const reservedKeys: ReadonlySet<string> = new Set([
  'connections',
  'updates',
  'telemetry',
  'toolsets',
  'gateway',
  'tools',
  'desktop',
  'database',
  '_config_version',
]);

/**
 * Which form of config.yaml this release reads and writes (reference, Config and profiles: numbered migrations,
 * the last 44 → 45). `_config_version` in a file names the form it was written in.
 */
export const LATEST_CONFIG_VERSION = 45;

/** A file that names no version is read as the latest. */
export function configVersions(config: Config): { config_version: number; latest_config_version: number } {
  const said = config._config_version;
  return { config_version: typeof said === 'number' ? said : LATEST_CONFIG_VERSION, latest_config_version: LATEST_CONFIG_VERSION };
}

/** Lessons 15: what a newer release wrote is read as far as it goes, and its owner is told. Null = nothing to tell. */
export function newerForm(config: Config): string | null {
  const { config_version, latest_config_version } = configVersions(config);
  return config_version > latest_config_version
    ? `it was written by a newer release (_config_version ${config_version}, this one reads up to ${latest_config_version})`
    : null;
}
