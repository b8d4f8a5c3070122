/** Closed lists of words that both the files of a home and the contracts between processes use. */

/** Parts of automation that a pause may hold (contract §6). */
export const pauseScopes = ['cron', 'gateway', 'webhook'] as const;
export type PauseScope = (typeof pauseScopes)[number];

/** Levels of a log line, from the least severe. */
export const levels = ['debug', 'info', 'warn', 'error', 'fatal'] as const;
export type Level = (typeof levels)[number];

/** Log names (contract §7). The first is the default of `agent logs`. */
export const logNames = ['agent', 'gateway', 'gui', 'cron', 'mcp', 'terminal', 'supervisor', 'desktop', 'errors'] as const;
export type LogName = (typeof logNames)[number];

/** How a chat platform stands (reference/clients §1.4). */
export const platformStates = [
  'connected',
  'disabled',
  'not_configured',
  'pending_restart',
  'gateway_stopped',
  'startup_failed',
  'disconnected',
  'fatal',
] as const;
export type PlatformWord = (typeof platformStates)[number];

/** Chat platforms that have an adapter; the keys of `platforms` in config.yaml. */
export const platformIds = ['irc', 'webhook'] as const;
export type PlatformId = (typeof platformIds)[number];

/** Workers of the service; their settings are under `supervisor.workers`. */
export const workerKinds = ['agent', 'dashboard', 'cron', 'mcp', 'gateway', 'terminal'] as const;
export type WorkerKind = (typeof workerKinds)[number];

/** Groups of the agent's own tools, in the order they are listed. */
export const toolsetNames = [
  'terminal',
  'file',
  'web',
  'skills',
  'todo',
  'memory',
  'session_search',
  'clarify',
  'code_execution',
  'delegation',
  'cronjob',
  'messaging',
] as const;
export type ToolsetName = (typeof toolsetNames)[number];

/** Side work that may have a model of its own: the keys of `auxiliary` in config.yaml. */
export const auxiliaryTasks = ['compression', 'title', 'btw', 'web_extract', 'vision', 'approval'] as const;
