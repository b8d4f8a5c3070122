/**
 * A slot as a value: what to run, with which environment, limits and restart policy. The supervisor
 * knows no service; whoever starts it hands these over (house, "control plane, not a hub").
 */
import { limits } from '../base/limits.ts';

/** When the boot reconciler wants a slot up. `manual`: only by `agent start`. */
export type StartRule = 'boot' | 'gatewayState' | 'mcpServers' | 'demand' | 'manual';

/**
 * What makes an incarnation `ready`. A worker of ours says it (`attach`); a sidecar is looked at: a line of
 * its output, a TCP port of 127.0.0.1, an HTTP address that answers 2xx, a file, or nothing but that it runs.
 */
export type Readiness = 'attach' | 'none' | { log: string } | { tcp: number } | { http: string } | { file: string };

/** Restarted after every end, only after an abnormal one, or not at all. */
export type RestartRule = 'always' | 'on-failure' | 'never';

/**
 * How a planned restart replaces the old incarnation. `overlap`: the new one serves before the old drains.
 * `standby`: the new one is loaded and waits, the old drains and goes, the new one takes over. `none`: one
 * after the other.
 */
export type Handover = 'none' | 'standby' | 'overlap';

/** A TCP address the supervisor binds for the slot and keeps over its restarts (stack §4). */
export interface ListenerSpec {
  /** `http`, `webhook`, … The worker finds the descriptor in AGENT_LISTEN as `name=fd,…`. */
  name: string;
  host: string;
  port: number;
}

export interface SlotSpec {
  /** `agent`, `gateway@work`, … Unique. */
  slot: string;
  profile: string;
  /** Ours, or a program of the user's (`services:` in config.yaml). */
  kind: 'worker' | 'sidecar';
  start: StartRule;
  /** Program and arguments; never a shell, never a secret among them. */
  command: readonly [string, ...string[]];
  /** Where the program is at the moment of a start; default: the first of `command`. */
  program?: () => string;
  cwd: string;
  /** The environment block of the child: every process of the same user can read it. */
  env: Readonly<Record<string, string>>;
  /** Variables that a worker gets beside it, sealed: keys, tokens, passwords. */
  sealedEnv: Readonly<Record<string, string>>;
  /** File that gets what the process prints (accidents; workers log by themselves). */
  logFile: string;
  errorsFile: string;
  startupMs: number;
  drainMs: number;
  /** From the stop signal to SIGKILL of everything. */
  termMs: number;
  stopSignal: NodeJS.Signals;
  readiness: Readiness;
  restart: RestartRule;
  /** Slots that are ready before this one is started at boot. */
  after: readonly string[];
  handover: Handover;
  listeners: readonly ListenerSpec[];
  /** Drained and recycled between units of work above this; undefined = no limit. */
  memorySoftBytes: number | undefined;
  /** Killed above this. */
  memoryHardBytes: number | undefined;
  /** Digest of the settings it was started with: another digest means a restart. */
  settings: string;
  /** Stopped in descending order: a slot is stopped before the ones it works with. */
  tier: number;
}

/** Contract §4, Restart policy. */
export interface RestartPolicy {
  readyForMs: number;
  immediateMax: number;
  immediateWindowMs: number;
  baseMs: number;
  maxMs: number;
  healthyMs: number;
  failedStartsMax: number;
  failedStartsWindowMs: number;
  diedSoonMs: number;
  parkedRetryMs: number;
  shortageCheckMs: number;
  programMissingMs: number;
}

export const defaultPolicy: RestartPolicy = limits.restart;
