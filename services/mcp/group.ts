/**
 * Ending a server process for good: its whole group, and on Linux also what left the group or cleared its
 * environment (limitTag.ts). Answers only when nothing of it lives.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import { killOnce, processesOfTag } from '../../state/marks.ts';
import { groupAlive } from '../../state/processIdentity.ts';

/** Environment variable that marks a server process and all its descendants. */
export const MARK_VARIABLE = 'AGENT_MCP_MARK';

/** SIGTERM, SIGKILL, then the proof. Without a `pid` only what carries the mark. Errors: STOP_FAILED when something could not be killed. */
export async function stopGroup(pid: number | undefined, mark: string, termMs: number = limits.mcp.termMs): Promise<void> {
  const alive = () => pid !== undefined && groupAlive(pid);
  if (pid !== undefined && alive()) {
    signal(-pid, 'SIGTERM');
    if (!(await gone(alive, termMs))) signal(-pid, 'SIGKILL');
  }
  const dead = await gone(() => {
    // A stray may start another one between look and signal: kill until none is seen.
    const strays = killOnce(processesOfTag(MARK_VARIABLE, mark));
    return strays > 0 || alive();
  }, limits.worker.killMs);
  if (!dead) {
    throw new AgentError('STOP_FAILED', `process group ${pid} survived SIGKILL`, {
      fix: `look at it with ps -g ${pid}; it is probably stuck in the kernel`,
      facts: { pid },
    });
  }
}

function signal(target: number, name: NodeJS.Signals): void {
  try {
    process.kill(target, name);
  } catch {
    // it is gone already
  }
}

async function gone(alive: () => boolean, ms: number): Promise<boolean> {
  const deadlineMs = performance.now() + ms;
  for (let pauseMs = 1; alive(); pauseMs = Math.min(pauseMs * 2, 25)) {
    if (performance.now() >= deadlineMs) return false;
    await sleep(pauseMs);
  }
  return true;
}
