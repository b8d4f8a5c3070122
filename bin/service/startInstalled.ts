/** An installed service is started by its manager, which then also keeps it up. */
import { limits } from '../../base/limits.ts';
import type { Link } from '../../ipc/link.ts';
import type { Home } from '../../state/home.ts';
import { dialSupervisor } from '../connect.ts';
import { mayBeInstalled } from '../recordedHome.ts';
import { readSnapshot } from '../snapshot.ts';
import { note } from '../terminal.ts';

/** Undefined: none is installed for this home, or it runs already. Errors: those of the manager, NO_SUPERVISOR. */
export async function startInstalled(home: Home): Promise<{ link: Link; started: true } | undefined> {
  if (!mayBeInstalled() || readSnapshot(home)?.live) return undefined;
  const { installedFor } = await import('./install.ts');
  const manager = await installedFor(home);
  if (!manager) return undefined;
  await manager.start(({ did, what }) => did === 'ran' && note(`ran ${what}`));
  return { link: await dialSupervisor(home, { startingMs: limits.ipc.startingMs }), started: true };
}
