/** The arguments of `bwrap` for a policy. Everything is off that is not listed here. */
import { limits } from '../../base/limits.ts';
import type { Mount, SandboxPolicy } from './policy.ts';

export interface SandboxedCommand {
  file: string;
  args: readonly string[];
  /** As seen inside. */
  cwd: string;
}

const { emptyFolderMaxBytes, sharedMemoryMaxBytes } = limits.sandbox;

/**
 * No own network namespace here: the command is started in that of its session. `--die-with-parent` and the own
 * namespace of processes end the whole tree with bwrap, and bwrap with the worker.
 */
const namespaces = ['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'];
const rights = ['--disable-userns', '--cap-drop', 'ALL', '--die-with-parent', '--hostname', 'sandbox'];

export function bubblewrapArgs({ mounts }: Pick<SandboxPolicy, 'mounts'>, { file, args, cwd }: SandboxedCommand): string[] {
  return [...namespaces, ...rights, ...mounts.flatMap(mountArgs), '--chdir', cwd, '--', file, ...args];
}

function mountArgs({ kind, path, source = path }: Mount): string[] {
  switch (kind) {
    case 'read':
      return ['--ro-bind', source, path];
    case 'write':
      return ['--bind', source, path];
    case 'empty':
      return ['--size', String(emptyFolderMaxBytes), '--perms', '0555', '--tmpfs', path];
    case 'blank':
      return ['--ro-bind', '/dev/null', path];
    case 'proc':
      return ['--proc', path];
    case 'dev':
      return ['--dev', path, '--size', String(sharedMemoryMaxBytes), '--perms', '1777', '--tmpfs', `${path}/shm`, '--remount-ro', path];
  }
}
