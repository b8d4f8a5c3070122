/**
 * gateway_state.json of a gateway that no supervisor owns (`gateway run --no-supervise`): this process
 * writes what it observes about itself, and nothing about what the operator wants (contract §3).
 */
import { messageOf } from '../../base/errors.ts';
import { updateGatewayState, type GatewayObserved } from '../../state/gatewayState.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import type { WorkerContext } from '../worker.ts';
import type { StoreHealth } from './store.ts';

export interface StateFile {
  /** A phase of the process: written at once. */
  phase(state: GatewayObserved, exitReason?: string): void;
  /** Platforms or work have changed: written soon, many changes as one. */
  touch(): void;
}

export interface StateFacts {
  platforms: Record<string, { state: string }>;
  active_agents: number;
  active_work: string[];
  session_store: StoreHealth;
  /** All wanted platforms work. */
  healthy: boolean;
}

/** What changes with every message is written at most this often: each write is an fsync. */
const SETTLE_MS = 1_000;

export function createStateFile(context: WorkerContext, facts: () => StateFacts): StateFile {
  if (!context.external) return { phase() {}, touch() {} };
  let current: GatewayObserved = 'starting';
  let timer: NodeJS.Timeout | undefined;

  const write = (exitReason: string | null): void => {
    clearTimeout(timer);
    timer = undefined;
    const { platforms, active_agents, active_work, session_store, healthy } = facts();
    const ended = current === 'stopped';
    try {
      updateGatewayState(context.paths.gatewayState, {
        pid: process.pid,
        argv: process.argv,
        start_time: startTimeOf(process.pid) ?? null,
        agent_home: context.paths.dir,
        code_sha: context.release.code,
        code_version: context.release.version,
        gateway_state: current === 'running' && !healthy ? 'degraded' : current,
        exit_reason: exitReason,
        // Nobody starts it again: what a supervisor left there is over.
        restart_requested: false,
        active_agents: ended ? 0 : active_agents,
        active_work: ended ? null : active_work,
        session_store: ended ? null : { ...session_store },
        platforms: ended ? disconnected(platforms) : platforms,
      });
    } catch (thrown) {
      context.log.error(`gateway_state.json could not be written: ${messageOf(thrown)}`);
    }
  };

  return {
    phase(state, exitReason) {
      current = state;
      write(exitReason ?? null);
    },
    touch() {
      if (current === 'running' || current === 'draining') timer ??= setTimeout(() => write(null), SETTLE_MS).unref();
    },
  };
}

/** Nothing is connected to a process that has ended; what is switched off or cannot work stays so. */
const disconnected = (platforms: StateFacts['platforms']): StateFacts['platforms'] =>
  Object.fromEntries(
    Object.entries(platforms).map(([name, platform]) => [
      name,
      platform.state === 'fatal' || platform.state === 'disabled' ? platform : { ...platform, state: 'disconnected' },
    ]),
  );
