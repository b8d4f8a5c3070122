/**
 * One owner of a home, also where a pid proves nothing: two containers that share a volume have the
 * same boot id and pid namespaces of their own. The owner keeps a heartbeat beside its lock
 * (proper-lockfile); a lock of another namespace counts as held while that beats.
 */
import { readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { readRegularText } from '../base/regularFile.ts';
import lockfile from 'proper-lockfile';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import { acquireLock, readLock, type HeldLock } from './lock.ts';

/** `beatMs`: at least a second, the same for all who want the lock. Errors: LOCK_HELD naming the living owner, HOME_UNUSABLE, DISK_FULL. */
export async function acquireHomeLock(path: string, holder: string, beatMs: number = limits.state.homeBeatMs): Promise<HeldLock> {
  await refuseIfBeatingElsewhere(path, beatMs);
  const lock = await acquireLock(path, holder);
  try {
    // With the lock proved ours, a heartbeat that is still there is that of a dead owner.
    rmSync(beatOf(path), { recursive: true, force: true });
    writeFileSync(namespaceOf(path), `${pidNamespace()}\n`, { mode: 0o600 });
    await lockfile.lock(path, {
      lockfilePath: beatOf(path),
      realpath: false,
      stale: beatMs * limits.state.homeBeatsMissed,
      update: beatMs,
      // Somebody removed it by hand: the proof in the lock itself still stands.
      onCompromised: () => {},
    });
    return {
      record: lock.record,
      [Symbol.dispose]() {
        stopBeating(path);
        rmSync(namespaceOf(path), { force: true });
        lock[Symbol.dispose]();
      },
    };
  } catch (thrown) {
    lock[Symbol.dispose]();
    throw thrown;
  }
}

async function refuseIfBeatingElsewhere(path: string, beatMs: number): Promise<void> {
  const record = readLock(path);
  if (!record || readNamespace(path) === pidNamespace()) return;
  const fresh = await lockfile
    .check(path, { lockfilePath: beatOf(path), realpath: false, stale: beatMs * limits.state.homeBeatsMissed })
    .catch(() => false);
  if (!fresh) return;
  // A container that was killed and started again finds its own last beat: only a next one proves life.
  if (!(await nextBeatComes(beatOf(path), beatMs))) return;
  throw new AgentError(
    'LOCK_HELD',
    `${record.holder} (process ${record.pid} in another container, since ${record.taken_at}) holds ${path}`,
    {
      facts: { pid: record.pid, holder: record.holder },
      fix: 'give each container a home of its own',
    },
  );
}

/** At once: a next owner in this process must not have its beat removed by the end of this one. */
function stopBeating(path: string): void {
  try {
    lockfile.unlockSync(path, { lockfilePath: beatOf(path), realpath: false });
  } catch {
    // removed by hand
  }
}

/** Looks for one and a half intervals; answers as soon as it is there. */
async function nextBeatComes(beat: string, beatMs: number): Promise<boolean> {
  const beatAt = () => statSync(beat, { throwIfNoEntry: false })?.mtimeMs;
  const before = beatAt();
  const deadlineMs = performance.now() + 1.5 * beatMs;
  while (performance.now() < deadlineMs) {
    await sleep(beatMs / 20);
    const now = beatAt();
    if (now === undefined) return false;
    if (now !== before) return true;
  }
  return false;
}

const beatOf = (path: string): string => `${path}.beat`;
const namespaceOf = (path: string): string => `${path}.ns`;

/** Which set of pids ours belongs to; empty where there is only one. */
function pidNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

function readNamespace(path: string): string {
  try {
    return readRegularText(namespaceOf(path)).trim();
  } catch {
    // no note of it: an owner of before, judged by its pid alone
    return pidNamespace();
  }
}
