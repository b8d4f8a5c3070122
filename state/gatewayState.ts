/**
 * `gateway_state.json` (contract §3): intent (`desired_state`) and observation (`gateway_state`) in
 * one file, one per home. Reading never fails a boot; a corrupt file is kept aside and named.
 */
import { lstatSync, renameSync } from 'node:fs';
import { z } from '../base/lazyZod.ts';
import { messageOf } from '../base/errors.ts';
import { readJson, writeJsonAtomic } from './atomicFile.ts';

export const gatewayStates = ['starting', 'running', 'draining', 'degraded', 'stopped', 'startup_failed'] as const;
export type GatewayObserved = (typeof gatewayStates)[number];
export type GatewayIntent = 'running' | 'stopped';

/** Tolerant on purpose: unknown fields are kept, junk values become null; an unknown intent counts as `stopped`. */
export const GatewayStateFile = z.looseObject({
  kind: z.string().optional(),
  pid: z.number().int().nullish().catch(null),
  argv: z.array(z.string()).nullish().catch(null),
  start_time: z.number().nullish().catch(null),
  agent_home: z.string().nullish().catch(null),
  code_sha: z.string().nullish().catch(null),
  code_version: z.string().nullish().catch(null),
  gateway_state: z.enum(gatewayStates).nullish().catch(null),
  desired_state: z.enum(['running', 'stopped']).nullish().catch('stopped'),
  exit_reason: z.string().nullish().catch(null),
  restart_requested: z.boolean().nullish().catch(null),
  active_agents: z.number().int().min(0).nullish().catch(0),
  /** Turns under way by their conversation; null = no process that could have any. */
  active_work: z.array(z.string()).nullish().catch(null),
  /** The gateway's own database, as its last writes went; null = no process that sees it. */
  session_store: z
    .looseObject({ state: z.string(), error: z.string().nullish().catch(null), since: z.string().nullish().catch(null) })
    .nullish()
    .catch(null),
  platforms: z
    .record(z.string(), z.looseObject({ state: z.string() }))
    .nullish()
    .catch(null),
  updated_at: z.string().nullish().catch(null),
});
export type GatewayStateFile = z.infer<typeof GatewayStateFile>;

/** `written`: the intent as it is in the file. */
export type GatewayStateRead =
  | { kind: 'absent' }
  | { kind: 'present'; state: GatewayStateFile; written: unknown }
  | { kind: 'corrupt'; problem: string };

export function readGatewayState(path: string): GatewayStateRead {
  try {
    const value = readJson(path);
    if (value === undefined) return isLink(path) ? { kind: 'corrupt', problem: 'it is a link to nothing' } : { kind: 'absent' };
    const parsed = GatewayStateFile.safeParse(value);
    if (!parsed.success) return { kind: 'corrupt', problem: 'it is not a JSON object' };
    return { kind: 'present', state: parsed.data, written: (value as { desired_state?: unknown }).desired_state };
  } catch (thrown) {
    return { kind: 'corrupt', problem: messageOf(thrown) };
  }
}

/** The reconciliation table of contract §3, pure. */
export function reconcileGateway(read: GatewayStateRead, bootstrap: string | undefined): { start: boolean; seed: boolean } {
  switch (read.kind) {
    case 'absent':
      return bootstrap === 'running' ? { start: true, seed: true } : { start: false, seed: false };
    case 'corrupt':
      return { start: false, seed: false };
    case 'present':
      return { start: wantsRunning(read.state), seed: false };
  }
}

/** Intent where there is one; without one, what was last observed: a hard kill mid-drain must not strand the service. */
function wantsRunning({ desired_state, gateway_state }: GatewayStateFile): boolean {
  if (desired_state) return desired_state === 'running';
  return gateway_state === 'running' || gateway_state === 'draining' || gateway_state === 'degraded';
}

/**
 * Merges into the file, keeping fields this version does not know; a corrupt one is set aside first. `intent`: for a
 * file that names none, because it was removed or damaged meanwhile. Errors: DISK_FULL, HOME_UNUSABLE.
 */
export function updateGatewayState(path: string, change: Partial<GatewayStateFile>, intent?: GatewayIntent): GatewayStateFile {
  const read = readGatewayState(path);
  if (read.kind === 'corrupt') setCorruptAside(path);
  const known = read.kind === 'present' ? read.state : {};
  const base = intent && !known.desired_state ? { ...known, desired_state: intent } : known;
  const next = { ...base, kind: 'agent-gateway', ...change, updated_at: new Date().toISOString() };
  writeJsonAtomic(path, next);
  return next;
}

const isLink = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;

/** Moves an unreadable file to `.corrupt-<time>`; returns the new path, or undefined when it could not be moved. */
export function setCorruptAside(path: string): string | undefined {
  const aside = `${path}.corrupt-${new Date().toISOString().replace(/[:.]/g, '-')}`;
  try {
    renameSync(path, aside);
    return aside;
  } catch {
    return undefined;
  }
}
