/** `POST /api/pause` engages the sentinel of contract §6, `DELETE /api/pause` lifts it. The file is the truth. */
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { requireProfile } from '../../../state/home.ts';
import { engagePause, liftPause, pauseScopes, readPause } from '../../../state/pause.ts';
import type { Dashboard } from '../http.ts';
import { parseRequest } from '../problem.ts';

const Body = z.strictObject({
  reason: z.string().max(500).optional(),
  ttl_seconds: z.number().positive().max(31_536_000).optional(),
  scope: z.array(z.enum(pauseScopes)).optional(),
  profile: z.string().optional(),
});
const Query = z.looseObject({ profile: z.string().optional() });

export function addPauseRoutes(app: FastifyInstance, { context: { home, log }, overview }: Dashboard): void {
  app.post('/api/pause', async (request) => {
    const { reason, ttl_seconds, scope = [], profile = parseRequest(Query, request.query).profile } = parseRequest(Body, request.body);
    const pause = engagePause(requireProfile(home, profile ?? 'default').estop, {
      reason,
      ttlMs: ttl_seconds === undefined ? undefined : ttl_seconds * 1_000,
      scope,
    });
    log.info('automation paused', { path: pause.path, from: request.ip });
    overview.forget();
    return { paused: pause };
  });

  app.delete('/api/pause', async (request) => {
    const profile = parseRequest(Query, request.query).profile ?? 'default';
    const lifted = liftPause([requireProfile(home, profile).estop]);
    log.info('automation resumed', { lifted, from: request.ip });
    overview.forget();
    return { lifted, paused: readPause(home, profile) ?? null };
  });
}
