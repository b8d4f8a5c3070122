/**
 * The processes of one slot: the one that serves, in a planned restart a second one beside it (ADR 0019),
 * and those that are on their way out. Carries out what the table decides and tells what became of it.
 */
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import type { Logger } from '../base/log.ts';
import { activate } from '../ipc/contracts/supervisor.ts';
import { Incarnation, type EndWatch, type ExitFacts, type IncarnationRecord, type StopFacts, type StopLimits } from './incarnation.ts';
import type { Output } from './output.ts';
import { untilReady } from './readiness.ts';
import type { SlotSpec } from './spec.ts';
import type { Trees } from './trees.ts';

export interface ProcessHost {
  spec(): SlotSpec;
  log: Logger;
  /** Content id of the code that new incarnations run. */
  code: string;
  /** Opens the pipe of this slot's output. */
  output(spec: SlotSpec): Output;
  trees: Trees;
  /** Sees the end of processes of an earlier supervisor. */
  adopted: EndWatch;
  /** Descriptors of the addresses that are held for this slot. */
  listeners(spec: SlotSpec): { name: string; fd: number }[];
  /** Written before anybody may see the process as running. */
  recordsChanged(): void;
  /** The serving one ended. */
  exited(incarnation: Incarnation, facts: ExitFacts): void;
  /** A sidecar was seen to serve. */
  serves(incarnation: Incarnation): void;
  /** Nothing is left, except a successor that waits. */
  gone(): void;
  /** The serving one has left in good order; undefined = another one served already. */
  drained(facts: StopFacts, downSinceMs: number | undefined): void;
  successorFailed(): void;
  successorGone(): void;
  formerGone(): void;
}

export class SlotProcesses {
  /** The process that serves, or will. */
  serving: Incarnation | undefined;
  /** A planned restart: the one that will take over. */
  successor: Incarnation | undefined;
  #host: ProcessHost;
  #output: Output | undefined;
  /** Relieved and draining. */
  #former: { incarnation: Incarnation; gone: Promise<void> } | undefined;
  /** A successor that is not wanted any more, being killed. */
  #dropping: Promise<void> | undefined;
  #isReleased = false;
  /** Calls off the looks from outside; most slots have none. */
  #looks: AbortController | undefined;

  constructor(host: ProcessHost) {
    this.#host = host;
  }

  get linesDropped(): number {
    return this.#output?.dropped ?? 0;
  }

  tail(): string[] | undefined {
    return this.#output?.tail();
  }

  /** Lets go without touching a process: the next supervisor takes it over. */
  release(): void {
    this.#isReleased = true;
    this.#looks?.abort();
    this.#output?.[Symbol.dispose]();
  }

  /** Before the start: the pipe is ready, and what is left in it was printed by process `pid`. Errors: HOME_UNUSABLE. */
  openOutput(pid?: number): void {
    const output = this.#open();
    if (pid !== undefined) output.from(pid);
  }

  spawn(): Incarnation {
    const output = this.#open();
    output.reset();
    this.serving = this.#start(output);
    output.from(this.serving.pid);
    this.#host.recordsChanged();
    const { readiness } = this.#host.spec();
    if (readiness !== 'attach') this.#look(this.serving, readiness);
    return this.serving;
  }

  /** Takes over a live process of an earlier supervisor. */
  adopt(record: IncarnationRecord): void {
    this.#open().from(record.pid);
    const { trees, adopted } = this.#host;
    this.serving = Incarnation.adopt(record, { trees, watch: adopted });
    this.#follow(this.serving);
    const { readiness } = this.#host.spec();
    if (readiness !== 'attach') this.#look(this.serving, record.ready ? 'none' : readiness);
  }

  /** The ladder; then nothing is left of it. */
  async stop(graceful: boolean): Promise<void> {
    if (!this.serving) return this.#gone(true);
    const downSince = performance.now();
    const facts = await this.serving.stop(this.#ladder(graceful));
    this.#host.drained(facts, downSince + (facts.drainedMs ?? 0));
    await this.#gone(facts.gone);
  }

  /** While it drains: on to the signal. */
  skipDrain(): void {
    this.serving?.skipDrain();
  }

  /** After a crash: group and cgroup. The replacement does not wait for the look at all processes that follows. */
  async proveGone(): Promise<void> {
    const { serving } = this;
    await this.#gone(serving ? await serving.killGroup() : true);
    // A replacement that was just started gets the processor first.
    await sleep(limits.supervisor.writeAfterMs);
    if (serving && !(await serving.killStrays())) {
      const { slot } = this.#host.spec();
      this.#host.log.error(`a process that ${slot} started survives SIGKILL`, { worker: slot, mark: serving.record.mark });
    }
  }

  /** SIGKILL; of one that hangs SIGABRT first, so that a core is kept where somebody wants one. */
  kill(hangs: boolean): void {
    void (hangs ? this.serving?.abort() : this.serving?.killGroup());
  }

  /** No more patience with any of them. */
  killAll(): void {
    for (const incarnation of [this.serving, this.successor, this.#former?.incarnation]) void incarnation?.killTree();
  }

  // --- a planned restart with two processes ---

  spawnSuccessor(handover: SlotSpec['handover']): Incarnation {
    this.successor = this.#start(this.#open(), { AGENT_SUCCESSOR: handover });
    return this.successor;
  }

  dropSuccessor(): void {
    const dropped = this.successor;
    if (!dropped) return;
    this.successor = undefined;
    this.#dropping = this.#untilGone(dropped).then(() => {
      this.#dropping = undefined;
      this.#host.successorGone();
    });
  }

  /** The successor serves already: the one before it goes down the ladder. */
  promote(): Incarnation {
    const former = this.serving!;
    const now = this.successor!;
    this.serving = now;
    this.successor = undefined;
    this.#open().from(now.pid);
    now.record.ready = true;
    this.#host.recordsChanged();
    const gone = former.stop(this.#ladder(true)).then(async (facts) => {
      this.#host.drained(facts, undefined);
      if (!facts.gone) await this.#untilGone(former);
      this.#former = undefined;
      this.#host.formerGone();
    });
    this.#former = { incarnation: former, gone };
    return now;
  }

  /** The one before it is gone: the waiting successor is told to serve. */
  activate(): void {
    this.serving = this.successor;
    this.successor = undefined;
    if (this.serving) this.#open().from(this.serving.pid);
    this.#host.recordsChanged();
    this.serving?.link?.notify(activate, {});
  }

  killFormer(): void {
    void this.#former?.incarnation.killGroup();
  }

  // --- one process ---

  #open(): Output {
    this.#output ??= this.#host.output(this.#host.spec());
    return this.#output;
  }

  #start(output: Output, env?: Record<string, string>): Incarnation {
    const spec = this.#host.spec();
    const incarnation = Incarnation.start(spec, {
      trees: this.#host.trees,
      code: this.#host.code,
      outputFd: output.writeFd,
      listeners: this.#host.listeners(spec),
      ...(env ? { env } : {}),
    });
    const { slot } = spec;
    const said = env ? `the successor of ${slot} started` : `${slot} started`;
    // Of many that start together all are started first.
    setImmediate(() => this.#host.log.info(said, { worker: slot, worker_pid: incarnation.pid }));
    this.#follow(incarnation);
    return incarnation;
  }

  #follow(incarnation: Incarnation): void {
    incarnation.exited.then(
      (facts) => {
        if (this.serving === incarnation) this.#host.exited(incarnation, facts);
        else if (this.successor === incarnation) this.#host.successorFailed();
      },
      () => {},
    );
  }

  /** A sidecar does not say when it serves: look from outside until it does, ends, or its time is up. */
  #look(incarnation: Incarnation, readiness: Exclude<SlotSpec['readiness'], 'attach'>): void {
    const serves = () => this.serving === incarnation && incarnation.pid > 0 && this.#host.serves(incarnation);
    // Nothing to look at, nothing to call off: three objects of the event kind fewer for each of 200.
    if (readiness === 'none') return queueMicrotask(() => !this.#isReleased && serves());
    const over = new AbortController();
    const end = () => over.abort();
    incarnation.exited.then(end, end);
    const signal = AbortSignal.any([over.signal, (this.#looks ??= new AbortController()).signal]);
    untilReady(readiness, this.#open(), Date.parse(incarnation.record.spawned_at), signal).then(serves, () => {});
  }

  #ladder(graceful: boolean): StopLimits {
    const { drainMs, termMs, stopSignal } = this.#host.spec();
    return { drainMs, termMs, signal: stopSignal, graceful };
  }

  /** Nothing is left of the serving one; told on once nothing is left of those beside it either. */
  async #gone(proved: boolean): Promise<void> {
    if (!proved) await this.#untilGone(this.serving!);
    if (this.#dropping || this.#former) await Promise.all([this.#dropping, this.#former?.gone]);
    this.serving = undefined;
    this.#host.recordsChanged();
    this.#host.gone();
  }

  /** SIGKILL, again and again: a slot must not go on beside something that refuses to die. */
  async #untilGone(incarnation: Incarnation): Promise<void> {
    while (!(await incarnation.killTree())) {
      this.#host.log.error(
        `part of the process group ${incarnation.pid} of ${this.#host.spec().slot} survives SIGKILL after ${limits.worker.killMs} ms; going on when it is gone`,
      );
    }
  }
}
