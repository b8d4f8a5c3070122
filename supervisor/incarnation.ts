/**
 * One running process of a slot, ours by birth or taken over from an earlier supervisor: how it is
 * started, asked to drain, terminated, killed with its whole group, and proved gone. One lifetime
 * each; nothing of it outlives `gone`.
 */
import { spawn } from 'node:child_process';
import { AgentError } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { deferred, sleep, within } from '../base/time.ts';
import { drain } from '../ipc/contracts/peer.ts';
import type { Link } from '../ipc/link.ts';
import { groupAlive, identityOf, isSameProcess, startTimeOf, type ProcessIdentity } from '../state/processIdentity.ts';
import type { SlotSpec } from './spec.ts';

export interface ExitFacts {
  /** Null when a signal ended it, and for an adopted process, whose status only its dead parent could read. */
  code: number | null;
  signal: string | null;
  /** It could not even be started (ENOENT, EACCES, …). */
  spawnError?: string;
}

export interface IncarnationRecord extends ProcessIdentity {
  slot: string;
  nonce: string;
  code: string;
  spawned_at: string;
  /** It has served: a sidecar that is taken over need not prove it again. */
  ready?: boolean | undefined;
}

export interface StartParts {
  /** Content id of the code it runs. */
  code: string;
  /** Gets its stdout and stderr. */
  outputFd: number;
  /** Bound sockets it inherits, from descriptor 3 on; it finds them in AGENT_LISTEN. */
  listeners?: readonly { name: string; fd: number }[];
  /** Beside the environment of its spec. */
  env?: Readonly<Record<string, string>>;
}

export interface StopLimits {
  drainMs: number;
  /** From the signal to SIGKILL. */
  termMs: number;
  signal: NodeJS.Signals;
  /** False: no drain request, the signal at once. */
  graceful: boolean;
}

export interface StopFacts {
  drainedMs: number | null;
  interrupted: number;
  /** Null when part of the group could not be proved dead. */
  gone: boolean;
}

export class Incarnation {
  readonly record: IncarnationRecord;
  readonly adopted: boolean;
  readonly startedAtMs: number;
  /** Resolves when the main process has ended. */
  readonly exited: Promise<ExitFacts>;
  /** The worker's connection to us, while it is open. */
  link: Link | undefined;
  /** Last sign of life, monotonic ms. */
  beatAtMs: number;
  /** Work in flight at the last sign of life, and the names of its first units. */
  activeWork = 0;
  units: readonly string[] = [];
  /** Delay of the main loop at the last heartbeat; null before the first and for a sidecar. */
  lagMs: number | null = null;
  #stopping: Promise<StopFacts> | undefined;

  private constructor(record: IncarnationRecord, exited: Promise<ExitFacts>, adopted: boolean) {
    this.record = record;
    this.exited = exited;
    this.adopted = adopted;
    this.startedAtMs = performance.now();
    this.beatAtMs = this.startedAtMs;
  }

  get pid(): number {
    return this.record.pid;
  }

  /** Is the process that says so this one? */
  is({ pid, nonce }: { pid: number; nonce: string }): boolean {
    return pid === this.pid && nonce === this.record.nonce;
  }

  /** Its connection to us, until it closes. */
  attached(link: Link, nowMs: number): void {
    this.link = link;
    this.beatAtMs = nowMs;
    void link.closed.then(() => {
      if (this.link === link) this.link = undefined;
    });
  }

  /** Starts the process in its own session and group. Never throws: a failed start is an exit fact. */
  static start(spec: SlotSpec, { code, outputFd, listeners = [], env = {} }: StartParts): Incarnation {
    const nonce = hexId(32);
    const [file, ...args] = spec.command;
    const exited = deferred<ExitFacts>();
    // Not execa: 200 of these have to start within the budget (ADR 0018).
    const child = spawn(file, args, {
      cwd: spec.cwd,
      env: { ...spec.env, ...listenEnv(listeners), ...env, AGENT_SLOT_NONCE: nonce },
      detached: true,
      stdio: ['ignore', outputFd, outputFd, ...listeners.map(({ fd }) => fd)],
    });
    child.once('exit', (exitCode, signal) => exited.resolve({ code: exitCode, signal }));
    child.once('error', (thrown) => exited.resolve({ code: null, signal: null, spawnError: thrown.message }));
    const pid = child.pid ?? 0;
    const record = { ...identityOf(pid), slot: spec.slot, nonce, code, spawned_at: new Date().toISOString() };
    return new Incarnation(record, exited.promise, false);
  }

  /** Takes over a process that is proved to be the one on record. `ended` resolves when it is seen to be gone. */
  static adopt(record: IncarnationRecord, signal: AbortSignal): Incarnation {
    return new Incarnation(record, watchForEnd(record, signal), true);
  }

  /** The ladder: drain request, stop signal, SIGKILL of the group, each with its limit. A second call joins the first. */
  stop(limit: StopLimits): Promise<StopFacts> {
    this.#stopping ??= this.#descend(limit);
    return this.#stopping;
  }

  async #descend({ drainMs, termMs, graceful, signal }: StopLimits): Promise<StopFacts> {
    let interrupted = 0;
    let drainedMs: number | null = null;
    if (graceful && this.link?.isOpen) {
      try {
        // Within the deadline the worker answers by itself; the margin covers a blocked loop.
        const answer = await this.link.call(drain, { deadline_ms: drainMs }, { timeoutMs: drainMs + 2_000 });
        interrupted = answer.interrupted;
        drainedMs = answer.drained_ms;
      } catch {
        interrupted = this.activeWork;
      }
    } else {
      interrupted = this.activeWork;
    }
    if (this.#signal(signal)) await within(this.exited, { ms: termMs, what: `the end after ${signal}` }).catch(() => {});
    return { drainedMs, interrupted, gone: await this.killGroup() };
  }

  /** SIGKILL to every process of the group; true once none is left. */
  async killGroup(): Promise<boolean> {
    const deadline = performance.now() + limits.worker.killMs;
    for (let pauseMs = 1; groupIsOurs(this.record) && groupAlive(this.pid); pauseMs = Math.min(pauseMs * 2, 50)) {
      if (performance.now() > deadline) return false;
      try {
        process.kill(-this.pid, 'SIGKILL');
      } catch {
        // gone between the question and the signal
      }
      await sleep(pauseMs);
    }
    return true;
  }

  /** Sends to the main process only if it still is the one on record. */
  #signal(name: NodeJS.Signals): boolean {
    if (!isSameProcess(this.record)) return false;
    try {
      return process.kill(this.pid, name);
    } catch {
      return false;
    }
  }
}

/** `http=3,webhook=4`: which inherited descriptor is which listener. */
function listenEnv(listeners: readonly { name: string }[]): Record<string, string> {
  return listeners.length === 0 ? {} : { AGENT_LISTEN: listeners.map(({ name }, index) => `${name}=${3 + index}`).join(',') };
}

/**
 * A group keeps its number while any member lives, so a process with that pid and another start time
 * means the group is gone and the number was given to a stranger.
 */
function groupIsOurs(record: ProcessIdentity): boolean {
  if (record.pid <= 1) return false;
  const startTime = startTimeOf(record.pid);
  return startTime === undefined || startTime === record.start_time;
}

/** We are not its parent, so its end is seen by looking: often at first, then every second. */
async function watchForEnd(record: ProcessIdentity, signal: AbortSignal): Promise<ExitFacts> {
  while (isSameProcess(record)) await sleep(1_000, signal);
  return { code: null, signal: null };
}

/** The group of a recorded process that is dead itself, left behind by an earlier supervisor. */
export async function sweepGroup(record: IncarnationRecord): Promise<void> {
  const never = new AbortController();
  const incarnation = Incarnation.adopt(record, never.signal);
  never.abort(new AgentError('CANCELLED', 'swept'));
  await incarnation.exited.catch(() => {});
  await incarnation.killGroup();
}
