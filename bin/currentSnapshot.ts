/** What runs now: the snapshot while its supervisor shows that it is alive, else what the supervisor answers, else what a check of each process finds. */
import { existsSync, statSync } from 'node:fs';
import { limits } from '../base/limits.ts';
import { type Home } from '../state/home.ts';
import { isStopped, startTimeOf } from '../state/processIdentity.ts';
import { checkedRows } from './checkedRows.ts';
import { readSnapshot, type Snapshot } from './snapshot.ts';

/** Undefined when no supervisor has written one and none answers. Answers within `limits.supervisor.snapshotAskMs`. */
export async function currentSnapshot(home: Home): Promise<Snapshot | undefined> {
  const written = readSnapshot(home);
  if (written ? !written.live || !isDoubtful(home, written) : !existsSync(home.run.supervisorSocket)) return written;
  const { askSnapshot } = await import('./askSnapshot.ts');
  const asked = await askSnapshot(home);
  if (asked || !written) return asked;
  return {
    ...written,
    status: { ...written.status, workers: checkedRows(home, written.status, true) },
    live: false,
    supervisor: 'not_responding',
  };
}

/** The supervisor is stopped, its heartbeat is late, or a process that its snapshot names is gone: then it is asked. */
function isDoubtful(home: Home, { status, ageMs }: Snapshot): boolean {
  if (isStopped(status.supervisor.pid) || ageMs > limits.supervisor.snapshotStaleMs) return true;
  const beatAtMs = statSync(`${home.run.supervisorLock}.beat`, { throwIfNoEntry: false })?.mtimeMs;
  if (beatAtMs !== undefined && Date.now() - beatAtMs > limits.supervisor.beatLateMs) return true;
  return status.workers.some(({ pid }) => pid !== null && startTimeOf(pid) === undefined);
}
