/** Ends supervisors that a call does not end, each proved to be one of this home: SIGCONT and SIGTERM, then SIGKILL. */
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import type { Home } from '../state/home.ts';
import { isSameProcess, signalProcess, type ProcessIdentity } from '../state/processIdentity.ts';
import { supervisorsOf } from '../state/serviceProcesses.ts';

export interface Patience {
  /** Time for an end that was already requested, before any signal. */
  quietMs: number;
  /** From SIGTERM to SIGKILL. */
  termMs: number;
}

/** Answers the processes that needed a signal; none of the home's supervisors lives then. Errors: STOP_FAILED. */
export async function endSupervisors(home: Home, { quietMs, termMs }: Patience): Promise<number[]> {
  const startedMs = performance.now();
  const termAtMs = new Map<number, number>();
  const deadlineMs = startedMs + quietMs + termMs + 2 * limits.worker.killMs;
  for (let left = supervisorsOf(home); left.length > 0; left = left.some(isSameProcess) ? left : supervisorsOf(home)) {
    const nowMs = performance.now();
    if (nowMs > deadlineMs) throw survives(left);
    if (nowMs - startedMs >= quietMs) {
      for (const one of left) {
        const at = termAtMs.get(one.pid);
        if (at === undefined) {
          termAtMs.set(one.pid, nowMs);
          signalProcess(one, 'SIGTERM');
          signalProcess(one, 'SIGCONT');
        } else if (nowMs - at >= termMs) signalProcess(one, 'SIGKILL');
      }
    }
    await sleep(limits.supervisor.endLookMs);
  }
  return [...termAtMs.keys()];
}

function survives(left: readonly ProcessIdentity[]): AgentError {
  const pids = left.map(({ pid }) => pid).join(',');
  return new AgentError('STOP_FAILED', `the supervisor (process ${pids}) survives SIGKILL`, {
    fix: `see what holds it: ps -o pid,user,stat,wchan,args -p ${pids}`,
  });
}
