/** Engages and lifts the sentinel of contract §6. The file is the truth. */
import { engagePauseRoute, liftPauseRoute } from '../../../ipc/contracts/http/pause.ts';
import { engagePause, liftPause, readPause } from '../../../state/pause.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function pauseRoutes({ context: { home, log }, overview }: Dashboard): HttpHandler[] {
  return [
    on(engagePauseRoute, ({ body: { reason, ttl_seconds, scope = [] }, profile, request }) => {
      const ttlMs = ttl_seconds === undefined ? undefined : ttl_seconds * 1_000;
      const paused = engagePause(profile.estop, { reason, ttlMs, scope });
      log.info('automation paused', { path: paused.path, from: request.ip });
      overview.forget();
      return { paused };
    }),
    on(liftPauseRoute, ({ profile, request }) => {
      const lifted = liftPause([profile.estop]);
      log.info('automation resumed', { lifted, from: request.ip });
      overview.forget();
      return { lifted, paused: readPause(home, profile.name) ?? null };
    }),
  ];
}
