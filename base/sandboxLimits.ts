/** Limits of the sandbox around commands (part of base/limits.ts), each beside its reason. */

const MiB = 1024 * 1024;

export const sandboxLimits = {
  /** A trial run that finds out whether the sandbox works here. 10 ms on an idle machine. */
  trialMs: 10_000,
  /** Start of the process that holds the network of a session, and of the one that listens in it. */
  networkStartMs: 10_000,
  /** The network of a session without a running command is kept for this long. */
  networkIdleMs: 600_000,
  /** Folders that are shown empty need room for mount points alone. */
  emptyFolderMaxBytes: 1 * MiB,
  /** /dev/shm of a command; browsers and Python pools use it. */
  sharedMemoryMaxBytes: 256 * MiB,
  /** Processes and threads of a session; a build on many cores has some hundreds. Not enforced by the kernel for root. */
  processesMax: 2_048,
  /** CPU seconds of one process: a runaway loop in the background ends within a day. */
  cpuSeconds: 21_600,
  /** One file that a command writes. */
  fileMaxBytes: 8_192 * MiB,
  /** Connections that a session has open through its proxy. */
  connectionsMax: 64,
  /** The proxy: a connection to a host, and silence on one. */
  connectMs: 15_000,
  silenceMs: 300_000,
} as const;
