/**
 * Locks that cannot outlive their owner: the record proves who holds it (boot id, pid, start time),
 * so a reused pid or a reboot never makes a dead lock look alive (lessons 23–27).
 * `acquireLock` is for a process's lifetime; `withFileLock` for a file that is read, changed, written.
 */
import { linkSync, rmSync, writeFileSync } from 'node:fs';
import { readRegularText } from '../base/regularFile.ts';
import { AgentError, errnoOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import { writeError } from './atomicFile.ts';
import { identityOf, isSameProcess, type ProcessIdentity } from './processIdentity.ts';

export interface LockRecord extends ProcessIdentity {
  nonce: string;
  /** What the holder is, for the message of the one who is refused. */
  holder: string;
  taken_at: string;
}

export interface HeldLock extends Disposable {
  record: LockRecord;
}

/** The holder in the lock of a home that a supervisor serves. */
export const SUPERVISOR = 'the supervisor';

/** Each level needs a process that died while it cleared the level above; three have never been seen. */
const CLEARING_DEPTH_MAX = 3;
/** Pause between two looks at a lock that a living process holds for a moment. */
const POLL_MS = 10;

/** Takes the lock or throws LOCK_HELD naming the living holder. A dead holder's lock is cleared. */
export async function acquireLock(path: string, holder: string): Promise<HeldLock> {
  return take(path, holder, 0);
}

/** Runs `change` while no other process of ours changes that file. Errors: LOCK_HELD after the limit. */
export async function withFileLock<T>(path: string, change: () => T | Promise<T>): Promise<T> {
  using _lock = await takeInTime(`${path}.lock`, 'a change of the file', 0);
  return await change();
}

/** Waits for a living holder, who needs it for a moment only. */
async function takeInTime(path: string, holder: string, depth: number): Promise<HeldLock> {
  const deadlineMs = performance.now() + limits.state.fileLockMs;
  for (;;) {
    try {
      return await take(path, holder, depth);
    } catch (thrown) {
      if (!(thrown instanceof AgentError) || thrown.code !== 'LOCK_HELD' || performance.now() >= deadlineMs) throw thrown;
      await sleep(POLL_MS * (0.5 + Math.random()));
    }
  }
}

async function take(path: string, holder: string, depth: number): Promise<HeldLock> {
  const record: LockRecord = { ...identityOf(process.pid), nonce: hexId(16), holder, taken_at: new Date().toISOString() };
  const own = `${path}.${record.nonce}`;
  try {
    writeFileSync(own, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw writeError(path, cause);
  }
  try {
    for (;;) {
      // The complete record appears at once, or somebody else's is there.
      if (linkedTo(own, path)) return { record, [Symbol.dispose]: () => release(path, record.nonce) };
      const current = readLock(path);
      if (current && isSameProcess(current)) throw heldError(path, current);
      if (depth >= CLEARING_DEPTH_MAX)
        throw new AgentError('LOCK_HELD', `${path} cannot be cleared`, { fix: `remove it by hand: rm ${path}` });
      await clearDead(path, current?.nonce, depth);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** Removes a lock whose holder is proved dead; only one process at a time may, so a fresh lock is never removed. */
async function clearDead(path: string, examined: string | undefined, depth: number): Promise<void> {
  using _clearing = await takeInTime(`${path}.clearing`, `clearing ${path}`, depth + 1);
  const current = readLock(path);
  if (current?.nonce !== examined || (current && isSameProcess(current))) return;
  rmSync(path, { recursive: true, force: true });
}

/** The record in a lock file, or undefined when it is absent or unreadable. */
export function readLock(path: string): LockRecord | undefined {
  try {
    return JSON.parse(readRegularText(path)) as LockRecord;
  } catch {
    return undefined;
  }
}

/** The living holder, or undefined when nobody holds it. */
export function lockHolder(path: string): LockRecord | undefined {
  const record = readLock(path);
  return record && isSameProcess(record) ? record : undefined;
}

function linkedTo(own: string, path: string): boolean {
  try {
    linkSync(own, path);
    return true;
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST') return false;
    throw writeError(path, thrown);
  }
}

function release(path: string, nonce: string): void {
  if (readLock(path)?.nonce === nonce) rmSync(path, { force: true });
}

function heldError(path: string, record: LockRecord): AgentError {
  return new AgentError('LOCK_HELD', `${record.holder} (process ${record.pid}, since ${record.taken_at}) holds ${path}`, {
    facts: { pid: record.pid, holder: record.holder },
  });
}
