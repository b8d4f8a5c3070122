/** Whether this machine can sandbox commands, found by a trial run, and what to install where it cannot. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { limits } from '../../base/limits.ts';
import { bubblewrapArgs } from './bubblewrap.ts';

export type SandboxSupport =
  | { kind: 'bubblewrap'; bwrap: string; nsenter: string }
  | { kind: 'seatbelt'; program: string }
  | { kind: 'none'; problem: string; fix: string };

const run = promisify(execFile);

/** Keeps the network of a session; commands join it. */
export const networkArgs = ['--die-with-parent', '--unshare-user', '--unshare-net', '--dev-bind', '/', '/'];

const trialPolicy = {
  mounts: [
    { kind: 'read', path: '/' },
    { kind: 'proc', path: '/proc' },
    { kind: 'dev', path: '/dev' },
  ],
} as const;

/** Never throws. */
export async function findSandbox(platform: NodeJS.Platform = process.platform): Promise<SandboxSupport> {
  if (platform === 'darwin') return { kind: 'seatbelt', program: '/usr/bin/sandbox-exec' };
  if (platform !== 'linux') return { kind: 'none', problem: `there is no sandbox for ${platform}`, fix: 'run the service in a container' };
  const bwrap = programOf('bwrap');
  const nsenter = programOf('nsenter');
  if (!bwrap)
    return { kind: 'none', problem: 'bubblewrap is not installed', fix: 'install the package bubblewrap (apt-get install bubblewrap)' };
  if (!nsenter) return { kind: 'none', problem: 'nsenter is not installed', fix: 'install the package util-linux' };
  try {
    const inner = bubblewrapArgs(trialPolicy, { file: '/bin/true', args: [], cwd: '/' });
    await run(bwrap, [...networkArgs, '--', bwrap, ...inner], { timeout: limits.sandbox.trialMs, killSignal: 'SIGKILL', env: {} });
    return { kind: 'bubblewrap', bwrap, nsenter };
  } catch (thrown) {
    const { stderr } = thrown as { stderr?: string };
    return {
      kind: 'none',
      problem: `bubblewrap does not work here: ${(stderr || String(thrown)).trim().slice(0, 300)}`,
      fix: 'allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns); in a container they need its permission',
    };
  }
}

const programOf = (name: string): string | undefined =>
  ['/usr/bin', '/bin', '/usr/local/bin'].map((dir) => `${dir}/${name}`).find((path) => existsSync(path));
