/**
 * The one table of error codes and the one error class that carries them over process boundaries.
 * An expected outcome is a member of a result union; an operating error is an AgentError; a
 * programmer's error is an assertion that crashes the worker. docs/ERRORS.md mirrors the table.
 */

export interface ErrorKind {
  /** JSON-RPC number (contract §5 and §8). */
  rpc: number;
  /** May the same call succeed later without a change? */
  retry: boolean;
  /**
   * What it means for work that was accepted (a message, a prompt, a run of a job): `waits` = the cause lies outside of the
   * work, which is kept and tried again until the cause is gone. Absent: the work fails permanently.
   */
  accepted?: 'waits';
  /** What it means, in one sentence for docs/ERRORS.md. */
  means: string;
}

export const errorTable = {
  // transport
  PEER_GONE: { rpc: 5001, retry: true, accepted: 'waits', means: 'The process at the other end of the socket ended before it answered.' },
  PEER_UNREACHABLE: { rpc: 5002, retry: true, accepted: 'waits', means: 'Nothing listens on that socket within the time given.' },
  BAD_TOKEN: { rpc: 5003, retry: false, accepted: 'waits', means: 'The hello carried no token or the wrong one.' },
  PROTOCOL_MISMATCH: { rpc: 5004, retry: false, accepted: 'waits', means: 'The two processes speak different protocol versions.' },
  FRAME_TOO_LARGE: { rpc: 5005, retry: false, means: 'A message is over the frame limit of 16 MiB.' },
  FRAME_MALFORMED: { rpc: 5006, retry: false, accepted: 'waits', means: 'The bytes on the socket are not framed JSON-RPC.' },
  TIMEOUT: { rpc: 5007, retry: true, accepted: 'waits', means: 'The call did not answer within its limit.' },
  CANCELLED: { rpc: -32800, retry: false, means: 'The caller withdrew the call.' },
  TOO_MANY_CONNECTIONS: { rpc: 5008, retry: true, accepted: 'waits', means: 'The socket already holds as many connections as it accepts.' },
  PARSE_ERROR: { rpc: -32700, retry: false, means: 'A message is not JSON.' },
  INVALID_REQUEST: { rpc: -32600, retry: false, means: 'A message is JSON, but not a JSON-RPC 2.0 request, notification or response.' },
  METHOD_NOT_FOUND: { rpc: -32601, retry: false, means: 'The process does not know that method.' },
  METHOD_NOT_ALLOWED: { rpc: 4005, retry: false, means: 'The address exists, but not for that HTTP method.' },
  INVALID_PARAMS: {
    rpc: -32602,
    retry: false,
    means: 'The parameters of a call between processes are wrong; the message names the field.',
  },
  INTERNAL: { rpc: 5000, retry: false, means: 'A defect in the service; the log of the worker holds the stack.' },
  DRAINING: { rpc: 5010, retry: true, accepted: 'waits', means: 'The worker is on its way out and takes no new work.' },
  // gateway RPC
  BAD_REQUEST: {
    rpc: 4000,
    retry: false,
    means: 'The parameters of a gateway RPC call or an HTTP request are wrong; the message names the field.',
  },
  UNKNOWN_SESSION: { rpc: 4001, retry: false, means: 'No session has that id.' },
  MISSING_SESSION: { rpc: 4006, retry: false, means: 'The call needs a session_id and has none.' },
  BUSY: { rpc: 4009, retry: true, accepted: 'waits', means: 'The session is busy and its queue is full.' },
  KEY_REUSED: { rpc: 4011, retry: false, means: 'The idempotency key was used before, with another text; nothing was stored.' },
  ATTACHMENT_GONE: { rpc: 4010, retry: false, means: 'A message names that file, but its copy is no longer on the disk.' },
  // slots
  UNKNOWN_SLOT: { rpc: 4101, retry: false, means: 'No slot has that name.' },
  SLOT_PARKED: {
    rpc: 4102,
    retry: false,
    accepted: 'waits',
    means: 'The slot is parked after permanent failures; its reason says what to fix.',
  },
  START_FAILED: { rpc: 4103, retry: true, accepted: 'waits', means: 'The process did not become ready.' },
  STOP_FAILED: { rpc: 4104, retry: false, accepted: 'waits', means: 'Part of the process group could not be proved dead.' },
  SUPERSEDED: { rpc: 4105, retry: true, accepted: 'waits', means: 'A newer command on the same slot took over.' },
  NO_SUPERVISOR: { rpc: 4106, retry: true, accepted: 'waits', means: 'No supervisor runs on this home.' },
  ALREADY_RUNNING: { rpc: 4107, retry: false, means: 'Another process already owns this home, slot or port.' },
  NOT_RESPONDING: { rpc: 4108, retry: true, means: 'The supervisor process is alive but does not answer.' },
  // state
  CONFIG_INVALID: {
    rpc: 4201,
    retry: false,
    accepted: 'waits',
    means: 'config.yaml cannot be used; the message names file, line, column and what to write.',
  },
  CONFIG_LOCKOUT: {
    rpc: 4210,
    retry: false,
    means: 'The change would close the dashboard to its own user; nothing was written, and the message says what to do first.',
  },
  CONFIG_CHANGED: { rpc: 4214, retry: false, means: 'The file was changed by somebody else since it was read; nothing was written.' },
  ENV_INVALID: { rpc: 4215, retry: false, means: 'The name or the value cannot stand in .env; the message says why.' },
  CONFIG_KEY: { rpc: 4202, retry: false, means: 'The dotted key is malformed, unknown where it must be known, or would shadow a sibling.' },
  HOME_UNUSABLE: { rpc: 4203, retry: false, accepted: 'waits', means: 'The home directory cannot be read or written.' },
  UNKNOWN_PROFILE: { rpc: 4204, retry: false, means: 'No profile has that name.' },
  LOCK_HELD: { rpc: 4205, retry: true, accepted: 'waits', means: 'Another living process holds the lock; the message names it.' },
  RESTART_REFUSED: {
    rpc: 4111,
    retry: false,
    means: 'Nothing would start the supervisor again: it runs in a terminal or as the first process of a container.',
  },
  PACKAGE_INCOMPLETE: {
    rpc: 4219,
    retry: true,
    accepted: 'waits',
    means: 'The installed package lacks files; it is being replaced or was damaged.',
  },
  DISK_FULL: { rpc: 4206, retry: true, accepted: 'waits', means: 'The disk is full; nothing was changed.' },
  STORE_CORRUPT: {
    rpc: 4207,
    retry: false,
    accepted: 'waits',
    means: 'A database failed its integrity check; the message names the recovery command.',
  },
  STORE_REPLACED: {
    rpc: 4218,
    retry: true,
    accepted: 'waits',
    means: 'A database was deleted or replaced while its worker had it open; it was written back.',
  },
  STORE_BUSY: { rpc: 4208, retry: true, accepted: 'waits', means: 'The database stayed locked past its limit.' },
  PORT_IN_USE: {
    rpc: 4209,
    retry: true,
    means: 'The TCP port is taken; the message names the process that holds it where it can be seen.',
  },
  PROFILE_EXISTS: { rpc: 4216, retry: false, means: 'A profile, or something else, has that name already.' },
  PROFILE_RUNS: {
    rpc: 4217,
    retry: false,
    means: 'A worker of the profile runs; it has to be stopped before the profile is renamed or deleted.',
  },
  // service managers
  SERVICE_UNUSABLE: {
    rpc: 4211,
    retry: false,
    means: 'No service manager can be used here (no systemd, no user bus, no launchd); the message says what is missing.',
  },
  SERVICE_REFUSED: { rpc: 4212, retry: false, means: 'The installation could never boot as it is, so it was not made a service.' },
  SERVICE_FAILED: { rpc: 4213, retry: true, means: 'The service manager refused or did not do what it said; the message has its words.' },
  // agent
  NO_PROVIDER: { rpc: 4301, retry: false, means: 'No model provider is configured (no_provider_configured).' },
  PROVIDER_FAILED: { rpc: 4302, retry: true, means: 'The model provider answered with an error or not at all.' },
  REDIRECT_REFUSED: {
    rpc: 4317,
    retry: false,
    means: 'A server sends a request that carries a key on to another origin; the key stays where it was given for.',
  },
  PROVIDER_CUT: { rpc: 4303, retry: true, means: 'The provider ended the stream early; the text received so far is kept.' },
  CONTENT_FILTERED: { rpc: 4315, retry: false, means: 'The provider withheld the answer, or the rest of it; what had arrived is kept.' },
  OUTPUT_LIMIT: {
    rpc: 4355,
    retry: false,
    means: 'Several answers in a row reached the output limit of the model within a tool call; incomplete calls are never run.',
  },
  CONTEXT_OVERFLOW: {
    rpc: 4309,
    retry: false,
    means: "The conversation is larger than the model's window; a turn compresses and asks again.",
  },
  UNKNOWN_MODEL: { rpc: 4310, retry: false, means: 'The model cannot be used: its provider is unknown or lacks what it needs.' },
  MODEL_SWITCH_ERR_BAD_REASONING: { rpc: 4311, retry: false, means: 'No reasoning level has that name.' },
  PROVIDER_SIGN_IN: { rpc: 4313, retry: false, means: 'The model provider wants a sign-in, or no longer takes the one it gave.' },
  PROVIDER_SIGN_IN_FAILED: {
    rpc: 4314,
    retry: true,
    means: 'A sign-in at a model provider did not come to its end; what was stored before is kept.',
  },
  TOOL_UNKNOWN: { rpc: 4304, retry: false, means: 'No tool has that name in this session.' },
  TOOL_REFUSED: { rpc: 4305, retry: false, means: 'A policy refuses this tool here; the message says which and how to allow it.' },
  SANDBOX_FAILED: { rpc: 4364, retry: true, means: 'The sandbox around a command could not be started; the message says why.' },
  NOT_PERMITTED: {
    rpc: 4361,
    retry: false,
    means: 'Chat users, webhooks or jobs may not do this; the message says what was refused and who may do it.',
  },
  TOOL_TIMEOUT: { rpc: 4306, retry: false, means: 'The tool ran into the deadline guard (tool_timeout).' },
  ITERATION_LIMIT: { rpc: 4307, retry: false, means: 'The turn reached its limit of model calls (agent.max_turns) before it was done.' },
  CONTEXT_EXHAUSTED: {
    rpc: 4312,
    retry: false,
    means: 'The conversation no longer fits the model, and compression could not make it smaller.',
  },
  TURN_CUT: {
    rpc: 4308,
    retry: true,
    means: 'The agent worker ended in mid-turn; what had been received is kept, tools are not run again.',
  },
  SEARCH_FAILED: { rpc: 4331, retry: true, means: 'The search index could not answer; conversations go on without it.' },
  ANALYTICS_FAILED: { rpc: 4332, retry: true, means: 'What conversations cost could not be computed; conversations go on without it.' },
  SKILL_UNREACHABLE: { rpc: 4320, retry: true, means: 'The files of an upstream skill could not be fetched, and no copy is kept.' },
  FILE_FAILED: { rpc: 4350, retry: false, means: 'A tool could not read or write a file; the message names it and the reason.' },
  WEB_REFUSED: {
    rpc: 4351,
    retry: false,
    means: 'The address is not one of the public web; `web.allow_hosts` in config.yaml opens a host.',
  },
  WEB_FAILED: { rpc: 4352, retry: true, means: 'A web page or the search service could not be reached or answered with an error.' },
  UNKNOWN_PROCESS: { rpc: 4353, retry: false, means: 'No background command of the terminal tool has that id.' },
  TOO_MANY_PROCESSES: { rpc: 4354, retry: true, means: 'As many background commands run as a session, or the worker, allows.' },
  NOT_ANSWERED: {
    rpc: 4321,
    retry: false,
    means: 'A question to the owner was not answered in time, and approvals.on_timeout ends the turn then.',
  },
  // delivery and automation
  PAUSED: { rpc: 4401, retry: true, accepted: 'waits', means: 'Automation is paused; `agent resume` lifts it.' },
  UNKNOWN_TARGET: { rpc: 4402, retry: false, means: 'No platform or chat answers to that delivery target.' },
  UNKNOWN_JOB: { rpc: 4403, retry: false, means: 'No cron job has that id.' },
  BAD_SCHEDULE: { rpc: 4404, retry: false, means: 'The schedule cannot be read; the message lists the accepted forms.' },
  PLATFORM_DOWN: { rpc: 4405, retry: true, accepted: 'waits', means: 'The chat platform is not connected at the moment.' },
  QUEUE_FULL: { rpc: 4406, retry: true, accepted: 'waits', means: 'A bounded queue is full; nothing was accepted.' },
  // mcp
  SERVER_EXISTS: { rpc: 4505, retry: false, means: 'An MCP server has that name already.' },
  UNKNOWN_SERVER: { rpc: 4501, retry: false, means: 'No MCP server has that name in config.yaml.' },
  MCP_FAILED: { rpc: 4502, retry: true, means: 'The MCP server could not be reached or answered with an error.' },
  // terminal
  TOO_MANY_TERMINALS: { rpc: 4601, retry: true, means: 'As many terminals are open as the worker allows.' },
  UNKNOWN_TERMINAL: { rpc: 4602, retry: false, means: 'No open terminal has that id.' },
  TERMINAL_UNAVAILABLE: { rpc: 4603, retry: false, means: 'The native module of terminals is not built; the fix names what to install.' },
  // dashboard
  UNAUTHENTICATED: {
    rpc: 4801,
    retry: false,
    means: 'The request carries no valid session token and nobody is signed in, or its signature does not verify.',
  },
  FORBIDDEN_ORIGIN: { rpc: 4802, retry: false, means: 'The Host or Origin header names another site (guard against DNS rebinding).' },
  SIGN_IN_FAILED: {
    rpc: 4803,
    retry: false,
    means: 'The user name or the password is wrong, or the identity provider did not let the user in.',
  },
  SIGN_IN_UNAVAILABLE: {
    rpc: 4804,
    retry: true,
    means: 'The identity provider cannot be reached, or answers with what cannot be trusted.',
  },
  TOO_MANY_TRIES: { rpc: 4805, retry: true, means: 'As many sign-ins were tried from this address as a minute allows.' },
  FORBIDDEN_REQUEST: {
    rpc: 4806,
    retry: false,
    means: 'The request of a signed-in browser lacks the proof that this page made it (guard against forged requests).',
  },
  ACTION_RUNNING: { rpc: 4810, retry: true, means: 'Another command of the dashboard runs under that name, or too many run.' },
  PATH_REFUSED: {
    rpc: 4811,
    retry: false,
    means: 'The path leads out of the root of the files (dashboard.files_root), or to a secret of the service.',
  },
  FILE_EXISTS: { rpc: 4812, retry: false, means: 'A file of that name is there already, or a folder is not empty.' },
  FILE_TOO_LARGE: { rpc: 4813, retry: false, means: 'The file is larger than what is shown or taken here.' },
  TOO_MANY_REQUESTS: { rpc: 4807, retry: true, means: 'As many such requests were made as a minute allows.' },
  // commands
  USAGE: { rpc: 4701, retry: false, means: 'The command line is wrong; the message says how.' },
  NOT_FOUND: { rpc: 4702, retry: false, means: 'The thing named does not exist.' },
  UNKNOWN_COMMAND: { rpc: 4703, retry: false, means: 'No slash command has that name here; the message names the nearest.' },
  // accounts
  PORTAL_UNAVAILABLE: { rpc: 4901, retry: false, means: 'The account portal is not configured, or not available for this.' },
} as const satisfies Record<string, ErrorKind>;

export type ErrorCode = keyof typeof errorTable;

export interface ErrorDetail {
  /** What to do next, a sentence or a command. */
  fix?: string | undefined;
  retryAfterMs?: number | undefined;
  /** Field path of a bad parameter, joined with dots. */
  field?: string | undefined;
  /** Facts a program may read; never secrets. */
  facts?: Record<string, unknown> | undefined;
  cause?: unknown;
}

/** An operating error: says what happened to what, and what to do next. */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: ErrorCode;
  readonly fix: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly field: string | undefined;
  readonly facts: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, detail: ErrorDetail = {}) {
    super(message, detail.cause === undefined ? undefined : { cause: detail.cause });
    this.code = code;
    this.fix = detail.fix;
    this.retryAfterMs = detail.retryAfterMs;
    this.field = detail.field;
    this.facts = detail.facts;
  }

  get retry(): boolean {
    return errorTable[this.code].retry;
  }
}

/** The same error in other words; `fix` as it was unless those are given too. */
export function reworded(error: AgentError, message: (text: string) => string, fix: (text: string) => string = (text) => text): AgentError {
  return new AgentError(error.code, message(error.message), {
    cause: error.cause,
    fix: error.fix === undefined ? undefined : fix(error.fix),
    retryAfterMs: error.retryAfterMs,
    field: error.field,
    facts: error.facts,
  });
}

export const isAgentError = (value: unknown): value is AgentError => value instanceof AgentError;

/** True when accepted work that met this error is kept and tried again, and is not closed. */
export function mustWait(thrown: unknown): boolean {
  const code = (thrown as { code?: unknown } | null)?.code;
  const table: Readonly<Record<string, ErrorKind>> = errorTable;
  return typeof code === 'string' && table[code]?.accepted === 'waits';
}

/** The message of anything that was thrown. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** The errno code of a system error (`ENOENT`, `ENOSPC`, …), if it is one. */
export function errnoOf(thrown: unknown): string | undefined {
  const code = (thrown as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^E[A-Z0-9]+$/.test(code) ? code : undefined;
}
