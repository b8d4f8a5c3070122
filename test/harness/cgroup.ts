/** A cgroup v2 tree for tests: mounted on a temporary directory, removed with everything in it. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cgroup } from '../../supervisor/cgroup.ts';

export interface TestCgroups extends AsyncDisposable {
  /** Where groups are made. */
  root: string;
  groups(): string[];
}

/** Why a machine has none, for a skip; with CI=true that is no excuse. */
export function withoutCgroups(): string | false {
  if (process.env.CI === 'true' || (process.platform === 'linux' && process.getuid?.() === 0)) return false;
  return 'needs root to mount cgroup2';
}

export function testCgroups(): TestCgroups {
  const mount = mkdtempSync(join(tmpdir(), 'agent-cgroup-'));
  execFileSync('mount', ['-t', 'cgroup2', 'cgroup2', mount]);
  const root = join(mount, `agent-test-${process.pid}`);
  mkdirSync(root);
  return {
    root,
    groups: () =>
      readdirSync(root, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      await new Cgroup(root).kill();
      execFileSync('umount', [mount]);
      rmdirSync(mount);
    },
  };
}
