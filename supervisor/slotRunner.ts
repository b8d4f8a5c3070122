/**
 * Runs one slot: feeds events to the table in `slot.ts`, carries its effects out on incarnations, and
 * answers commands with receipts. Everything it knows about the outside comes through `SlotHost`.
 */
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { deferred, formatDuration, sleep, type Clock, type Deferred } from '../base/time.ts';
import { activate, type LastExit, type Liveness, type Receipt, type SlotState } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import { verdict, type Verdict } from './answer.ts';
import { reportEnd, type EndReport } from './endReport.ts';
import { Incarnation, type ExitFacts, type IncarnationRecord, type StopLimits } from './incarnation.ts';
import type { Output } from './output.ts';
import { PendingCommand, type Outcome } from './pendingCommand.ts';
import { untilReady } from './readiness.ts';
import { newSlot, nextSlot, withRules, type Effect, type Slot, type SlotEvent } from './slot.ts';
import type { Handover, RestartPolicy, SlotSpec } from './spec.ts';

export interface SlotHost {
  clock: Clock;
  log: Logger;
  /** Content id of the code that new incarnations run. */
  code: string;
  /** Opens the pipe of this slot's output. */
  output(spec: SlotSpec): Output;
  /** Descriptors of the addresses that are held for this slot. */
  listeners(spec: SlotSpec): { name: string; fd: number }[];
  /** How a planned restart can go now. */
  handover(spec: SlotSpec): Handover;
  /** Something that `status` shows has changed. */
  changed(slot: SlotRunner): void;
  /** Written before anybody may see the process as running. */
  recordsChanged(): void;
  ended(report: EndReport): void;
  redact(text: string): string;
}

const visibleState: Record<Slot['phase'], SlotState> = {
  down: 'down',
  starting: 'starting',
  ready: 'ready',
  relieving: 'ready',
  retiring: 'ready',
  draining: 'draining',
  ending: 'backoff',
  backoff: 'backoff',
  parked: 'parked',
};

/** A process that is not (or no longer) the one that serves. */
interface Beside {
  incarnation: Incarnation;
  /** Resolves when its whole group is gone. */
  gone: Promise<void>;
}

export class SlotRunner {
  spec: SlotSpec;
  restarts = 0;
  sinceMs: number;
  readyMs: number | null = null;
  lastReport: EndReport | undefined;
  /** What the worker says about itself. */
  facts: Record<string, unknown> = {};
  /** What its signs of life say, as last judged. */
  liveness: Liveness = 'ok';
  /** The process that serves, or will. */
  incarnation: Incarnation | undefined;
  #slot: Slot;
  #host: SlotHost;
  #output: Output | undefined;
  #cancelTimer: (() => void) | undefined;
  #pending: PendingCommand | undefined;
  #killedFor: string | undefined;
  /** A planned restart: the one that will take over, and what it said of itself. */
  #successor: Incarnation | undefined;
  #successorFacts: Record<string, unknown> = {};
  /** Relieved and draining, or dropped and being killed. */
  #former: Beside | undefined;
  #dropping: Promise<void> | undefined;
  #readyWaiters = new Set<Deferred<void>>();
  #life = new AbortController();

  constructor(spec: SlotSpec, desired: Slot['desired'], policy: RestartPolicy, host: SlotHost) {
    this.spec = spec;
    this.#host = host;
    this.#slot = newSlot(desired, { policy, handover: spec.handover, rule: spec.restart });
    this.sinceMs = host.clock.now();
  }

  /** A changed configuration: limits and policy hold from now on, the rest from the next start. */
  configure(spec: SlotSpec, policy: RestartPolicy): void {
    this.spec = spec;
    this.#slot = withRules(this.#slot, { policy, rule: spec.restart });
  }

  get state(): SlotState {
    return visibleState[this.#slot.phase];
  }

  get desired(): Slot['desired'] {
    return this.#slot.desired;
  }

  get isWanted(): boolean {
    return this.desired === 'up' || (this.desired === 'demand' && this.state !== 'down');
  }

  get lastExit(): LastExit | null {
    return this.lastReport?.last_exit ?? null;
  }

  /** Epoch time of the next try. The table counts in a clock that never jumps. */
  get nextStartAtMs(): number | null {
    if (this.#slot.phase !== 'backoff' && this.#slot.phase !== 'parked') return null;
    return this.#host.clock.now() + this.#slot.untilMs - this.#now();
  }

  /** Why it is not serving, with the fix where it is known. */
  get reason(): string | null {
    const slot = this.#slot;
    const last = this.lastReport;
    const because = last ? `${last.last_exit.summary}${last.fix ? ` — ${last.fix}` : ''}` : 'it keeps failing';
    if (slot.phase === 'parked') return `parked: ${slot.why}. ${because}. Then: agent start ${this.spec.slot}`;
    if (slot.phase === 'backoff' || slot.phase === 'ending') return because;
    if (slot.phase === 'starting' && this.restarts > 0 && last) return because;
    return null;
  }

  tail(): string[] {
    return this.#output?.tail() ?? this.lastReport?.tail ?? [];
  }

  // --- commands ---

  start(actor: string, cause: string): Promise<Receipt> {
    if (this.state === 'ready') return Promise.resolve(this.#begin('start', actor, cause).receipt(this.#outcome({ ok: true })));
    return this.#command('start', actor, cause, { type: 'start', atMs: this.#now() });
  }

  stop(actor: string, cause: string, drain: boolean): Promise<Receipt> {
    return this.#command('stop', actor, cause, { type: 'stop', drain });
  }

  restart(actor: string, cause: string, drain: boolean): Promise<Receipt> {
    this.#slot = withRules(this.#slot, { handover: this.#host.handover(this.spec) });
    return this.#command('restart', actor, cause, { type: 'restart', drain, atMs: this.#now() });
  }

  /** Boot: start without anybody waiting. */
  bootStart(): void {
    this.#feed({ type: 'start', atMs: this.#now() });
  }

  /** First demand of an on-demand slot; resolves when it is ready. Errors: START_FAILED, SLOT_PARKED. */
  async ensure(): Promise<void> {
    if (this.state === 'ready') return;
    if (this.state === 'parked') throw new AgentError('SLOT_PARKED', this.reason!, { fix: `agent start ${this.spec.slot}` });
    if (this.desired === 'down') {
      throw new AgentError('START_FAILED', `${this.spec.slot} is stopped`, { fix: `agent start ${this.spec.slot}` });
    }
    const waiter = deferred<void>();
    this.#readyWaiters.add(waiter);
    if (this.state === 'down' || this.state === 'draining') {
      this.#feed({ type: 'start', atMs: this.#now(), desired: this.desired === 'demand' ? 'demand' : 'up' });
    }
    await waiter.promise;
  }

  /** Takes over a live process of an earlier supervisor. */
  adopt(record: IncarnationRecord): void {
    this.#openOutput();
    this.incarnation = Incarnation.adopt(record, this.#life.signal);
    this.#follow(this.incarnation);
    this.#feed({ type: 'found', atMs: this.#now() });
    if (this.spec.readiness !== 'attach') this.#look(this.incarnation, record.ready ? 'none' : this.spec.readiness);
  }

  // --- what the worker says ---

  /** True when this is an incarnation on record; the serving one counts as ready from here on. */
  attached(link: Link, said: { pid: number; nonce: string; facts: Record<string, unknown>; standby?: boolean | undefined }): boolean {
    const successor = this.#successor;
    if (successor?.is(said)) {
      successor.attached(link, this.#host.clock.monotonic());
      this.#successorFacts = said.facts;
      this.#feed({ type: 'successorReady', atMs: this.#now() });
      return true;
    }
    const { incarnation } = this;
    if (!incarnation?.is(said)) return false;
    const { phase } = this.#slot;
    if (phase === 'down' || phase === 'ending' || phase === 'backoff' || phase === 'parked') return false;
    incarnation.attached(link, this.#host.clock.monotonic());
    this.facts = said.facts;
    this.#serves(incarnation);
    return true;
  }

  /** It is ready now (or has said so again). */
  #serves(incarnation: Incarnation): void {
    if (this.state === 'starting') this.readyMs = Math.round(this.#host.clock.monotonic() - incarnation.startedAtMs);
    incarnation.record.ready = true;
    this.#host.recordsChanged();
    this.#feed({ type: 'attached', atMs: this.#now() });
  }

  beat(link: Link, active: number): void {
    if (this.incarnation?.link !== link) return;
    this.incarnation.beatAtMs = this.#host.clock.monotonic();
    this.incarnation.activeWork = active;
  }

  say(link: Link, facts: Record<string, unknown>): void {
    if (this.#successor?.link === link) return void Object.assign(this.#successorFacts, facts);
    if (this.incarnation?.link !== link) return;
    Object.assign(this.facts, facts);
    this.#host.changed(this);
  }

  /** No sign of life for too long: its group is killed, the end is handled like any other. */
  hung(forMs: number): void {
    this.#killedFor = `showed no sign of life for ${formatDuration(forMs)}`;
    this.#feed({ type: 'hung' });
  }

  /** Lets go without touching the process: the next supervisor takes it over. */
  release(): void {
    this.#life.abort();
    this.#cancelTimer?.();
    this.#output?.[Symbol.dispose]();
  }

  // --- the machine ---

  /** Of a clock that never jumps: delays and windows do not care what the operator does to the time of day. */
  #now(): number {
    return this.#host.clock.monotonic();
  }

  #feed(event: SlotEvent): void {
    const before = this.state;
    const { state, effects } = nextSlot(this.#slot, event);
    this.#slot = state;
    if (this.state !== before) this.sinceMs = this.#host.clock.now();
    for (const effect of effects) this.#run(effect);
    this.#settle(event);
    this.#host.changed(this);
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'spawn':
        return this.#spawn();
      case 'armStartup':
        return this.#armHung(this.spec.startupMs, `was not ready within ${formatDuration(this.spec.startupMs)}`);
      case 'armAdoption':
        return this.#armHung(limits.worker.adoptMs, 'did not report to the new supervisor');
      case 'armSuccessor':
        return this.#arm(this.spec.startupMs, () => this.#feed({ type: 'successorFailed' }));
      case 'armDue':
        return this.#arm(effect.ms, () => this.#feed({ type: 'due', atMs: this.#now() }));
      case 'disarm':
        return this.#disarm();
      case 'stopProcess':
        return void this.#stopProcess(effect.drain);
      case 'killProcess':
        return void this.incarnation?.killGroup();
      case 'proveGone':
        return void this.#proveGone();
      case 'spawnSuccessor':
        return this.#spawnSuccessor();
      case 'dropSuccessor':
        return this.#dropSuccessor();
      case 'promote':
        return this.#promote();
      case 'activate':
        return this.#activate();
      case 'killFormer':
        return void this.#former?.incarnation.killGroup();
    }
  }

  #arm(ms: number, callback: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.clock.after(ms, callback);
  }

  #armHung(ms: number, killedFor: string): void {
    this.#arm(ms, () => {
      this.#killedFor = killedFor;
      this.#feed({ type: 'hung' });
    });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #openOutput(): Output {
    this.#output ??= this.#host.output(this.spec);
    return this.#output;
  }

  // --- processes ---

  #spawn(): void {
    const output = this.#openOutput();
    output.reset();
    this.facts = {};
    this.readyMs = null;
    this.#killedFor = undefined;
    const incarnation = this.#start(output);
    this.incarnation = incarnation;
    this.#host.recordsChanged();
    this.#host.log.info(`${this.spec.slot} started`, { worker: this.spec.slot, worker_pid: incarnation.pid });
    if (this.spec.readiness !== 'attach') this.#look(incarnation, this.spec.readiness);
  }

  #start(output: Output, env?: Record<string, string>): Incarnation {
    const incarnation = Incarnation.start(this.spec, {
      code: this.#host.code,
      outputFd: output.writeFd,
      listeners: this.#host.listeners(this.spec),
      ...(env ? { env } : {}),
    });
    this.#follow(incarnation);
    return incarnation;
  }

  #follow(incarnation: Incarnation): void {
    incarnation.exited.then(
      (facts) => {
        if (this.incarnation === incarnation) return this.#exited(incarnation, facts);
        if (this.#successor === incarnation) this.#feed({ type: 'successorFailed' });
        return undefined;
      },
      () => {},
    );
  }

  /** A sidecar does not say when it serves: look from outside until it does, ends, or its time is up. */
  #look(incarnation: Incarnation, readiness: Exclude<SlotSpec['readiness'], 'attach'>): void {
    const over = new AbortController();
    void incarnation.exited.then(
      () => over.abort(),
      () => over.abort(),
    );
    const signal = AbortSignal.any([over.signal, this.#life.signal]);
    untilReady(readiness, this.#openOutput(), Date.parse(incarnation.record.spawned_at), signal).then(
      () => {
        if (this.incarnation === incarnation && this.state === 'starting' && incarnation.pid > 0) this.#serves(incarnation);
      },
      () => {},
    );
  }

  /** The main process ended: tell the table first (a replacement waits for nothing), then keep why. */
  async #exited(incarnation: Incarnation, facts: ExitFacts): Promise<void> {
    const { phase } = this.#slot;
    const atMs = this.#now();
    const livedMs = atMs - incarnation.startedAtMs;
    const served = phase === 'ready' || phase === 'relieving' || phase === 'retiring';
    const readyMs = served ? this.#host.clock.now() - this.sinceMs : undefined;
    const planned = phase === 'draining' || (facts.code === 0 && (this.desired === 'demand' || this.spec.restart !== 'always'));
    // Its last words may still be in the pipe; a worker that had served is not kept waiting for them.
    if (!planned && readyMs === undefined) await sleep(limits.supervisor.lastWordsMs);
    const report = reportEnd({
      slot: this.spec.slot,
      pid: incarnation.pid,
      exit: facts,
      atMs: this.#host.clock.now(),
      livedMs,
      readyMs,
      activeWork: incarnation.activeWork,
      killedFor: this.#killedFor,
      tail: this.tail().map((line) => this.#host.redact(line)),
    });
    if (!planned) {
      this.lastReport = report;
      this.restarts++;
    }
    const { signature } = report.last_exit;
    this.#feed({ type: 'ended', end: { atMs, livedMs, readyMs, code: facts.code, signature, permanent: report.permanent } });
    if (!planned) setImmediate(() => this.#keep(report));
  }

  #keep(report: EndReport): void {
    this.#host.log.warn(report.last_exit.summary, { worker: this.spec.slot, ...report.last_exit, tail: report.tail.slice(-5) });
    this.#host.ended(report);
  }

  async #stopProcess(graceful: boolean): Promise<void> {
    const { incarnation } = this;
    if (!incarnation) return this.#gone(true);
    const downSince = this.#now();
    const facts = await incarnation.stop(this.#ladder(graceful));
    this.#pending?.drained(facts, downSince + (facts.drainedMs ?? 0));
    await this.#gone(facts.gone);
  }

  #ladder(graceful: boolean): StopLimits {
    const { drainMs, termMs, stopSignal } = this.spec;
    return { drainMs, termMs, signal: stopSignal, graceful };
  }

  async #proveGone(): Promise<void> {
    const { incarnation } = this;
    await this.#gone(incarnation ? await incarnation.killGroup() : true);
  }

  /** Nothing is left of the incarnation; told on once nothing is left of those beside it either. */
  async #gone(proved: boolean): Promise<void> {
    if (!proved) {
      this.#host.log.error(`part of the process group of ${this.spec.slot} survives SIGKILL; not starting it again until it is gone`);
      return this.#arm(limits.worker.killMs, () => void this.#proveGone());
    }
    if (this.#dropping || this.#former) await Promise.all([this.#dropping, this.#former?.gone]);
    this.incarnation = undefined;
    this.#host.recordsChanged();
    this.#feed({ type: 'gone', atMs: this.#now() });
  }

  // --- a planned restart with two processes (ADR 0019) ---

  #spawnSuccessor(): void {
    this.#successorFacts = {};
    this.#successor = this.#start(this.#openOutput(), { AGENT_SUCCESSOR: this.#slot.handover });
    const { pid } = this.#successor;
    this.#host.log.info(`the successor of ${this.spec.slot} started`, { worker: this.spec.slot, worker_pid: pid });
  }

  #dropSuccessor(): void {
    const successor = this.#successor;
    if (!successor) return;
    this.#successor = undefined;
    this.#dropping = this.#untilGone(successor).then(() => {
      this.#dropping = undefined;
      this.#feed({ type: 'successorGone' });
    });
  }

  #promote(): void {
    const former = this.incarnation!;
    this.incarnation = this.#successor!;
    this.#successor = undefined;
    this.facts = this.#successorFacts;
    this.readyMs = Math.round(this.#now() - this.incarnation.startedAtMs);
    this.incarnation.record.ready = true;
    this.#host.recordsChanged();
    const gone = former.stop(this.#ladder(true)).then(async (facts) => {
      this.#pending?.drained(facts, undefined);
      if (!facts.gone) await this.#untilGone(former);
      this.#former = undefined;
      this.#feed({ type: 'formerGone' });
    });
    this.#former = { incarnation: former, gone };
  }

  #activate(): void {
    this.incarnation = this.#successor;
    this.#successor = undefined;
    this.facts = {};
    this.#killedFor = undefined;
    this.#host.recordsChanged();
    this.incarnation?.link?.notify(activate, {});
  }

  /** SIGKILL, again and again: a slot must not go on beside something that refuses to die. */
  async #untilGone(incarnation: Incarnation): Promise<void> {
    while (!(await incarnation.killGroup())) {
      this.#host.log.error(`part of the process group of ${this.spec.slot} survives SIGKILL`, { worker_pid: incarnation.pid });
    }
  }

  // --- receipts ---

  #command(action: Receipt['action'], actor: string, cause: string, event: SlotEvent): Promise<Receipt> {
    this.#pending?.superseded({ action, actor });
    const pending = this.#begin(action, actor, cause);
    this.#pending = pending;
    this.#feed(event);
    return pending.answer;
  }

  #begin(action: Receipt['action'], actor: string, cause: string): PendingCommand {
    return new PendingCommand(this.spec.slot, { action, actor, cause, oldPid: this.incarnation?.pid ?? null });
  }

  /** Answers whoever waits, when the phase tells the result. */
  #settle(event: SlotEvent): void {
    const { phase } = this.#slot;
    if (this.state === 'ready') this.#release(undefined);
    if (phase === 'parked' || (phase === 'backoff' && event.type === 'gone')) {
      this.#release(
        new AgentError('START_FAILED', this.reason ?? `${this.spec.slot} did not start`, { fix: `agent why ${this.spec.slot}` }),
      );
    }
    const pending = this.#pending;
    const result = pending && verdict(pending.action, this.#slot, event, this.restarts);
    if (!result) return;
    this.#pending = undefined;
    pending.resolve(this.#outcome(result));
  }

  #outcome(result: Verdict): Outcome {
    const told = result.ok ? result : { ok: false, error: result.error ?? this.reason ?? 'it did not become ready' };
    const { clock } = this.#host;
    return {
      ...told,
      isUp: this.state === 'ready',
      newPid: this.incarnation?.pid ?? null,
      readyMs: this.readyMs,
      nowMs: this.#now(),
      atMs: clock.now(),
    };
  }

  #release(failure: AgentError | undefined): void {
    for (const waiter of this.#readyWaiters) {
      if (failure) waiter.reject(failure);
      else waiter.resolve();
    }
    this.#readyWaiters.clear();
  }
}
