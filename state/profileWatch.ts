/**
 * Noticing that profiles have come, gone or been renamed. A hint: what `profiles/` holds then is the truth, and
 * watchers miss events on some file systems.
 */
import { watch } from 'node:fs';
import { dirname } from 'node:path';
import type { Home } from './home.ts';

/** Undefined while there is no `profiles/`, or where it cannot be watched. Dispose to stop. */
export function watchProfiles(home: Home, onChange: () => void): Disposable | undefined {
  try {
    const watcher = watch(dirname(home.profile('any').dir), { persistent: false }, onChange);
    watcher.on('error', () => watcher.close());
    return { [Symbol.dispose]: () => watcher.close() };
  } catch {
    return undefined;
  }
}
