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
