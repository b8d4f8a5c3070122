/**
 * Runs one slot: feeds events to the table in `slot.ts`, carries its effects out on incarnations, and
 * answers commands with receipts. Everything it knows about the outside comes through `SlotHost`.
 */
import { AgentError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Redactor } from '../base/redact.ts';
import { formatDuration, type Clock } from '../base/time.ts';
import type { BlackBox } from '../ipc/contracts/blackBox.ts';
import type { LastExit, Liveness, Receipt, ResourceSample, ShortageKind, SlotState } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import { verdict, type Verdict } from './answer.ts';
import { composeBox } from './blackBox.ts';
import type { MemoryAtEnd } from './causes.ts';
import { reportEnd, type EndReport } from './endReport.ts';
import { Health, type HealthHost } from './health.ts';
import type { EndWatch, ExitFacts, Incarnation, IncarnationRecord } from './incarnation.ts';
import { KeepLater } from './keepLater.ts';
import type { Beat, Bounds } from './liveness.ts';
import { PendingCommand, type Outcome } from './pendingCommand.ts';
import { newSlot, nextSlot, visibleState, withRules, type Effect, type Slot, type SlotEvent } from './slot.ts';
import { ReadyWaiters } from './readyWaiters.ts';
import { lasts } from './shortage.ts';
import { SlotProcesses, type ProcessHost } from './slotProcesses.ts';
import { isStuck, notStarted, reasonOf, shortageOf } from './slotView.ts';
import type { Handover, RestartPolicy, SlotSpec } from './spec.ts';

export interface SlotHost extends Pick<ProcessHost, 'log' | 'code' | 'output' | 'listeners' | 'recordsChanged' | 'trees'> {
  clock: Clock;
  version: string;
  /** Sees the end of processes of an earlier supervisor. */
  adopted: EndWatch & { lookSoon(): void };
  /** What was measured of a slot lately, oldest first. */
  samples(slot: string): readonly ResourceSample[];
  /** How a planned restart can go now. */
  handover(spec: SlotSpec): Handover;
  /** Something that `status` shows has changed. */
  changed(slot: SlotRunner): void;
  /** Called once the replacement is on its way. */
  ended(box: BlackBox): void;
  redact: Redactor;
  /** What is known of memory when one has just ended. */
  memoryAtEnd(spec: SlotSpec, incarnation: Incarnation, exit: ExitFacts): MemoryAtEnd;
  /** Where there has to be room on the disk. */
  dir: string;
}

export class SlotRunner {
  spec: SlotSpec;
  restarts = 0;
  sinceMs: number;
  readyMs: number | null = null;
  /** A program that was to run once has run. */
  isFinished = false;
  lastReport: EndReport | undefined;
  /** What the worker says about itself. */
  facts: Record<string, unknown> = {};
  /** An operator's command whose result is not known yet. */
  pending: PendingCommand | undefined;
  #slot: Slot;
  #host: SlotHost;
  #processes: SlotProcesses;
  #cancelTimer: (() => void) | undefined;
  #killedFor: string | undefined;
  #health: Health;
  /** What the successor said of itself. */
  #successorFacts: Record<string, unknown> = {};
  #waiters = new ReadyWaiters();
  /** What is known of the last abnormal end, about to be written. */
  #unkept = new KeepLater();
  #isReleased = false;

  constructor(spec: SlotSpec, desired: Slot['desired'], policy: RestartPolicy, host: SlotHost) {
    this.spec = spec;
    this.#host = host;
    this.#slot = newSlot(desired, { policy, handover: spec.handover, rule: spec.restart });
    this.sinceMs = host.clock.now();
    this.#processes = new SlotProcesses(this.#processHost());
    this.#health = new Health(this.#healthHost());
  }

  #healthHost(): HealthHost {
    const { log, redact, clock } = this.#host;
    return {
      slot: this.spec.slot,
      log,
      redact,
      lines: () => this.tail(),
      changed: () => this.#host.changed(this),
      serves: (incarnation) => this.incarnation === incarnation && this.state === 'ready',
      condemned: (why) => this.hung(why),
      monotonic: () => clock.monotonic(),
    };
  }

  #processHost(): ProcessHost {
    return {
      ...this.#host,
      spec: () => this.spec,
      exited: (incarnation, facts) => this.#exited(incarnation, facts),
      serves: (incarnation) => this.state === 'starting' && this.#serves(incarnation),
      gone: () => this.#feed({ type: 'gone', atMs: this.#now() }),
      drained: (facts, downSinceMs) => this.pending?.drained(facts, downSinceMs),
      successorFailed: () => this.#feed({ type: 'successorFailed' }),
      successorGone: () => this.#feed({ type: 'successorGone' }),
      formerGone: () => this.#feed({ type: 'formerGone' }),
    };
  }

  /** The process that serves, or will. */
  get incarnation(): Incarnation | undefined {
    return this.#processes.serving;
  }

  /** A changed configuration: limits and policy hold from now on, the rest from the next start. */
  configure(spec: SlotSpec, policy: RestartPolicy): void {
    this.spec = spec;
    this.#slot = withRules(this.#slot, { policy, rule: spec.restart });
  }

  /** What its signs of life say, as last judged. */
  get liveness(): Liveness {
    return this.#health.word;
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

  /** What it waits for in backoff; it is started when that has come back. */
  get shortage(): ShortageKind | null {
    return shortageOf(this.#slot);
  }

  /** Nothing will make it ready soon. */
  get isStuck(): boolean {
    return isStuck(this.#slot, this.#now());
  }

  /** Why it is not serving, with the fix where it is known. */
  get reason(): string | null {
    return reasonOf(this.#slot, { name: this.spec.slot, last: this.lastReport, restarts: this.restarts });
  }

  /** Lines of a flood of its output that were not kept. */
  get linesDropped(): number {
    return this.#processes.linesDropped;
  }

  tail(): string[] {
    return this.#processes.tail() ?? this.lastReport?.tail ?? [];
  }

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

  openOutput(pid?: number): void {
    this.#processes.openOutput(pid);
  }

  /** Boot: start without anybody waiting. */
  bootStart(): void {
    this.#feed({ type: 'start', atMs: this.#now() });
  }

  /** First demand of an on-demand slot; resolves when it is ready. Errors: START_FAILED, SLOT_PARKED, the signal's reason. */
  async ensure(signal?: AbortSignal): Promise<void> {
    if (this.state === 'ready') return;
    if (this.state === 'parked') throw new AgentError('SLOT_PARKED', this.reason!, { fix: `agent start ${this.spec.slot}` });
    if (this.desired === 'down') {
      throw new AgentError('START_FAILED', `${this.spec.slot} is stopped`, { fix: `agent start ${this.spec.slot}` });
    }
    if (this.shortage) throw notStarted(this.spec.slot, this.reason);
    const ready = this.#waiters.add(signal);
    if (this.state === 'down' || this.state === 'draining') {
      this.#feed({ type: 'start', atMs: this.#now(), desired: this.desired === 'demand' ? 'demand' : 'up' });
    }
    await ready;
  }

  /** Takes over a live process of an earlier supervisor. */
  adopt(record: IncarnationRecord): void {
    this.#processes.adopt(record);
    this.#feed({ type: 'found', atMs: this.#now() });
  }

  /** True when this is an incarnation on record; the serving one counts as ready from here on. */
  attached(link: Link, said: { pid: number; nonce: string; code: string; facts: Record<string, unknown> }): boolean {
    const { successor } = this.#processes;
    if (successor?.is(said)) {
      successor.attached(link, this.#host.clock.monotonic());
      successor.record.code = said.code;
      this.#successorFacts = said.facts;
      this.#feed({ type: 'successorReady', atMs: this.#now() });
      return true;
    }
    const { incarnation } = this;
    if (!incarnation?.is(said)) return false;
    const { phase } = this.#slot;
    if (phase === 'down' || phase === 'ending' || phase === 'backoff' || phase === 'parked') return false;
    incarnation.attached(link, this.#now());
    incarnation.record.code = said.code;
    this.#health.beat({ active: incarnation.activeWork });
    if (incarnation.adopted) void link.closed.then(() => this.#host.adopted.lookSoon());
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

  beat(link: Link, said: Beat & { units?: string[] | undefined; lag_ms: number }): void {
    const { incarnation } = this;
    if (incarnation?.link !== link) return;
    incarnation.beatAtMs = this.#now();
    incarnation.activeWork = said.active;
    incarnation.units = said.units ?? [];
    incarnation.lagMs = said.lag_ms;
    this.#health.beat(said);
  }

  /** At every pulse: what its signs of life say. */
  check(nowMs: number, bounds: Bounds): void {
    if (this.state === 'ready' && this.incarnation && this.spec.kind === 'worker') this.#health.check(this.incarnation, nowMs, bounds);
  }

  say(link: Link, facts: Record<string, unknown>): void {
    if (this.#processes.successor?.link === link) return void Object.assign(this.#successorFacts, facts);
    if (this.incarnation?.link !== link) return;
    Object.assign(this.facts, facts);
    this.#host.changed(this);
  }

  /** It is of no use any more: killed, and the end is handled like any other. */
  hung(why: string): void {
    this.#killedFor = why;
    this.#feed({ type: 'hung' });
  }

  /** It is being stopped, and its running work is not waited for any more. */
  skipDrain(): void {
    if (this.#slot.phase === 'draining') this.#processes.skipDrain();
  }

  /** Second ctrl-C. */
  killAll(): void {
    this.#processes.killAll();
  }

  /** Lets go without touching the process: the next supervisor takes it over. */
  release(): void {
    this.#isReleased = true;
    this.#cancelTimer?.();
    this.#unkept.now();
    this.#processes.release();
  }

  /** Of a clock that never jumps: delays and windows do not care what the operator does to the time of day. */
  #now(): number {
    return this.#host.clock.monotonic();
  }

  #feed(event: SlotEvent): void {
    const before = this.state;
    const phaseBefore = this.#slot.phase;
    const { state, effects } = nextSlot(this.#slot, event);
    this.#slot = state;
    this.isFinished = state.phase === 'down' && (this.isFinished || phaseBefore === 'ending');
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
        return this.#arm(effect.ms, () => void this.#due());
      case 'disarm':
        return this.#disarm();
      case 'stopProcess':
        return void this.#processes.stop(effect.drain);
      case 'killProcess':
        return this.#processes.kill(this.#health.evidence !== undefined);
      case 'proveGone':
        return void this.#processes.proveGone();
      case 'spawnSuccessor':
        return this.#spawnSuccessor();
      case 'dropSuccessor':
        return this.#processes.dropSuccessor();
      case 'promote':
        return this.#promote();
      case 'activate':
        return this.#activate();
      case 'skipDrain':
        return this.#processes.skipDrain();
      case 'killFormer':
        return this.#processes.killFormer();
    }
  }

  #arm(ms: number, callback: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.clock.after(ms, callback);
  }

  #armHung(ms: number, killedFor: string): void {
    this.#arm(ms, () => this.hung(killedFor));
  }

  /** The delay is over; one that waits for the end of a shortage is started only then. */
  async #due(): Promise<void> {
    const slot = this.#slot;
    const waits = slot.phase === 'backoff' ? slot.waits : undefined;
    // A check that fails counts as the end of the shortage: the start finds out.
    const isShort = waits !== undefined && (await lasts(waits.shortage, this.#host.dir).catch(() => false));
    if (this.#slot === slot && !this.#isReleased) this.#feed({ type: isShort ? 'stillShort' : 'due', atMs: this.#now() });
  }

  #disarm(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  #spawn(): void {
    this.facts = {};
    this.readyMs = null;
    this.#killedFor = undefined;
    this.#health.reset();
    this.#processes.spawn();
  }

  #spawnSuccessor(): void {
    this.#successorFacts = {};
    this.#processes.spawnSuccessor(this.#slot.handover);
  }

  #promote(): void {
    const now = this.#processes.promote();
    this.facts = this.#successorFacts;
    this.#health.reset();
    this.readyMs = Math.round(this.#now() - now.startedAtMs);
  }

  #activate(): void {
    this.facts = {};
    this.#killedFor = undefined;
    this.#health.reset();
    this.#processes.activate();
  }

  /** The main process ended: tell the table first (a replacement waits for nothing), then keep why. */
  #exited(incarnation: Incarnation, facts: ExitFacts): void {
    const { phase } = this.#slot;
    const atMs = this.#now();
    const livedMs = atMs - incarnation.startedAtMs;
    const served = phase === 'ready' || phase === 'relieving' || phase === 'retiring';
    const readyMs = served ? this.#host.clock.now() - this.sinceMs : undefined;
    const planned = phase === 'draining' || (facts.code === 0 && (this.desired === 'demand' || this.spec.restart !== 'always'));
    const end = { atMs, livedMs, readyMs, code: facts.code };
    if (planned) return this.#feed({ type: 'ended', end: { ...end, signature: 'planned', permanent: false } });
    const asked = this.pending;
    const report = reportEnd({
      slot: this.spec.slot,
      isSidecar: this.spec.kind === 'sidecar',
      pid: incarnation.pid,
      exit: facts,
      atMs: this.#host.clock.now(),
      livedMs,
      readyMs,
      activeWork: incarnation.activeWork,
      killedFor: this.#killedFor,
      outsideSignal: typeof this.facts.ended_by === 'string' ? this.facts.ended_by : undefined,
      askedBy: asked && `${asked.action} by ${asked.actor}`,
      memory: this.#host.memoryAtEnd(this.spec, incarnation, facts),
      tail: this.tail(),
    });
    const keep = this.#abnormal(report, incarnation);
    this.#feed({
      type: 'ended',
      end: { ...end, signature: report.last_exit.signature, permanent: report.permanent, shortage: report.shortage },
    });
    // The replacement waits neither for a disk nor for the processor.
    this.#unkept.set(keep);
  }

  /** Counts it, and answers how to keep what is known of it. */
  #abnormal(report: EndReport, incarnation: Incarnation): () => void {
    const before = this.lastReport?.last_exit.signature;
    this.lastReport = report;
    // Each start that meets the same shortage again would push the reports of other ends out.
    const { history, policy } = this.#slot;
    const lasted = report.shortage !== undefined && report.shortage.kind === history.shortage?.kind;
    if (lasted && (report.ready_ms ?? 0) < policy.diedSoonMs && before === report.last_exit.signature) return () => {};
    this.restarts++;
    const { slot, settings } = this.spec;
    const { version, samples, redact, log } = this.#host;
    const asked = this.pending;
    const parts = {
      report,
      units: incarnation.units,
      askedBy: asked ? { action: asked.action, actor: asked.actor, cause: asked.cause } : null,
      code: incarnation.record.code,
      version,
      settings,
      samples: samples(slot),
      liveness: this.#health.history,
      evidence: this.#health.evidence ?? null,
      oomKills: incarnation.oomKills,
      redact,
    };
    return () => {
      log.warn(report.last_exit.summary, { worker: slot, ...report.last_exit, tail: report.tail.slice(-5) });
      this.#host.ended(composeBox(parts));
    };
  }

  #command(action: Receipt['action'], actor: string, cause: string, event: SlotEvent): Promise<Receipt> {
    this.pending?.superseded({ action, actor });
    const pending = this.#begin(action, actor, cause);
    this.pending = pending;
    this.#feed(event);
    return pending.answer;
  }

  #begin(action: Receipt['action'], actor: string, cause: string): PendingCommand {
    return new PendingCommand(this.spec.slot, { action, actor, cause, oldPid: this.incarnation?.pid ?? null });
  }

  /** Answers whoever waits, when the phase tells the result. */
  #settle(event: SlotEvent): void {
    const { phase } = this.#slot;
    if (this.state === 'ready') this.#waiters.release(undefined);
    if (phase === 'parked' || (phase === 'backoff' && event.type === 'gone')) {
      this.#waiters.release(notStarted(this.spec.slot, this.reason));
    }
    const pending = this.pending;
    const result = pending && verdict(pending.action, this.#slot, event, this.restarts);
    if (!result) return;
    this.pending = undefined;
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
}
