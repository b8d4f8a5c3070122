/** Real worker processes for tests: started without a supervisor in their own group, proved gone at the end. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Link } from '../../ipc/link.ts';
import { dial, type DialOptions } from '../../ipc/dial.ts';
import { readToken, type Home } from '../../state/home.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { until } from './until.ts';

export const projectRoot = join(import.meta.dirname, '..', '..');

export interface TestWorker extends AsyncDisposable {
  child: ChildProcess;
  slot: string;
  /** What it printed on stdout and stderr. */
  output(): string;
  dial(options?: Partial<DialOptions>): Promise<Link>;
  /** Sends a signal to the whole group and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

export interface StartOptions {
  env?: Record<string, string>;
  demo?: boolean;
  profile?: string;
  /** Wait until the socket answers (default true). */
  ready?: boolean;
}

export async function startWorker(
  home: Home,
  kind: string,
  { env = {}, demo = false, profile, ready = true }: StartOptions = {},
): Promise<TestWorker> {
  const slot = profile ? `${kind}@${profile}` : kind;
  const child = spawn(process.execPath, [join(projectRoot, 'services', kind, 'main.ts')], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      HOME: home.root,
      AGENT_HOME: home.root,
      ...(profile ? { AGENT_PROFILE: profile } : {}),
      ...(demo ? { AGENT_DEMO: '1' } : {}),
      ...env,
    },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const worker: TestWorker = {
    child,
    slot,
    output: () => output,
    dial: (options = {}) => dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'test', startingMs: 15_000, ...options }),
    async kill(signal = 'SIGKILL') {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, signal);
      const [code, by] = await ended;
      return { code, signal: by };
    },
    async [Symbol.asyncDispose]() {
      await this.kill('SIGKILL');
      await until(`the group of ${slot} is gone`, () => !groupAlive(child.pid!));
    },
  };
  if (ready) {
    await until(`${slot} serves`, async () => {
      if (child.exitCode !== null) throw new Error(`${slot} ended with ${child.exitCode}:\n${output}`);
      (await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'test' })).close();
      return true;
    }).catch(async (thrown: unknown) => {
      await worker[Symbol.asyncDispose]();
      throw new Error(`${slot} did not start:\n${output}`, { cause: thrown });
    });
  }
  return worker;
}
