/**
 * Keeps `gateway_state.json` of a supervised gateway slot: the operator's intent and what was last
 * observed (contract §3). The supervisor is the file's only writer.
 */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { exitCodes } from '../base/exitCodes.ts';
import { errorFields, type Logger } from '../base/log.ts';
import {
  reconcileGateway,
  readGatewayState,
  setCorruptAside,
  updateGatewayState,
  type GatewayIntent,
  type GatewayObserved,
  type GatewayStateFile,
} from '../state/gatewayState.ts';
import { startTimeOf } from '../state/processIdentity.ts';
import type { SlotRunner } from './slotRunner.ts';

export interface GatewayRecord {
  /** Reads the file at boot and says whether the slot is to be started; seeds or sets aside as the table says. */
  reconcile(bootstrap: string | undefined): { start: boolean; problem?: string };
  /** An operator's command: written before it is carried out. Errors: DISK_FULL, HOME_UNUSABLE. */
  intend(intent: GatewayIntent): void;
  /** The slot changed. */
  observe(runner: SlotRunner): void;
}

export function createGatewayRecord({
  path,
  home,
  version,
  code,
  log,
}: {
  path: string;
  home: string;
  version: string;
  code: string;
  log: Logger;
}): GatewayRecord {
  let last = '';
  let intent: GatewayIntent | undefined;
  /** Of a profile that was renamed or deleted nothing is left to tell; its slot is on the way out and must still be stopped. */
  const isGone = () => !existsSync(dirname(path));
  /** A file that cannot be written costs the record, not the boot. */
  const keep = (change: Partial<GatewayStateFile>) => {
    try {
      updateGatewayState(path, change, intent);
    } catch (thrown) {
      log.error('gateway_state.json was not updated', errorFields(thrown));
    }
  };
  return {
    reconcile(bootstrap) {
      if (isGone()) return { start: false };
      const read = readGatewayState(path);
      // After the boot the file only repeats what is known here; one that cannot be read now is written again with the next change.
      if (read.kind !== 'present' && intent !== undefined) return { start: intent === 'running' };
      const { start, seed } = reconcileGateway(read, bootstrap);
      if (seed) keep({ gateway_state: 'running', desired_state: 'running', agent_home: home });
      if (seed || read.kind !== 'absent') intent = start ? 'running' : 'stopped';
      const aside = read.kind === 'corrupt' ? setCorruptAside(path) : undefined;
      // Recorded once known: a clean stop of the service must not erase it, and a later boot must not seed over it.
      if (read.kind === 'present' && read.written !== intent) keep({ desired_state: intent });
      if (aside) keep({ gateway_state: 'stopped', desired_state: 'stopped' });
      if (read.kind !== 'corrupt') return { start };
      const where = aside ? `kept as ${aside}` : 'it could not be moved aside';
      return { start, problem: `${path} could not be read (${read.problem}); ${where}; the slot counts as stopped` };
    },
    intend(wanted) {
      intent = wanted;
      if (wanted === 'stopped' && isGone()) return;
      updateGatewayState(path, { desired_state: wanted });
    },
    observe(runner) {
      const observed = observedState(runner);
      // Not up and never was: the file tells nothing new, and an absent file stays absent (boot table).
      if (!observed || (observed === 'stopped' && last === '')) return;
      const platforms = isRecord(runner.facts.platforms) ? runner.facts.platforms : null;
      const activeAgents = typeof runner.facts.active_agents === 'number' ? runner.facts.active_agents : 0;
      const pid = runner.incarnation?.pid ?? null;
      const work = pid !== null && Array.isArray(runner.facts.active_work) ? runner.facts.active_work.map(String) : null;
      const store = pid !== null && isRecord(runner.facts.session_store) ? runner.facts.session_store : null;
      const restart = isRestarting(runner);
      const next = JSON.stringify([observed, pid, platforms, activeAgents, work, store, restart, runner.lastExit?.at]);
      if (next === last || isGone()) return;
      last = next;
      keep({
        gateway_state: observed,
        pid,
        start_time: pid === null ? null : (startTimeOf(pid) ?? null),
        argv: [...runner.spec.command],
        agent_home: home,
        code_sha: code,
        code_version: version,
        exit_reason: observed === 'running' ? null : (runner.reason ?? null),
        restart_requested: restart,
        active_agents: activeAgents,
        active_work: work,
        session_store: store as never,
        platforms: platforms as never,
      });
    },
  };
}

/** By an operator whose restart has no result yet, or by the worker itself, which left to be started again. */
function isRestarting({ pending, state, lastExit }: SlotRunner): boolean {
  return pending?.action === 'restart' || (lastExit?.code === exitCodes.restart && (state === 'backoff' || state === 'starting'));
}

function observedState(runner: SlotRunner): GatewayObserved | undefined {
  switch (runner.state) {
    case 'starting':
      return 'starting';
    case 'ready':
      return troubled(runner.facts.platforms) ? 'degraded' : 'running';
    case 'draining':
      return 'draining';
    case 'backoff':
    case 'parked':
      return 'startup_failed';
    case 'down':
      return 'stopped';
  }
}

/** Some platform is not connected although it should be. */
function troubled(platforms: unknown): boolean {
  return (
    isRecord(platforms) &&
    Object.values(platforms).some((entry) => isRecord(entry) && (entry.state === 'retrying' || entry.state === 'fatal'))
  );
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
