/**
 * Chat platforms: what they take stands in the gateway's guides, how they are is asked of the gateway, or read from its
 * record while it is down. Looking never starts a gateway.
 */
import { AgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { discardDeliveries, platforms, retryDeliveries, testPlatform } from '../../../ipc/contracts/gateway.ts';
import type { AnswerOf } from '../../../ipc/httpRoute.ts';
import * as contract from '../../../ipc/contracts/http/platforms.ts';
import type { PlatformRow } from '../../../ipc/contracts/http/platforms.ts';
import { platformIds } from '../../../base/closedWords.ts';
import { guideOf, type PlatformGuide } from '../../../ipc/contracts/platformGuides.ts';
import { restartSlot, startSlot, stopSlot, type Receipt } from '../../../ipc/contracts/supervisor.ts';
import { DEFAULT_PROFILE, type ProfilePaths } from '../../../state/home.ts';
import { gatewayOnRecord, platformWord, readPlatform, savePlatform, type GatewaySeen } from '../../../state/platforms.ts';
import { readUndelivered } from '../../../state/undelivered.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';
import { commandMs, noSupervisor } from './workers.ts';

export function platformRoutes(dashboard: Dashboard): HttpHandler[] {
  const { context } = dashboard;
  return [
    on(contract.listPlatforms, async ({ profile, signal }) => {
      const { seen, held, waiting } = await look(dashboard, profile, signal);
      return {
        env_path: profile.env,
        config_path: profile.config,
        gateway_start_command: profile.name === DEFAULT_PROFILE ? 'agent gateway start' : `agent -p ${profile.name} gateway start`,
        gateway_slot: slotOf(profile),
        gateway_running: seen.running,
        held,
        waiting,
        platforms: platformIds.map((id) => rowOf(dashboard, { profile, id, guide: guideOf(id)!, seen })),
      };
    }),
    on(contract.savePlatformRoute, async ({ params: { id }, body, profile, signal, request }) => {
      const guide = requireGuide(id);
      const { enabled, settings, env, clear_env } = body;
      await savePlatform(profile, id, guide, { enabled, settings, env, clearEnv: clear_env });
      const names = [...Object.keys(settings ?? {}), ...Object.keys(env ?? {}), ...(clear_env ?? [])];
      context.log.info(`the platform ${id} was changed`, { names, enabled, profile: profile.name, from: request.ip });
      const { seen } = await look(dashboard, profile, signal);
      return { ok: true as const, platform: rowOf(dashboard, { profile, id, guide, seen }), hot_served: false };
    }),
    on(contract.testPlatformRoute, async ({ params: { id }, profile, signal }) => {
      requireGuide(id);
      if (!gatewayOnRecord(profile).running && !(await comesBack(dashboard, profile))) return stopped(profile);
      return context.peer(slotOf(profile)).call(testPlatform, { platform: id }, { signal, repeatForMs: limits.dashboard.gatewayRestartMs });
    }),
    on(contract.startGatewayRoute, (input) => command(dashboard, startSlot, input)),
    on(contract.stopGatewayRoute, (input) => command(dashboard, stopSlot, input)),
    on(contract.restartGatewayRoute, (input) => command(dashboard, restartSlot, input)),
    on(contract.listUndelivered, ({ profile }) => ({ undelivered: readUndelivered(profile) })),
    on(contract.retryUndelivered, ({ body: { ids }, profile, signal }) =>
      gatewayOf(dashboard, profile).call(retryDeliveries, { ids }, { signal }),
    ),
    on(contract.discardUndelivered, ({ body: { ids }, profile, signal }) =>
      gatewayOf(dashboard, profile).call(discardDeliveries, { ids }, { signal }),
    ),
  ];
}

const slotOf = ({ name }: ProfilePaths): string => (name === DEFAULT_PROFILE ? 'gateway' : `gateway@${name}`);

/** Errors: NOT_FOUND. */
function requireGuide(id: string): PlatformGuide {
  const guide = guideOf(id);
  if (guide) return guide;
  throw new AgentError('NOT_FOUND', `there is no platform "${id}"`, { fix: `known: ${platformIds.join(', ')}` });
}

/** Errors: PLATFORM_DOWN while no gateway runs: a dial would start one. */
function gatewayOf({ context }: Dashboard, profile: ProfilePaths) {
  if (gatewayOnRecord(profile).running) return context.peer(slotOf(profile));
  throw new AgentError('PLATFORM_DOWN', 'the gateway does not run', { fix: 'start it, here or with `agent gateway start`' });
}

async function look(
  { context }: Dashboard,
  profile: ProfilePaths,
  signal: AbortSignal,
): Promise<{ seen: GatewaySeen } & Pick<AnswerOf<typeof contract.listPlatforms>, 'held' | 'waiting'>> {
  const record = gatewayOnRecord(profile);
  if (!record.running) return { seen: record, held: 0, waiting: [] };
  try {
    const answer = await context.peer(slotOf(profile)).call(platforms, {}, { signal, timeoutMs: limits.dashboard.statusMs });
    const observed = Object.fromEntries(answer.platforms.map(({ platform, ...one }) => [platform, one]));
    return { seen: { ...record, platforms: observed, pending: answer.pending }, held: answer.held, waiting: answer.waiting };
  } catch (thrown) {
    context.log.warn(`${slotOf(profile)} does not say how its platforms are: ${messageOf(thrown)}`);
    return { seen: record, held: 0, waiting: [] };
  }
}

/** The gateway is between two incarnations, as after a change of its settings. */
async function comesBack({ overview }: Dashboard, profile: ProfilePaths): Promise<boolean> {
  const row = (await overview.read().catch(() => undefined))?.status.workers.find(({ slot }) => slot === slotOf(profile));
  return row?.desired === 'up' && row.state !== 'parked';
}

interface Seen {
  profile: ProfilePaths;
  id: string;
  guide: PlatformGuide;
  seen: GatewaySeen;
}

function rowOf({ context: { home } }: Dashboard, { profile, id, guide, seen }: Seen): PlatformRow {
  const own = readPlatform(home, profile, id, guide);
  const state = platformWord(id, own, seen);
  const observed = state === 'connected' || state === 'disconnected' || state === 'fatal' ? seen.platforms[id] : undefined;
  return {
    id,
    name: guide.name,
    description: guide.description,
    docs_url: guide.docs,
    steps: [...guide.steps],
    enabled: own.enabled,
    configured: own.configured,
    gateway_running: seen.running,
    state,
    error_code: observed?.error_code ?? null,
    error_message: state === 'startup_failed' ? seen.failed : (observed?.error_message ?? null),
    updated_at: observed?.updated_at ?? null,
    home_channel: own.home_channel,
    can_send: guide.canSend,
    env_vars: guide.variables.map(({ key, required, secret, prompt, description, advanced }, n) => ({
      key,
      required,
      is_set: own.variables[n]!.is_set,
      redacted_value: own.variables[n]!.shown,
      description,
      prompt,
      is_password: secret,
      advanced,
    })),
    settings: guide.settings.map((setting) => ({ ...setting, value: shown(own.settings[setting.key]) })),
  };
}

/** What a form can hold; anything else somebody wrote by hand stays in the file. */
function shown(value: unknown): string | number | boolean | string[] | null {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return Array.isArray(value) ? value.map(String) : null;
}

const stopped = (profile: ProfilePaths) => ({
  ok: false,
  state: 'gateway_stopped',
  message: 'the gateway does not run, and it is what connects',
  fix: `start it, here or with \`agent ${profile.name === DEFAULT_PROFILE ? '' : `-p ${profile.name} `}gateway start\``,
  took_ms: 0,
});

/** The same commands of the supervisor as `agent gateway start|stop|restart`: intent is written down with them. */
async function command(
  { context, overview }: Dashboard,
  method: typeof startSlot,
  { profile, body: { drain = true }, request }: { profile: ProfilePaths; body: { drain?: boolean | undefined }; request: { ip: string } },
): Promise<Receipt> {
  const slot = slotOf(profile);
  context.log.info(`${method.name} of ${slot} asked for`, { from: request.ip });
  try {
    const asked = { slot, drain, actor: 'dashboard', cause: 'asked for in the dashboard' };
    return await overview.supervisor.call(method, asked, { timeoutMs: commandMs }).catch(noSupervisor);
  } finally {
    overview.forget();
  }
}
