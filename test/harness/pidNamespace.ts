/** A PID namespace with a program as its process 1, as in a container; gone with it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { until } from './until.ts';

const run = promisify(execFile);

export interface PidNamespace extends AsyncDisposable {
  /** What process 1 ended with. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** Sends a signal to process 1, as `docker stop` does. */
  signal(name: NodeJS.Signals): void;
  /** Runs a shell command line in it. Answers stdout. */
  shell(line: string): Promise<string>;
  /** One row per process: pid, parent, state, name. */
  processes(): Promise<{ pid: number; parent: number; state: string; name: string }[]>;
}

export function whyNoNamespaces(): string | undefined {
  if (process.platform !== 'linux') return 'not Linux';
  if (process.getuid?.() !== 0) return 'needs root for a PID namespace';
  return existsSync('/usr/bin/unshare') && existsSync('/usr/bin/nsenter') ? undefined : 'missing Debian package: util-linux';
}

export async function pidNamespace(command: readonly string[], env: Record<string, string>): Promise<PidNamespace> {
  // It dies with this process, whatever ends this.
  const words = ['--pdeathsig=KILL', '/usr/bin/unshare', '--pid', '--fork', '--mount-proc', '--kill-child=KILL', ...command];
  const outer = spawn('/usr/bin/setpriv', words, {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = once(outer, 'exit').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null }));
  const init = await until('process 1 is there', () => {
    const [pid] = readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, 'utf8').trim().split(' ');
    return Number(pid) || undefined;
  });
  const shell = async (line: string): Promise<string> =>
    (await run('/usr/bin/nsenter', ['-t', String(init), '-p', '-m', '/bin/sh', '-c', line], { env: { PATH: '/usr/bin:/bin' } })).stdout;
  return {
    ended,
    shell,
    signal: (name) => process.kill(init, name),
    async processes() {
      const stats = await shell('cat /proc/[0-9]*/stat 2>/dev/null');
      return stats
        .trim()
        .split('\n')
        .map((stat) => {
          const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
          return {
            pid: Number.parseInt(stat, 10),
            parent: Number(parent),
            state,
            name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
          };
        });
    },
    async [Symbol.asyncDispose]() {
      if (outer.exitCode === null && outer.signalCode === null) process.kill(init, 'SIGKILL');
      await ended;
    },
  };
}
