/** The sentinel of contract §6 over HTTP. */
import { z } from '../../../base/lazyZod.ts';
import { pauseScopes } from '../../../base/closedWords.ts';
import { httpRoute } from '../../httpRoute.ts';
import { PauseStatus } from '../supervisor.ts';

const Held = PauseStatus.extend({
  /** Whose pause it is; that of `default` holds every profile. */
  profile: z.string(),
  /** What it holds, a pause without a scope all of it. */
  holds: z.array(z.enum(pauseScopes)),
});
export type Held = z.infer<typeof Held>;

/** Unlike elsewhere `profile` may be `all`. */
export const listPausesRoute = httpRoute('GET /api/pause', {
  tag: 'Automation',
  summary: "The pauses that hold a profile: the root home's, which holds every profile, and its own. Those of all profiles: `profile=all`.",
  query: z.looseObject({ profile: z.string().optional() }),
  result: z.object({ pauses: z.array(Held) }),
  errors: ['UNKNOWN_PROFILE'],
});

export const engagePauseRoute = httpRoute('POST /api/pause', {
  tag: 'Automation',
  summary: 'Holds new automation: scheduled runs, webhooks, turns of chat platforms. Running work goes on.',
  profile: true,
  body: z.strictObject({
    reason: z.string().max(500).optional(),
    ttl_seconds: z.number().positive().max(31_536_000).optional(),
    scope: z.array(z.enum(pauseScopes)).optional(),
    profile: z.string().optional(),
  }),
  result: z.object({ paused: PauseStatus }),
  errors: ['DISK_FULL'],
});

export const liftPauseRoute = httpRoute('DELETE /api/pause', {
  tag: 'Automation',
  summary: 'Lets automation go on.',
  profile: true,
  result: z.object({ lifted: z.boolean(), paused: PauseStatus.nullable() }),
});
