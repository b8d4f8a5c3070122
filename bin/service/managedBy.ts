/** Who starts this supervisor again when it ends. */
import { existsSync } from 'node:fs';
import type { Status } from '../../ipc/contracts/supervisor.ts';

export type ManagedBy = Status['supervisor']['managed_by'];

/** What systemd and launchd give to the process they start; its descendants inherit it, so the pid counts where it is told. */
export function managedBy(env: NodeJS.ProcessEnv = process.env, self: { pid: number; ppid: number } = process): ManagedBy {
  if (env.INVOCATION_ID && Number(env.SYSTEMD_EXEC_PID ?? self.pid) === self.pid) return 'systemd';
  if (env.XPC_SERVICE_NAME && env.XPC_SERVICE_NAME !== '0') return 'launchd';
  return self.pid === 1 || (self.ppid === 1 && insideContainer(env)) ? 'container' : 'none';
}

/** Marks that the common runtimes leave; a pod has only its environment. */
export const insideContainer = (env: NodeJS.ProcessEnv = process.env): boolean =>
  existsSync('/.dockerenv') || existsSync('/run/.containerenv') || env.container !== undefined || env.KUBERNETES_SERVICE_HOST !== undefined;
