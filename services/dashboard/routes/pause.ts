/** Engages and lifts the sentinel of contract §6. The file is the truth. */
import { pauseScopes } from '../../../base/closedWords.ts';
import { engagePauseRoute, liftPauseRoute, listPausesRoute, type Held } from '../../../ipc/contracts/http/pause.ts';
import { DEFAULT_PROFILE, listProfiles, requireProfile, type Home } from '../../../state/home.ts';
import { engagePause, holds, liftPause, ownPause, readPause } from '../../../state/pause.ts';
import type { Dashboard } from '../http.ts';
import { pinnedProfile, withinPinned } from '../pinned.ts';
import { on, type HttpHandler } from '../route.ts';

/** In the query of the list: the pauses of every profile. */
const EVERY = 'all';

export function pauseRoutes({ context, overview }: Dashboard): HttpHandler[] {
  const { home, log } = context;
  const pinned = pinnedProfile(context);
  return [
    on(listPausesRoute, ({ query: { profile: said } }) => {
      if (said === EVERY && pinned === null) return { pauses: pausesOf(home, listProfiles(home)) };
      const name = withinPinned(pinned, said === EVERY ? undefined : said || undefined) ?? DEFAULT_PROFILE;
      return { pauses: pausesOf(home, [DEFAULT_PROFILE, requireProfile(home, name).name]) };
    }),
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

function pausesOf(home: Home, names: readonly string[]): Held[] {
  return [...new Set(names)].flatMap((profile) => {
    const pause = ownPause(home.profile(profile));
    return pause ? { ...pause, profile, holds: pauseScopes.filter((scope) => holds(pause, scope)) } : [];
  });
}
