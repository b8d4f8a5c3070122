/**
 * One owner of a home, also where a pid proves nothing: two containers that share a volume have the
 * same boot id and pid namespaces of their own. The owner keeps a heartbeat beside its lock
 * (proper-lockfile); a lock of another namespace counts as held while that beats.
 */
import { readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import lockfile from 'proper-lockfile';
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import { acquireLock, readLock, type HeldLock } from './lock.ts';

/** Errors: LOCK_HELD naming the living owner, HOME_UNUSABLE, DISK_FULL. */
export async function acquireHomeLock(path: string, holder: string): Promise<HeldLock> {
  await refuseIfBeatingElsewhere(path);
  const lock = await acquireLock(path, holder);
  try {
    // With the lock proved ours, a heartbeat that is still there is that of a dead owner.
    rmSync(beatOf(path), { recursive: true, force: true });
    writeFileSync(namespaceOf(path), `${pidNamespace()}\n`, { mode: 0o600 });
    const stop = await lockfile.lock(path, {
      lockfilePath: beatOf(path),
      realpath: false,
      stale: limits.state.homeBeatStaleMs,
      update: limits.state.homeBeatMs,
      // Somebody removed it by hand: the proof in the lock itself still stands.
      onCompromised: () => {},
    });
    return {
      record: lock.record,
      [Symbol.dispose]() {
        void stop().catch(() => {});
        rmSync(namespaceOf(path), { force: true });
        lock[Symbol.dispose]();
      },
    };
  } catch (thrown) {
    lock[Symbol.dispose]();
    throw thrown;
  }
}

async function refuseIfBeatingElsewhere(path: string): Promise<void> {
  const record = readLock(path);
  if (!record || readNamespace(path) === pidNamespace()) return;
  const fresh = await lockfile
    .check(path, { lockfilePath: beatOf(path), realpath: false, stale: limits.state.homeBeatStaleMs })
    .catch(() => false);
  if (!fresh) return;
  // A container that was killed and started again finds its own last beat: only a next one proves life.
  const before = statSync(beatOf(path), { throwIfNoEntry: false })?.mtimeMs;
  await sleep(1.5 * limits.state.homeBeatMs);
  const after = statSync(beatOf(path), { throwIfNoEntry: false })?.mtimeMs;
  if (after === undefined || after === before) return;
  throw new AgentError(
    'LOCK_HELD',
    `${record.holder} (process ${record.pid} in another container, since ${record.taken_at}) holds ${path}`,
    {
      facts: { pid: record.pid, holder: record.holder },
      fix: 'give each container a home of its own',
    },
  );
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
    return readFileSync(namespaceOf(path), 'utf8').trim();
  } catch {
    // no note of it: an owner of before, judged by its pid alone
    return pidNamespace();
  }
}
