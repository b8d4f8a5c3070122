/** The sentinel of contract §6 over HTTP. */
import { z } from '../../../base/lazyZod.ts';
import { pauseScopes } from '../../../base/closedWords.ts';
import { httpRoute } from '../../httpRoute.ts';
import { PauseStatus } from '../supervisor.ts';

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
