/** Settings of each chat platform below `platforms.<id>` of config.yaml; the adapters read them by these schemas. */
import type { ZodType } from 'zod';
import type { PlatformId } from '../../base/closedWords.ts';
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { ROUTE_NAME, WEBHOOK_EVENTS_MAX } from '../webhookSubscriptions.ts';
import { PlatformConfig } from './schema.ts';

/** What every platform takes. */
const common = PlatformConfig.shape;

export const IrcSettings = z.looseObject({
  ...common,
  host: z.string().min(1).default('127.0.0.1'),
  port: z.number().int().min(1).max(65_535).optional(),
  tls: z.boolean().default(false),
  /** False accepts any certificate. */
  tls_verify: z.boolean().default(true),
  /** PEM file of the authority that signed the certificate. */
  tls_ca: z.string().startsWith('/', 'it must be an absolute path').optional(),
  /** SHA-256 of the one certificate that is accepted, whoever signed it. */
  tls_fingerprint: z
    .string()
    .regex(/^(?:[\da-f]{2}:?){31}[\da-f]{2}$/i, 'it must be a SHA-256 fingerprint: 64 hexadecimal digits')
    .optional(),
  nick: z
    .string()
    .regex(/^[^\s\0:@!*,?.#&+~%]+$/, 'it must be an IRC nick without spaces')
    .default('agent'),
  realname: z.string().optional(),
  /** Account to sign in to with SASL; its password is IRC_ACCOUNT_PASSWORD. */
  account: z
    .string()
    .regex(/^[^\s\0]+$/, 'it must be the name of an account, without spaces')
    .optional(),
  /** `required`: no connection without an account; false: IRC_PASSWORD is that of the server alone. */
  sasl: z.union([z.literal('required'), z.literal(false)]).optional(),
  /** Each with its key behind a space, where it has one. */
  channels: z.array(z.string()).default([]),
  /** Lines of one person that arrive no further apart are one message; 0 = each is one. */
  gather_ms: z.number().int().min(0).max(limits.gateway.ircGatherMaxMs).default(limits.gateway.ircGatherMs),
  require_mention: z.boolean().default(false),
});
export type IrcSettings = z.infer<typeof IrcSettings>;

const RouteSettings = z.looseObject({
  prompt: z.string().min(1).default('{__raw__}'),
  /** `local` and `none`: the turn runs, its answer stays in the session. */
  deliver: z.string().default('none'),
  /** `${NAME}` from `.env`; without one WEBHOOK_SECRET counts. */
  secret: z.string().optional(),
  /** Events that make a turn, as the sender names them (`push`, `pull_request.opened`); default: all but GitHub's ping. */
  events: z.array(z.string()).max(WEBHOOK_EVENTS_MAX).optional(),
  /** Profile whose agent answers; default: the profile of the gateway. */
  profile: z.string().optional(),
});

export const WebhookSettings = z.looseObject({
  ...common,
  host: z.string().default(limits.gateway.webhookHost),
  port: z.number().int().min(0).max(65_535).default(limits.gateway.webhookPort),
  routes: z.record(z.string().regex(ROUTE_NAME, 'a route is named with letters, digits, dots and dashes'), RouteSettings).default({}),
});
export type WebhookSettings = z.infer<typeof WebhookSettings>;

export const platformSettings = { irc: IrcSettings, webhook: WebhookSettings } as const satisfies Record<PlatformId, ZodType>;
