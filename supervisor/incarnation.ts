/**
 * One running process of a slot, ours by birth or taken over from an earlier supervisor: how it is
 * started, asked to drain, terminated, killed with everything it started, and proved gone. One lifetime
 * each; nothing of it outlives `gone`.
 */
import { spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';
import { closeSync } from 'node:fs';
import { uuid } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { sealedMark, sealVariables } from '../base/sealedVariables.ts';
import { deferred, sleep, within } from '../base/time.ts';
import { drain } from '../ipc/contracts/peer.ts';
import type { Link } from '../ipc/link.ts';
import { bootId, groupAlive, isSameProcess, startTimeOf, type ProcessIdentity } from '../state/processIdentity.ts';
import type { Cgroup } from './cgroup.ts';
import type { SlotSpec } from './spec.ts';
import { errnoOf } from '../base/errors.ts';
import { missingFor, type MissingFile } from './spawnFailure.ts';
import { WATCHDOG_FLAGS } from './mainStack.ts';
import type { Trees } from './trees.ts';

export interface ExitFacts {
  /** Null when a signal ended it, and for an adopted process, whose status only its dead parent could read. */
  code: number | null;
  signal: string | null;
  /** It could not even be started (ENOENT, EACCES, …). */
  spawnError?: string;
  /** What was missing then. */
  missing?: MissingFile | undefined;
}

export interface IncarnationRecord extends ProcessIdentity {
  slot: string;
  nonce: string;
  code: string;
  spawned_at: string;
  /** It has served: a sidecar that is taken over need not prove it again. */
  ready?: boolean | undefined;
  /** In the environment of everything it starts; absent in records of earlier versions. */
  mark?: string | undefined;
  /** Started so that Node's watchdog thread tells where its main thread stands. */
  watchdog?: boolean | undefined;
  /** Directory of its cgroup, where it has one. */
  cgroup?: string | undefined;
}

export interface StartParts {
  /** Marks it, and holds it in a cgroup. */
  trees: Trees;
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

export interface AdoptParts {
  trees: Trees;
  watch: EndWatch;
}

/** Sees the end of processes whose parent we are not. */
export interface EndWatch {
  ended(record: IncarnationRecord): Promise<ExitFacts>;
}

interface IncarnationParts {
  record: IncarnationRecord;
  exited: Promise<ExitFacts>;
  adopted: boolean;
  trees: Trees;
  cgroup: Cgroup | undefined;
}

export interface StopFacts {
  drainedMs: number | null;
  interrupted: number;
  /** False when a part of its tree could not be proved dead. */
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
  readonly cgroup: Cgroup | undefined;
  readonly #oomKillsBefore: number | null;
  readonly #trees: Trees;
  #stopping: Promise<StopFacts> | undefined;
  /** While it drains. */
  #patience: AbortController | undefined;
  #hasEnded = false;

  private constructor({ record, exited, adopted, trees, cgroup }: IncarnationParts) {
    this.record = record;
    this.exited = exited;
    const ended = () => {
      this.#hasEnded = true;
    };
    exited.then(ended, ended);
    this.adopted = adopted;
    this.cgroup = cgroup;
    this.#oomKillsBefore = cgroup?.oomKills ?? null;
    this.#trees = trees;
    this.startedAtMs = performance.now();
    this.beatAtMs = this.startedAtMs;
  }

  /** Kills for lack of memory in its cgroup since it was started; null where the kernel does not count. */
  get oomKills(): number | null {
    const now = this.cgroup?.oomKills ?? null;
    return now === null ? null : now - (this.#oomKillsBefore ?? 0);
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
  static start(spec: SlotSpec, { trees, code, outputFd, listeners = [], env = {} }: StartParts): Incarnation {
    const nonce = uuid();
    const mark = trees.newMark(spec.slot);
    const [file, ...words] = spec.command;
    const isOurs = spec.kind === 'worker' && file === process.execPath;
    const args = isOurs ? [...WATCHDOG_FLAGS, ...words] : words;
    const exited = deferred<ExitFacts>();
    const notStarted = (thrown: Error) => {
      exited.resolve({
        code: null,
        signal: null,
        spawnError: thrown.message,
        missing: errnoOf(thrown) === 'ENOENT' ? missingFor(spec) : undefined,
      });
      return undefined;
    };
    let hasEnded = false;
    const child = spawnOr(notStarted, spec.program?.() ?? file, args, spec.sealedEnv, {
      cwd: spec.cwd,
      env: { ...spec.env, ...listenEnv(listeners), ...env, ...trees.environment(mark), AGENT_SLOT_NONCE: nonce },
      detached: true,
      stdio: ['ignore', outputFd, outputFd, ...listeners.map(({ fd }) => fd)],
    });
    // `on`: both come once, and taking a listener off costs 10 µs.
    child?.on('exit', (exitCode, signal) => {
      hasEnded = true;
      exited.resolve({ code: exitCode, signal });
    });
    child?.on('error', notStarted);
    const pid = child?.pid ?? 0;
    const cgroup = pid === 0 ? undefined : trees.hold(pid, mark, spec.memoryHardBytes);
    let startTime: number | undefined;
    const record = {
      pid,
      /** Read when it is first asked for: of many that start together all are started first. A child keeps its number until its end was seen here. */
      get start_time() {
        startTime ??= hasEnded ? 0 : (startTimeOf(pid) ?? 0);
        return startTime;
      },
      boot_id: bootId(),
      slot: spec.slot,
      nonce,
      code,
      spawned_at: new Date().toISOString(),
      mark,
      ...(isOurs ? { watchdog: true } : {}),
      ...(cgroup ? { cgroup: cgroup.path } : {}),
    };
    return new Incarnation({ record, exited: exited.promise, adopted: false, trees, cgroup });
  }

  /** Takes over a process that is proved to be the one on record. `exited` resolves when `watch` sees that it is gone. */
  static adopt(record: IncarnationRecord, { trees, watch }: AdoptParts): Incarnation {
    return new Incarnation({ record, exited: watch.ended(record), adopted: true, trees, cgroup: trees.found(record) });
  }

  /** The ladder: drain request, stop signal, SIGKILL of the whole tree, each with its limit. A second call joins the first. */
  stop(limit: StopLimits): Promise<StopFacts> {
    this.#stopping ??= this.#descend(limit);
    return this.#stopping;
  }

  /** No more waiting for running work: the ladder goes on with the signal. */
  skipDrain(): void {
    this.#patience?.abort();
  }

  async #descend({ drainMs, termMs, graceful, signal }: StopLimits): Promise<StopFacts> {
    let interrupted = 0;
    let drainedMs: number | null = null;
    if (graceful && this.link?.isOpen) {
      this.#patience = new AbortController();
      try {
        // Within the deadline the worker answers by itself; the margin covers a blocked loop.
        const answer = await this.link.call(drain, { deadline_ms: drainMs }, { timeoutMs: drainMs + 2_000, signal: this.#patience.signal });
        interrupted = answer.interrupted;
        drainedMs = answer.drained_ms;
      } catch {
        interrupted = this.activeWork;
      }
    } else {
      interrupted = this.activeWork;
    }
    if (this.#signal(signal)) await within(this.exited, { ms: termMs, what: `the end after ${signal}` }).catch(() => {});
    return { drainedMs, interrupted, gone: await this.killTree() };
  }

  /** A hung process: SIGABRT, so that a core is kept where somebody wants one, then SIGKILL of group and cgroup. */
  async abort(ms: number = limits.worker.abortMs): Promise<boolean> {
    if (this.#signal('SIGABRT')) await within(this.exited, { ms, what: 'the end after SIGABRT' }).catch(() => {});
    return this.killGroup();
  }

  /**
   * SIGKILL to every process of the group and the cgroup; true once none is left. What a replacement has to wait
   * for: the look for strays costs milliseconds and follows (`killStrays`).
   */
  async killGroup(): Promise<boolean> {
    if (!this.cgroup) return this.#killProcessGroup();
    const [group, cgroup] = await Promise.all([this.#killProcessGroup(), this.cgroup.kill()]);
    return group && cgroup;
  }

  /** What carries its mark, whatever group it is in; true once none is left. */
  killStrays(): Promise<boolean> {
    return this.#trees.killMarked(this.record.mark);
  }

  /** Group, cgroup and marks: nothing that descends from it lives when this answers true. */
  async killTree(): Promise<boolean> {
    const gone = await this.killGroup();
    return (await this.killStrays()) && gone;
  }

  async #killProcessGroup(): Promise<boolean> {
    const deadline = performance.now() + limits.worker.killMs;
    // The group first: when nothing of it is left, whose number it was is no question.
    for (let pauseMs = 1; this.pid > 1 && groupAlive(this.pid) && groupIsOurs(this.record); pauseMs = Math.min(pauseMs * 2, 50)) {
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
    // A child of ours keeps its number until its end was seen here.
    const isOurs = this.adopted ? isSameProcess(this.record) : !this.#hasEnded && this.pid > 0;
    if (!isOurs) return false;
    try {
      return process.kill(this.pid, name);
    } catch {
      return false;
    }
  }
}

/** Some refusals (ENOMEM, E2BIG) are thrown where others are events. Not execa: 200 of these have to start within the budget (ADR 0018). */
function spawnOr(
  failed: (thrown: Error) => undefined,
  file: string,
  args: readonly string[],
  sealed: SlotSpec['sealedEnv'],
  options: SpawnOptions & { stdio: (number | 'ignore')[] },
): ChildProcess | undefined {
  let stdin: number | undefined;
  try {
    if (Object.keys(sealed).length === 0) return spawn(file, args, options);
    stdin = sealVariables(sealed);
    return spawn(file, args, { ...options, env: { ...options.env, ...sealedMark }, stdio: options.stdio.with(0, stdin) });
  } catch (thrown) {
    return failed(thrown as Error);
  } finally {
    if (stdin !== undefined) closeSync(stdin);
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
  const startTime = startTimeOf(record.pid);
  return startTime === undefined || startTime === record.start_time;
}

/** Tree of a recorded process that is dead itself, left behind by an earlier supervisor. */
export async function sweepTree(record: IncarnationRecord, trees: Trees): Promise<boolean> {
  const gone: EndWatch = { ended: async () => ({ code: null, signal: null }) };
  return Incarnation.adopt(record, { trees, watch: gone }).killTree();
}
