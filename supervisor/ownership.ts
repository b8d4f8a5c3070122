/** One supervisor a home: the lock first, then the socket, then the first spawn (lessons 27). */
import { AgentError, isAgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import type { Home } from '../state/home.ts';
import { acquireHomeLock } from '../state/homeLock.ts';
import { SUPERVISOR, type HeldLock } from '../state/lock.ts';
import { supervisorsOf } from '../state/serviceProcesses.ts';

/** Errors: ALREADY_RUNNING with the pid of the one that runs. */
export async function takeHome(home: Home, beatMs: number | undefined): Promise<HeldLock> {
  try {
    const lock = await acquireHomeLock(home.run.supervisorLock, SUPERVISOR, beatMs);
    await refuseBeside(home).catch((thrown: unknown) => {
      lock[Symbol.dispose]();
      throw thrown;
    });
    return lock;
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'LOCK_HELD') throw thrown;
    throw alreadyRuns(home, thrown);
  }
}

/** Its lock was removed while it runs: one that ends is waited for. Errors: ALREADY_RUNNING. */
async function refuseBeside(home: Home): Promise<void> {
  const deadlineMs = performance.now() + limits.worker.killMs;
  for (;;) {
    const [other] = supervisorsOf(home);
    if (!other) return;
    if (performance.now() > deadlineMs)
      throw alreadyRuns(home, new AgentError('LOCK_HELD', 'its lock is gone', { facts: { pid: other.pid } }));
    await sleep(limits.supervisor.endLookMs);
  }
}

const alreadyRuns = (home: Home, cause: AgentError): AgentError =>
  new AgentError('ALREADY_RUNNING', `a supervisor (process ${String(cause.facts?.pid)}) already runs on ${home.root}`, {
    cause,
    fix: cause.fix ?? 'use it with `agent status`, or end it with `agent down`',
    ...(cause.facts ? { facts: cause.facts } : {}),
  });
