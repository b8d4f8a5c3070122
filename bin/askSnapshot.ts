/** The status from the supervisor itself, for when its snapshot is damaged or could not be written. */
import { limits } from '../base/limits.ts';
import { status } from '../ipc/contracts/supervisor.ts';
import type { Home } from '../state/home.ts';
import { dialSupervisor } from './connect.ts';
import { pausedProfiles, type Snapshot } from './snapshot.ts';

/** Undefined when it does not answer in time. */
export async function askSnapshot(home: Home): Promise<Snapshot | undefined> {
  const signal = AbortSignal.timeout(limits.supervisor.snapshotAskMs);
  try {
    using link = await dialSupervisor(home, { signal });
    return {
      status: await link.call(status, {}, { signal }),
      live: true,
      supervisor: 'running',
      ageMs: 0,
      pausedProfiles: pausedProfiles(home),
    };
  } catch {
    return undefined;
  }
}
