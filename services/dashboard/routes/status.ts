/**
 * `GET /api/status`: the public liveness answer (interface spec, http.1). Strangers learn that the
 * service lives and which parts of it do; paths and reasons are for those who may read them anyway.
 */
import type { FastifyRequest } from 'fastify';
import { getStatus } from '../../../ipc/contracts/http/status.ts';
import { limits } from '../../../base/limits.ts';
import type { Status } from '../../../ipc/contracts/supervisor.ts';
import { readGatewayState, type GatewayStateFile } from '../../../state/gatewayState.ts';
import { readPause } from '../../../state/pause.ts';
import type { Dashboard } from '../http.ts';
import type { Seen } from '../overview.ts';
import { on, type HttpHandler } from '../route.ts';

export function statusRoutes({ context, binding, gate, overview }: Dashboard): HttpHandler[] {
  const isLocal = (request: FastifyRequest) => binding.loopback || gate.whoIs(request.raw) !== null;
  const cache = { forMs: limits.dashboard.statusCacheMs, key: (request: FastifyRequest) => `${isLocal(request)} ${overview.generation}` };
  const answer = async ({ request }: { request: FastifyRequest }) => {
    const seen = await overview.read().catch(() => undefined);
    const local = isLocal(request);
    const gateway = readGatewayState(context.home.gatewayState);
    const pause = readPause(context.home);
    return {
      version: context.release.version,
      ...(local ? localPaths(context.home) : {}),
      ...gatewayFields(seen?.status, gateway.kind === 'present' ? gateway.state : {}, local),
      auth_required: gate.mode === 'signIn',
      auth_providers: gate.providers.map(({ id }) => id),
      auth_flows: [...gate.flows],
      can_update_agent: false,
      paused: pause ? { reason: local ? pause.reason : null, engaged_at: pause.engaged_at, expires_at: pause.expires_at } : null,
      supervisor: supervisorFields(seen),
      workers: (seen?.status.workers ?? []).map(({ slot, profile, desired, state }) => ({ slot, profile, desired, state })),
    };
  };
  return [on(getStatus, answer, cache)];
}

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
    gateway_updated_at: file.updated_at ?? null,
    ...(local ? { gateway_pid: row?.pid ?? null, gateway_exit_reason: file.exit_reason ?? null } : {}),
    gateway_platforms: Object.fromEntries(platforms),
  };
}
