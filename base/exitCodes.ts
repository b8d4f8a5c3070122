/** The exit-code contract of workers and commands (contract §4, house "Exit codes are a contract"). */
export const exitCodes = {
  /** Done, or stopped as asked. */
  ok: 0,
  /** Failed; from a worker: a crash. */
  failed: 1,
  /** The command line was wrong. */
  usage: 2,
  /** No supervisor answers. */
  noSupervisor: 3,
  /** "Start me again": no backoff, counts for nothing. */
  restart: 75,
  /** "My configuration is wrong": park me and say what to fix. */
  config: 78,
  /** A command that SIGINT ended, as shells expect it. */
  interrupted: 130,
} as const;
