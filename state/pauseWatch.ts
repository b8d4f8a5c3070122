/**
 * Noticing that a pause has ended. The sentinel file stays the truth (state/pause.ts); this only says
 * when to read it again: at once when its directory changes, and at a bounded pace in any case, because
 * watchers miss events on some file systems and a pause may simply expire.
 */
import { watch, type FSWatcher } from 'node:fs';
import { basename, dirname } from 'node:path';
import { limits } from '../base/limits.ts';
import type { Home } from './home.ts';
import type { PauseScope } from '../base/closedWords.ts';
import { readPause } from './pause.ts';

/** Calls back once when this scope is no longer paused. Dispose to stop waiting. */
export function whenResumed(
  home: Home,
  { scope, profile = 'default' }: { scope: PauseScope; profile?: string },
  onResumed: () => void,
): Disposable {
  const sentinels = profile === 'default' ? [home.estop] : [home.estop, home.profile(profile).estop];
  const watchers: FSWatcher[] = [];
  let timer: NodeJS.Timeout | undefined;
  let over = false;

  const stop = () => {
    over = true;
    clearTimeout(timer);
    for (const watcher of watchers) watcher.close();
  };
  const look = () => {
    if (over) return;
    clearTimeout(timer);
    const pause = readPause(home, profile);
    if (pause === undefined || (pause.scope.length > 0 && !pause.scope.includes(scope))) {
      stop();
      return onResumed();
    }
    const expiresInMs = pause.expires_at === null ? Number.POSITIVE_INFINITY : Date.parse(pause.expires_at) - Date.now() + 1;
    timer = setTimeout(look, Math.max(1, Math.min(limits.state.pauseRecheckMs, expiresInMs)));
  };
  for (const path of sentinels) {
    try {
      const watcher = watch(dirname(path), { persistent: false }, (_event, name) => {
        if (name === null || name === basename(path)) look();
      });
      watcher.on('error', () => watcher.close());
      watchers.push(watcher);
    } catch {
      // the timer serves alone
    }
  }
  // Not in this call: the caller may not have stored what we return yet.
  timer = setTimeout(look, 0);
  return { [Symbol.dispose]: stop };
}
