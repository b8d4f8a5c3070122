/** The whole real service: agentd with every worker, from source, on a temporary home and free ports. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { down, status as statusMethod, waitReady, type Status, type WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import type { Link } from '../../ipc/link.ts';
import { readToken } from '../../state/home.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { freePort, type TestHome } from './home.ts';
import { rememberDashboard } from './loginCode.ts';
import { until } from './until.ts';
import { projectRoot } from './worker.ts';

export interface TestService extends AsyncDisposable {
  pid: number;
  port: number;
  status(): Promise<Status>;
  worker(slot: string): Promise<WorkerStatus>;
  /** A connection to the supervisor, or to a worker. */
  link(slot?: string): Promise<Link>;
  /** Waits until every wanted slot is ready. */
  ready(): Promise<void>;
  /** Goes down in good order. */
  down(): Promise<void>;
  /** Ends the supervisor alone. */
  kill(signal: NodeJS.Signals): Promise<void>;
}

export interface ServiceOptions {
  env?: Record<string, string>;
  args?: string[];
}

/** Starts agentd; resolves when its control socket answers. */
export async function startService(home: TestHome, { env = {}, args = ['--demo'] }: ServiceOptions = {}): Promise<TestService> {
  const port = await freePort();
  rememberDashboard(port, home);
  const child = spawn(process.execPath, [join(projectRoot, 'bin/agentd.ts'), '--port', String(port), ...args], {
    env: { PATH: process.env.PATH, HOME: home.root, AGENT_HOME: home.root, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let complaints = '';
  child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString()));
  const ended = once(child, 'exit');
  const seen = new Set<number>();
  const link = (slot = 'supervisor') => dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'test' });
  const service: TestService = {
    pid: child.pid!,
    port,
    link,
    async status() {
      using control = await link();
      const status = await control.call(statusMethod, {});
      for (const { pid } of status.workers) if (pid) seen.add(pid);
      return status;
    },
    async worker(slot) {
      return (await this.status()).workers.find((worker) => worker.slot === slot)!;
    },
    async ready() {
      using control = await link();
      const { ready, status } = await control.call(waitReady, { timeout_ms: 30_000 });
      for (const { pid } of status.workers) if (pid) seen.add(pid);
      if (!ready)
        throw new Error(
          `not ready: ${JSON.stringify(
            status.workers.filter((w) => w.state !== 'ready'),
            null,
            2,
          )}`,
        );
    },
    async down() {
      using control = await link();
      await control.call(down, { actor: 'test' });
      await ended;
    },
    async kill(signal) {
      child.kill(signal);
      await ended;
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        await this.status().catch(() => {});
        child.kill('SIGTERM');
        await ended;
      }
      // What a killed supervisor left running ends here; nothing of the service may outlive the test.
      for (const pid of seen) {
        try {
          if (groupAlive(pid)) process.kill(-pid, 'SIGKILL');
        } catch {
          // Its last process ended between the look and the signal.
        }
        await until(`group ${pid} is gone`, () => !groupAlive(pid));
      }
    },
  };
  await until('the supervisor answers', async () => {
    if (child.exitCode !== null) throw new Error(`agentd ended with ${child.exitCode}: ${complaints}`);
    return service.status();
  });
  return service;
}
