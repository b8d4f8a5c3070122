/** One supervisor a home: the lock first, then the socket, then the first spawn (lessons 27). */
import { AgentError, isAgentError } from '../base/errors.ts';
import type { Home } from '../state/home.ts';
import { acquireHomeLock } from '../state/homeLock.ts';
import { SUPERVISOR, type HeldLock } from '../state/lock.ts';

/** Errors: ALREADY_RUNNING with the pid of the one that runs. */
export async function takeHome(home: Home, beatMs: number | undefined): Promise<HeldLock> {
  try {
    return await acquireHomeLock(home.run.supervisorLock, SUPERVISOR, beatMs);
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'LOCK_HELD') throw thrown;
    throw new AgentError('ALREADY_RUNNING', `a supervisor (process ${String(thrown.facts?.pid)}) already runs on ${home.root}`, {
      cause: thrown,
      fix: thrown.fix ?? 'use it with `agent status`, or end it with `agent down`',
      ...(thrown.facts ? { facts: thrown.facts } : {}),
    });
  }
}
