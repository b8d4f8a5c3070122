/**
 * A slot as a value: what to run, with which environment, limits and restart policy. The supervisor
 * knows no service; whoever starts it hands these over (house, "control plane, not a hub").
 */
import { limits } from '../base/limits.ts';

/** When the boot reconciler wants a slot up. */
export type StartRule = 'boot' | 'gatewayState' | 'mcpServers' | 'demand';

export interface SlotSpec {
  /** `agent`, `gateway@work`, … Unique. */
  slot: string;
  profile: string;
  start: StartRule;
  /** Program and arguments; never a shell, never a secret among them. */
  command: readonly [string, ...string[]];
  cwd: string;
  /** The whole environment of the child. */
  env: Readonly<Record<string, string>>;
  /** File that gets what the process prints (accidents; workers log by themselves). */
  logFile: string;
  errorsFile: string;
  startupMs: number;
  drainMs: number;
  /** From SIGTERM to SIGKILL of the group. */
  termMs: number;
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
}

export const defaultPolicy: RestartPolicy = limits.restart;
