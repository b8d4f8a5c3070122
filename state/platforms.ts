/**
 * The settings of a chat platform as people see and change them: secrets in `.env`, everything else below
 * `platforms.<id>` of config.yaml; and the one word that says how a platform is.
 */
import type { PlatformWord } from '../base/closedWords.ts';
import { AgentError } from '../base/errors.ts';
import { setConfigValues } from './config/edit.ts';
import { loadConfig } from './config/load.ts';
import { readSecrets } from './env.ts';
import { setEnvValue, unsetEnvValue } from './envFile.ts';
import { readGatewayState } from './gatewayState.ts';
import type { Home, ProfilePaths } from './home.ts';
import { lockHolder } from './lock.ts';
import { join } from 'node:path';

/** What a platform takes (ipc/contracts/platformGuides.ts). */
export interface PlatformShape {
  variables: readonly { key: string; secret: boolean; configures?: 'value' | 'flag' }[];
  settings: readonly { key: string; kind: 'text' | 'number' | 'switch' | 'list' }[];
}

export interface PlatformSettings {
  enabled: boolean;
  configured: boolean;
  home_channel: string | null;
  /** Of config.yaml, those that the guide names. */
  settings: Record<string, unknown>;
  variables: { key: string; is_set: boolean; shown: string | null }[];
}

/** As the files are now. */
export function readPlatform(home: Home, paths: ProfilePaths, id: string, shape: PlatformShape): PlatformSettings {
  const section = loadConfig(home, paths).config.platforms?.[id];
  const secrets = readSecrets(paths.env, {});
  const byVariable = shape.variables.some(({ key, configures }) => {
    const value = secrets.get(key);
    return configures === 'flag' ? YES.test(value ?? '') : configures === 'value' && value !== undefined;
  });
  const configured = section !== undefined || byVariable;
  const named = shape.settings.flatMap(({ key }) => (section?.[key] === undefined ? [] : [[key, section[key]] as const]));
  return {
    configured,
    enabled: configured && section?.enabled !== false,
    home_channel: section?.home_channel ?? null,
    settings: Object.fromEntries(named),
    variables: shape.variables.map(({ key, secret }) => {
      const value = secrets.get(key);
      return { key, is_set: value !== undefined, shown: value === undefined ? null : secret ? masked(value) : value };
    }),
  };
}

const YES = /^(1|true|yes)$/i;

/** Enough to tell two long secrets apart, nothing of a short one. */
const masked = (value: string): string => (value.length >= 16 ? `••••${value.slice(-4)}` : '••••');

export interface PlatformChange {
  enabled?: boolean | undefined;
  /** Null removes. */
  settings?: Readonly<Record<string, unknown>> | undefined;
  env?: Readonly<Record<string, string>> | undefined;
  clearEnv?: readonly string[] | undefined;
}

/** Errors: BAD_REQUEST for a name that the platform does not take, CONFIG_INVALID, DISK_FULL, HOME_UNUSABLE, LOCK_HELD. */
export async function savePlatform(paths: ProfilePaths, id: string, shape: PlatformShape, change: PlatformChange): Promise<void> {
  const { settings = {}, env = {}, clearEnv = [] } = change;
  const variables = shape.variables.map(({ key }) => key);
  for (const key of [...Object.keys(env), ...clearEnv]) if (!variables.includes(key)) throw notTaken(id, 'variable', key, variables);
  const known = shape.settings.map(({ key }) => key);
  for (const [key, value] of Object.entries(settings)) {
    const kind = shape.settings.find((setting) => setting.key === key)?.kind;
    if (!kind) throw notTaken(id, 'setting', key, known);
    if (value !== null && !fits[kind](value))
      throw new AgentError('BAD_REQUEST', `platforms.${id}.${key}: ${wants[kind]}`, { field: `settings.${key}` });
  }
  // A line break in a password would be a command of its own in a protocol of lines.
  for (const [key, value] of Object.entries(env))
    if (!fits.text(value)) throw new AgentError('BAD_REQUEST', `${key}: ${wants.text}`, { field: `env.${key}` });
  const keys = Object.entries(settings).map(([key, value]) => [`platforms.${id}.${key}`, value ?? undefined] as const);
  const all = [...keys, ...(change.enabled === undefined ? [] : [[`platforms.${id}.enabled`, change.enabled] as const])];
  // Settings first: they are checked as a whole, and refused before a secret is written.
  await setConfigValues(paths.config, Object.fromEntries(all));
  for (const [key, value] of Object.entries(env)) await setEnvValue(paths.env, key, value);
  for (const key of clearEnv) await unsetEnvValue(paths.env, key);
}

const fits = {
  text: (value: unknown) => typeof value === 'string' && value !== '' && !/[\r\n]/.test(value),
  number: (value: unknown) => typeof value === 'number' && Number.isFinite(value),
  switch: (value: unknown) => typeof value === 'boolean',
  list: (value: unknown) => Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '' && !/[\r\n]/.test(one)),
};
const wants = {
  text: 'it has to be one line of text',
  number: 'it has to be a number',
  switch: 'it has to be true or false',
  list: 'it has to be a list of words',
};

const notTaken = (id: string, what: string, key: string, known: readonly string[]): AgentError =>
  new AgentError('BAD_REQUEST', `${id} has no ${what} ${key}`, { field: key, fix: `known: ${known.join(', ')}` });

// --- how it is ---

/** What is observed of a platform, by the gateway itself or by its last words in gateway_state.json. */
export interface Observed {
  state: string;
  error_code: string | null;
  error_message: string | null;
  updated_at: string | null;
}

export interface GatewaySeen {
  running: boolean;
  /** It was to run and could not. */
  failed: string | null;
  platforms: Readonly<Record<string, Observed>>;
  /** Platforms whose settings are others than those it runs with; null = it was not asked. */
  pending: readonly string[] | null;
}

/** From the lock that a gateway holds for its lifetime and the record about it; asks nobody. */
export function gatewayOnRecord({ dir, gatewayState }: ProfilePaths): GatewaySeen {
  const read = readGatewayState(gatewayState);
  const state = read.kind === 'present' ? read.state : undefined;
  const platforms = Object.entries(state?.platforms ?? {}).map(([name, one]) => [name, observedOf(one)] as const);
  return {
    running: lockHolder(join(dir, 'gateway.lock')) !== undefined,
    failed: state?.gateway_state === 'startup_failed' ? (state.exit_reason ?? 'it ended while it started') : null,
    platforms: Object.fromEntries(platforms),
    pending: null,
  };
}

function observedOf(one: Record<string, unknown> & { state: string }): Observed {
  const text = (value: unknown) => (typeof value === 'string' ? value : null);
  return { state: one.state, error_code: text(one.error_code), error_message: text(one.error_message), updated_at: text(one.updated_at) };
}

/** One word for what the files say and what the gateway does (reference/clients §1.4). */
export function platformWord(id: string, { configured, enabled }: PlatformSettings, gateway: GatewaySeen): PlatformWord {
  if (!configured) return 'not_configured';
  if (!enabled) return 'disabled';
  if (!gateway.running) return gateway.failed === null ? 'gateway_stopped' : 'startup_failed';
  const observed = gateway.platforms[id];
  if (!observed || observed.state === 'disabled' || gateway.pending?.includes(id)) return 'pending_restart';
  if (observed.state === 'connected' || observed.state === 'fatal') return observed.state;
  return 'disconnected';
}
