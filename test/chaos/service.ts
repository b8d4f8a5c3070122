/**
 * The service under chaos: agentd on a temporary home, started again whenever it dies, as a service
 * manager would. Everything of the home is gone at the end.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../base/time.ts';
import { down, startSlot, status as statusMethod, waitReady, type Status } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import type { Link } from '../../ipc/link.ts';
import { readToken } from '../../state/home.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import type { TestHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';
import type { SteppedClock } from './steppedClock.ts';

/** A manager waits a moment before it starts a dead service again. */
const RESTART_MS = 300;

export class ChaosService implements AsyncDisposable {
  readonly home: TestHome;
  readonly port: number;
  /** Times the supervisor was started. */
  starts = 0;
  /** Slots that were parked and started by hand, as an operator does. */
  unparked = 0;
  #child: ChildProcess | undefined;
  #leaving = false;

  /** Its time of day, where it can be stepped. */
  readonly clock: SteppedClock | undefined;

  constructor(home: TestHome, port: number, clock?: SteppedClock) {
    this.home = home;
    this.port = port;
    this.clock = clock;
  }

  /** Epoch milliseconds as the service has them. */
  get nowMs(): number {
    return Date.now() + (this.clock?.ms ?? 0);
  }

  get pid(): number {
    return this.#child!.pid!;
  }

  start(): void {
    this.starts++;
    const child = spawn(this.clock?.node ?? process.execPath, [join(projectRoot, 'bin/agentd.ts'), '--demo', '--port', String(this.port)], {
      env: { PATH: process.env.PATH, HOME: this.home.root, AGENT_HOME: this.home.root, AGENT_GATEWAY_BOOTSTRAP_STATE: 'running' },
      stdio: 'ignore',
      detached: true,
    });
    child.once('exit', () => {
      if (!this.#leaving) setTimeout(() => !this.#leaving && this.start(), RESTART_MS);
    });
    this.#child = child;
  }

  link(slot = 'supervisor', startingMs = 0): Promise<Link> {
    return dial(this.home.run.socket(slot), { token: readToken(this.home) ?? '', slot: 'chaos', startingMs });
  }

  async status(): Promise<Status> {
    using link = await this.link();
    return await link.call(statusMethod, {});
  }

  /** Until every wanted slot serves; one that was parked is started by hand. */
  async ready(ms = 90_000): Promise<Status> {
    return until(
      'every wanted slot is ready',
      async () => {
        using link = await this.link();
        const { ready, status } = await link.call(waitReady, { timeout_ms: 2_000 });
        for (const { slot, state } of status.workers.filter(
          (row) => row.state === 'parked' || (row.state === 'backoff' && row.next_start_at),
        )) {
          if (state === 'parked') this.unparked++;
          await link.call(startSlot, { slot, actor: 'chaos', cause: 'unpark' });
        }
        return ready && status;
      },
      ms,
    );
  }

  /** Repeats a call until it is answered or `ms` are over. */
  async call<T>(slot: string, work: (link: Link) => Promise<T>, ms: number): Promise<T> {
    const deadline = performance.now() + ms;
    for (;;) {
      try {
        using link = await this.link(slot);
        return await work(link);
      } catch (thrown) {
        if (performance.now() > deadline) throw thrown;
        await sleep(50);
      }
    }
  }

  /** Ends it in good order. */
  async down(): Promise<void> {
    this.#leaving = true;
    const ended = once(this.#child!, 'exit');
    using link = await this.link();
    await link.call(down, { actor: 'chaos' });
    await ended;
  }

  /** Living processes of this home, by what they were started with; the supervisor is one of them. */
  processes(): { pid: number; command: string }[] {
    return processesOf(this.home.root);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving = true;
    for (let round = 0; round < 100; round++) {
      const left = this.processes();
      if (left.length === 0) return;
      for (const { pid } of left) {
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // gone meanwhile
        }
      }
      await sleep(20);
    }
  }
}

function processesOf(root: string): { pid: number; command: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => ({ pid: Number(name), command: textOf(`/proc/${name}/cmdline`), environment: textOf(`/proc/${name}/environ`) }))
    .filter(({ pid, command, environment }) => (command.includes(root) || environment.includes(root)) && startTimeOf(pid) !== undefined)
    .map(({ pid, command }) => ({ pid, command: command.replaceAll('\0', ' ').trim() }));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
