/** The Seatbelt profile of a policy, for sandbox-exec on macOS. Its form is tested; it has not been run on a Mac yet. */
import type { Mount, SandboxPolicy } from './policy.ts';

/** Rules are read from top to bottom and the last one that fits decides, as with mounts. No network. */
export function seatbeltProfile({ mounts }: Pick<SandboxPolicy, 'mounts'>): string {
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-fork process-exec signal sysctl-read mach-lookup)',
    '(allow file-ioctl file-read-metadata)',
    ...mounts.flatMap(rulesOf),
    '(allow file-read* file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/random") (literal "/dev/urandom"))',
    '(deny network*)',
  ].join('\n');
}

function rulesOf({ kind, path, source = path }: Mount): string[] {
  const below = `(subpath ${quoted(source)})`;
  switch (kind) {
    case 'read':
      return [`(allow file-read* ${below})`, `(deny file-write* ${below})`];
    case 'write':
      return [`(allow file-read* file-write* ${below})`];
    case 'empty':
    case 'blank':
      return [`(deny file-read-data file-write* ${below})`];
    case 'proc':
    case 'dev':
      return [];
  }
}

const quoted = (path: string): string => `"${path.replaceAll(/["\\]/g, '\\$&')}"`;
