/**
 * `GET /api/status`: the public liveness answer (interface spec, http.1). Strangers learn that the
 * service lives and which parts of it do; paths and reasons are for those who may read them anyway.
 */
import type { FastifyRequest } from 'fastify';
import { limits } from '../../../base/limits.ts';
import { getStatus } from '../../../ipc/contracts/http/status.ts';
import { report } from '../../../ipc/contracts/peer.ts';
import type { Status } from '../../../ipc/contracts/supervisor.ts';
import { configVersions } from '../../../state/config/schema.ts';
import { readGatewayState, type GatewayStateFile } from '../../../state/gatewayState.ts';
import { DEFAULT_PROFILE } from '../../../state/home.ts';
import { readPause } from '../../../state/pause.ts';
import { bootId } from '../../../state/processIdentity.ts';
import { manifest } from '../../manifest.ts';
import type { HostFigures } from '../hostFigures.ts';
import type { Dashboard } from '../http.ts';
import type { Seen } from '../overview.ts';
import { on, type HttpHandler } from '../route.ts';

export function statusRoutes(dashboard: Dashboard): HttpHandler[] {
  const { context, binding, gate, overview, host } = dashboard;
  const sessions = createSessionCount(dashboard);
  const isLocal = (request: FastifyRequest) => binding.loopback || gate.whoIs(request.raw) !== null;
  const cache = { forMs: limits.dashboard.statusCacheMs, key: (request: FastifyRequest) => `${isLocal(request)} ${overview.generation}` };
  const answer = async ({ request }: { request: FastifyRequest }) => {
    const seen = await overview.read().catch(() => undefined);
    const local = isLocal(request);
    const gateway = readGatewayState(context.home.gatewayState);
    const pause = readPause(context.home);
    return {
      version: context.release.version,
      ...(local ? { ...localPaths(context.home), ...configVersions(context.config().config) } : {}),
      active_sessions: sessions.count(seen?.status),
      ...gatewayFields(seen?.status, gateway.kind === 'present' ? gateway.state : {}, local),
      memory: memoryFields(host(), seen?.status, local),
      disk: local ? host().disk : { pressure: host().disk.pressure },
      auth_required: gate.mode === 'signIn',
      auth_providers: gate.providers.map(({ id }) => id),
      auth_flows: [...gate.flows],
      can_update_agent: false,
      ...(local
        ? { waiting: (seen?.status.workers ?? []).flatMap(({ slot, waiting = [] }) => waiting.map((work) => ({ ...work, worker: slot }))) }
        : {}),
      paused: pause ? { reason: local ? pause.reason : null, engaged_at: pause.engaged_at, expires_at: pause.expires_at } : null,
      supervisor: supervisorFields(seen),
      workers: (seen?.status.workers ?? [])
        .filter((row) => local || isOfService(row))
        .map(({ slot, profile, desired, state }) => ({ slot, profile, desired, state })),
    };
  };
  return [on(getStatus, answer, cache)];
}

/** Names of profiles and of the user's own programs are private; those of the service's own slots are not. */
const isOfService = ({ slot, profile }: { slot: string; profile: string }): boolean =>
  profile === DEFAULT_PROFILE && manifest.some((row) => row.slot === slot);

/** Asked of the agent worker while it is there, beside the answer: status never waits for it. */
function createSessionCount({ agentOf, context }: Dashboard): { count(status: Status | undefined): number | null } {
  let known: number | null = null;
  let askedAt = -Infinity;
  const ask = async () => {
    const { facts } = await agentOf(context.home).call(report, {}, { timeoutMs: limits.dashboard.statusMs });
    known = typeof facts.active_sessions === 'number' ? facts.active_sessions : null;
  };
  return {
    count(status) {
      const there = status?.workers.find(({ slot }) => slot === 'agent')?.state === 'ready';
      if (!there) return (known = null);
      if (performance.now() - askedAt > limits.dashboard.hostLookMs) {
        askedAt = performance.now();
        ask().catch(() => (known = null));
      }
      return known;
    },
  };
}

function memoryFields({ memory, sampled_at }: HostFigures, status: Status | undefined, local: boolean) {
  // Ends of an earlier run of the service say nothing about this one.
  const sinceMs = Date.parse(status?.supervisor.started_at ?? '') || 0;
  const ends = (status?.workers ?? []).flatMap(({ last_exit }) => last_exit ?? []).filter(({ at }) => Date.parse(at) > sinceMs);
  const gateway = status?.workers.find(({ slot }) => slot === 'gateway')?.rss_bytes ?? null;
  return {
    pressure: memory.pressure,
    last_boot_unclean: ends.length > 0,
    last_boot_suspected_oom: ends.some(({ summary }) => OUT_OF_MEMORY.test(summary)),
    ...(local
      ? {
          gateway_rss_mb: gateway === null ? null : Math.round(gateway / 2 ** 20),
          system_total_mb: memory.total_mb,
          system_available_mb: memory.available_mb,
          swap_used_mb: memory.swap_used_mb,
          sampled_at,
          boot_id: bootId(),
        }
      : {}),
  };
}

const OUT_OF_MEMORY = /memory limit was reached|memory ran out|ran out of (?:\w+ )*memory/i;

function localPaths(home: Dashboard['context']['home']): Record<string, string> {
  return { agent_home: home.root, config_path: home.config, env_path: home.env };
}

function supervisorFields(seen: Seen | undefined): {
  state: 'running' | 'gone' | 'unknown';
  seen_at: string | null;
  started_at: string | null;
} {
  if (!seen) return { state: 'unknown', seen_at: null, started_at: null };
  return { state: seen.live ? 'running' : 'gone', seen_at: seen.status.at, started_at: seen.status.supervisor.started_at };
}

/** Names of reference/clients §1.3; what is observed comes from the table, intent and platforms from the state file. */
function gatewayFields(status: Status | undefined, file: GatewayStateFile, local: boolean) {
  const row = status?.workers.find(({ slot }) => slot === 'gateway');
  const platforms = Object.entries(file.platforms ?? {}).map(([name, state]) => [name, local ? state : { state: state.state }] as const);
  return {
    gateway_running: row?.state === 'ready',
    gateway_state: file.gateway_state ?? null,
    gateway_health_url: null,
    gateway_shared_with: null,
    gateway_updated_at: file.updated_at ?? null,
    ...(local ? { gateway_pid: row?.pid ?? null, gateway_exit_reason: file.exit_reason ?? null } : {}),
    gateway_platforms: Object.fromEntries(platforms),
  };
}
