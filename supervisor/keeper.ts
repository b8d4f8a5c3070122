/**
 * Holds the pipes of all slots open while no supervisor does. A program and its supervisor can be killed at the same
 * moment, and the kernel drops what is in a pipe when the last process closes it. One `sleep` inherits every pipe;
 * its life is bounded, and the supervisor replaces it in time.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import { within } from '../base/time.ts';
import { signalProcess, type ProcessIdentity } from '../state/processIdentity.ts';

export interface KeeperHost {
  /** A new process tag: the next supervisor and `agent down` find the keeper by it. */
  environment: () => Record<string, string>;
  log: Logger;
}

export class Keeper {
  readonly #host: KeeperHost;
  readonly #pipes = new Set<number>();
  /** Of earlier supervisors: ended once a keeper of this one runs. */
  #former: readonly ProcessIdentity[] = [];
  #child: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isDue = false;
  #hasFailed = false;
  #isOver = false;

  constructor(host: KeeperHost) {
    this.#host = host;
  }

  hold(pipe: number): void {
    this.#pipes.add(pipe);
    this.#soon();
  }

  /** Called before the descriptor is closed. */
  release(pipe: number): void {
    this.#pipes.delete(pipe);
    this.#soon();
  }

  /** Takes the place of keepers that earlier supervisors started. */
  replace(former: readonly ProcessIdentity[]): void {
    this.#former = former;
    this.#soon();
  }

  /** The service is down and its output is read. */
  async end(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    const child = this.#child;
    this.#handOver(undefined);
    if (child) await within(once(child, 'exit'), { ms: limits.worker.killMs, what: 'the end of the keeper' }).catch(() => {});
  }

  /** One replacement for all changes of a moment; programs that were just started get the processor first. */
  #soon(): void {
    if (this.#isOver || this.#isDue) return;
    this.#isDue = true;
    this.#arm(limits.supervisor.keeperAfterMs);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#renew(), ms).unref();
  }

  #renew(): void {
    this.#isDue = false;
    if (this.#pipes.size === 0) return this.#handOver(undefined);
    const next = this.#start();
    if (next) this.#handOver(next);
    this.#arm(next ? limits.supervisor.keeperMs / 2 : limits.supervisor.keeperRetryMs);
  }

  /** The pipes are never without a keeper: the next one runs before the former ones are ended. */
  #handOver(next: ChildProcess | undefined): void {
    const former = this.#child;
    this.#child = next;
    former?.kill('SIGKILL');
    for (const one of this.#former) signalProcess(one, 'SIGKILL');
    this.#former = [];
  }

  #start(): ChildProcess | undefined {
    try {
      const child = spawn('sleep', [String(limits.supervisor.keeperMs / 1_000)], {
        cwd: '/',
        env: { PATH: process.env.PATH, ...this.#host.environment() },
        detached: true,
        stdio: ['ignore', 'ignore', 'ignore', ...this.#pipes],
      });
      child.unref();
      child.on('error', (thrown) => this.#failed(thrown));
      child.on('exit', () => this.#ended(child));
      if (child.pid === undefined) return undefined;
      this.#hasFailed = false;
      return child;
    } catch (thrown) {
      this.#failed(thrown);
      return undefined;
    }
  }

  #ended(child: ChildProcess): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    if (!this.#isOver && !this.#isDue) this.#arm(limits.supervisor.keeperRetryMs);
  }

  /** Logged once for all tries in a row. */
  #failed(thrown: unknown): void {
    if (!this.#hasFailed) {
      const what = 'the keeper of the pipes did not start: lines printed just before a program and the supervisor die together may be lost';
      this.#host.log.warn(what, errorFields(thrown));
    }
    this.#hasFailed = true;
  }
}
