/**
 * Locks that cannot outlive their owner: the record proves who holds it (boot id, pid, start time),
 * so a reused pid or a reboot never makes a dead lock look alive (lessons 23–27).
 * `acquireLock` is for a process's lifetime; `withFileLock` for a file that is read, changed, written.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import lockfile from 'proper-lockfile';
import { AgentError, errnoOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
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

/** Takes the lock or throws LOCK_HELD naming the living holder. A dead holder's lock is cleared. */
export async function acquireLock(path: string, holder: string): Promise<HeldLock> {
  const record: LockRecord = { ...identityOf(process.pid), nonce: hexId(16), holder, taken_at: new Date().toISOString() };
  const own = `${path}.${record.nonce}`;
  try {
    writeFileSync(own, `${JSON.stringify(record)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (cause) {
    throw writeError(path, cause);
  }
  try {
    for (;;) {
      if (linkedTo(own, path)) return { record, [Symbol.dispose]: () => release(path, record.nonce) };
      const current = readLock(path);
      if (current && isSameProcess(current)) throw heldError(path, current);
      await clearDead(path, current);
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/** The record in a lock file, or undefined when it is absent or unreadable. */
export function readLock(path: string): LockRecord | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as LockRecord;
  } catch {
    return undefined;
  }
}

/** The living holder, or undefined when nobody holds it. */
export function lockHolder(path: string): LockRecord | undefined {
  const record = readLock(path);
  return record && isSameProcess(record) ? record : undefined;
}

/** Runs `change` while no other process of ours changes that file. Errors: LOCK_HELD after the limit. */
export async function withFileLock<T>(path: string, change: () => T | Promise<T>): Promise<T> {
  let release: () => Promise<void>;
  try {
    release = await lockfile.lock(path, {
      realpath: false,
      stale: 2 * limits.state.fileLockMs,
      retries: { retries: 50, minTimeout: 20, maxTimeout: limits.state.fileLockMs / 25, maxRetryTime: limits.state.fileLockMs },
    });
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'ELOCKED') throw writeError(`${path}.lock`, cause);
    throw new AgentError('LOCK_HELD', `another command is changing ${path}`, { cause, fix: 'repeat in a moment' });
  }
  try {
    return await change();
  } finally {
    await release();
  }
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

/** Removes a lock whose holder is proved dead; only one process at a time may, so a fresh lock is never removed. */
async function clearDead(path: string, examined: LockRecord | undefined): Promise<void> {
  await withFileLock(path, () => {
    const current = readLock(path);
    if (current?.nonce !== examined?.nonce || (current && isSameProcess(current))) return;
    const aside = `${path}.dead.${hexId(8)}`;
    try {
      renameSync(path, aside);
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT') throw writeError(path, thrown);
    }
    rmSync(aside, { force: true });
  });
}

function release(path: string, nonce: string): void {
  if (readLock(path)?.nonce === nonce) rmSync(path, { force: true });
}

function heldError(path: string, record: LockRecord): AgentError {
  return new AgentError('LOCK_HELD', `${record.holder} (process ${record.pid}, since ${record.taken_at}) holds ${path}`, {
    facts: { pid: record.pid, holder: record.holder },
  });
}
