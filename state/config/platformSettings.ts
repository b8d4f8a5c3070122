/** Settings of each chat platform below `platforms.<id>` of config.yaml; the adapters read them by these schemas. */
import type { ZodType } from 'zod';
import type { PlatformId } from '../../base/closedWords.ts';
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { ROUTE_NAME } from '../webhookSubscriptions.ts';
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
  nick: z
    .string()
    .regex(/^[^\s\0:@!*,?.#&+~%]+$/, 'it must be an IRC nick without spaces')
    .default('agent'),
  realname: z.string().optional(),
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
  events: z.array(z.string()).max(100).optional(),
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
