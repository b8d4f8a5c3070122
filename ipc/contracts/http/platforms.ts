/** Chat platforms of the gateway over HTTP (reference/clients §1.4; interface spec, http.14 and http.15). */
import { platformStates } from '../../../base/closedWords.ts';
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';
import { PlatformTest, Settled, UndeliveredId } from '../gateway.ts';
import { WaitingWork } from '../peer.ts';
import { Receipt } from '../supervisor.ts';

const Id = z.object({ id: z.string().max(64) });
const PlatformRow = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  docs_url: z.string(),
  steps: z.array(z.string()),
  enabled: z.boolean(),
  configured: z.boolean(),
  gateway_running: z.boolean(),
  state: z.enum(platformStates),
  error_code: z.string().nullable(),
  error_message: z.string().nullable(),
  updated_at: z.string().nullable(),
  home_channel: z.string().nullable(),
  can_send: z.boolean(),
  env_vars: z.array(
    z.object({
      key: z.string(),
      required: z.boolean(),
      is_set: z.boolean(),
      redacted_value: z.string().nullable(),
      description: z.string(),
      prompt: z.string(),
      is_password: z.boolean(),
      advanced: z.boolean(),
    }),
  ),
  settings: z.array(
    z.object({
      key: z.string(),
      kind: z.enum(['text', 'number', 'switch', 'list']),
      label: z.string(),
      help: z.string(),
      default: z.string(),
      /** As config.yaml has it; null = not set. */
      value: z.union([z.string(), z.number(), z.boolean(), z.array(z.string())]).nullable(),
    }),
  ),
});
export type PlatformRow = z.infer<typeof PlatformRow>;

export const listPlatforms = httpRoute('GET /api/messaging/platforms', {
  tag: 'Platforms',
  summary: 'Every chat platform of this version: how it is, what it takes, and how to set it up. Also while the gateway is down.',
  profile: true,
  result: z.object({
    env_path: z.string(),
    config_path: z.string(),
    gateway_start_command: z.string(),
    gateway_slot: z.string(),
    gateway_running: z.boolean(),
    /** New messages held by the pause. */
    held: z.number(),
    /** Messages that are kept because an agent cannot take them now. */
    waiting: z.array(WaitingWork),
    platforms: z.array(PlatformRow),
  }),
});

const Value = z.union([z.string().max(1_000), z.number(), z.boolean(), z.array(z.string().max(300)).max(200)]);

export const savePlatformRoute = httpRoute('PUT /api/messaging/platforms/:id', {
  tag: 'Platforms',
  summary: 'Secrets go to .env, the enable flag and the settings to config.yaml; null removes a setting.',
  profile: true,
  params: Id,
  body: z.strictObject({
    enabled: z.boolean().optional(),
    env: z.record(z.string().max(100), z.string().min(1).max(4_000)).optional(),
    clear_env: z.array(z.string().max(100)).max(50).optional(),
    settings: z.record(z.string().max(100), Value.nullable()).optional(),
    profile: Profile,
  }),
  result: z.object({
    ok: z.literal(true),
    platform: PlatformRow,
    /** In force without a restart of the gateway. */
    hot_served: z.boolean(),
  }),
  errors: ['NOT_FOUND', 'CONFIG_INVALID', 'DISK_FULL'],
});

export const testPlatformRoute = httpRoute('POST /api/messaging/platforms/:id/test', {
  tag: 'Platforms',
  summary: 'Tries a real connection with the settings as they are; the gateway has to run.',
  profile: true,
  params: Id,
  body: z.strictObject({ profile: Profile }),
  result: PlatformTest.extend({ state: z.string() }),
  errors: ['NOT_FOUND'],
});

const command = {
  tag: 'Platforms',
  profile: true,
  body: z.strictObject({ drain: z.boolean().optional(), profile: Profile }),
  result: Receipt,
  errors: ['NO_SUPERVISOR', 'UNKNOWN_SLOT', 'SUPERSEDED'],
} as const;

export const startGatewayRoute = httpRoute('POST /api/gateway/start', {
  ...command,
  summary: 'Starts the gateway now and with every start of the service.',
});
export const stopGatewayRoute = httpRoute('POST /api/gateway/stop', {
  ...command,
  summary: 'Drains and stops the gateway; it stays stopped over a restart of the service.',
});
export const restartGatewayRoute = httpRoute('POST /api/gateway/restart', {
  ...command,
  summary: 'Drains, stops and starts the gateway; messages wait meanwhile.',
});

const UndeliveredRow = z.object({
  /** `12`: a message to a chat; `m12`: one that was received and could not be answered. */
  id: UndeliveredId,
  direction: z.enum(['out', 'in']),
  state: z.enum(['failed', 'expired', 'uncertain']),
  target: z.string(),
  text: z.string(),
  origin: z.string(),
  tries: z.number(),
  created_at: z.string(),
  closed_at: z.string(),
  error: z.string().nullable(),
});

export const listUndelivered = httpRoute('GET /api/messaging/undelivered', {
  tag: 'Platforms',
  summary:
    'Messages of the last week that failed permanently, the newest last: to a chat, or received and not answered. Also while the gateway is down.',
  profile: true,
  result: z.object({ undelivered: z.array(UndeliveredRow) }),
});

const Ids = z.strictObject({ ids: z.array(UndeliveredId).min(1).max(limits.gateway.undeliveredMax), profile: Profile });

export const retryUndelivered = httpRoute('POST /api/messaging/undelivered/retry', {
  tag: 'Platforms',
  summary: 'Tries messages that failed permanently once more; the gateway has to run.',
  profile: true,
  body: Ids,
  result: Settled,
});
export const discardUndelivered = httpRoute('POST /api/messaging/undelivered/discard', {
  tag: 'Platforms',
  summary: 'Takes messages off the list; the gateway has to run.',
  profile: true,
  body: Ids,
  result: Settled,
});
