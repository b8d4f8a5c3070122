/**
 * Programs that tests take from Debian: there already, installed when we may (root with apt), or named
 * with the package to install. With CI set a missing one fails (contract §1).
 */
import { execFile } from 'node:child_process';
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Path of the program. Throws with the package's name when it is missing and cannot be installed. */
export async function requirePackage(name: string, program: string): Promise<string> {
  if (existsSync(program)) return program;
  const mayInstall = !process.env.CI && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get');
  if (mayInstall) {
    using _held = holdServices();
    await run('/usr/bin/apt-get', ['install', '-y', '--no-install-recommends', name], {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', DEBIAN_FRONTEND: 'noninteractive' },
      timeout: 90_000,
    });
  }
  if (!existsSync(program)) throw new Error(`${program} is missing: install the Debian package ${name}`);
  return program;
}

const POLICY = '/usr/sbin/policy-rc.d';

/** A server's package starts it when it is installed, unless this file says no. A machine that has one keeps its own. */
export function holdServices(): Disposable {
  if (existsSync(POLICY)) return { [Symbol.dispose]() {} };
  writeFileSync(POLICY, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  return { [Symbol.dispose]: () => rmSync(POLICY, { force: true }) };
}
