/**
 * Runs one slot: feeds events to the table in `slot.ts`, carries its effects out on an Incarnation, and
 * answers commands with receipts. Everything it knows about the outside comes through `SlotHost`.
 */
import { freemem, totalmem } from 'node:os';
import { AgentError, messageOf } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { deferred, formatDuration, sleep, type Clock, type Deferred } from '../base/time.ts';
import type { BlackBox, Evidence } from '../ipc/contracts/blackBox.ts';
import type { LastExit, Liveness, Receipt, ResourceSample, SlotState } from '../ipc/contracts/supervisor.ts';
import type { Link } from '../ipc/link.ts';
import type { End } from './backoff.ts';
import { composeBox } from './blackBox.ts';
import type { MemoryAtEnd } from './causes.ts';
import { reportEnd, type EndReport } from './endReport.ts';
import { collectEvidence } from './evidence.ts';
import { Incarnation, type EndWatch, type ExitFacts, type IncarnationRecord } from './incarnation.ts';
import type { Beat, Bounds, Verdict } from './liveness.ts';
import type { Output } from './output.ts';
import { newSlot, nextSlot, type Effect, type Slot, type SlotEvent } from './slot.ts';
import type { RestartPolicy, SlotSpec } from './spec.ts';
import type { Trees } from './trees.ts';
import { Vitals } from './vitals.ts';

export interface SlotHost {
  clock: Clock;
  log: Logger;
  /** Content id of the code that new incarnations run. */
  code: string;
  version: string;
  trees: Trees;
  /** Sees the end of processes of an earlier supervisor. */
  adopted: EndWatch & { lookSoon(): void };
  /** What was measured of a slot lately, oldest first. */
  samples(slot: string): readonly ResourceSample[];
  /** Opens the pipe of this slot's output. */
  output(spec: SlotSpec): Output;
  /** Something that `status` shows has changed. */
  changed(slot: SlotRunner): void;
  /** Written before anybody may see the process as running. */
  recordsChanged(): void;
  /** Called once the replacement is on its way. */
  ended(box: BlackBox): void;
  redact(text: string): string;
}

interface Pending {
  action: Receipt['action'];
  cause: string;
  actor: string;
  oldPid: number | null;
  downSinceMs: number | undefined;
  drainedMs: number | null;
  interrupted: number;
  answer: Deferred<Receipt>;
}

const visibleState: Record<Slot['phase'], SlotState> = {
  down: 'down',
  starting: 'starting',
  ready: 'ready',
  draining: 'draining',
  ending: 'backoff',
  backoff: 'backoff',
  parked: 'parked',
};

export class SlotRunner {
  readonly spec: SlotSpec;
  restarts = 0;
  sinceMs: number;
  readyMs: number | null = null;
  lastReport: EndReport | undefined;
  /** What the worker says about itself. */
  facts: Record<string, unknown> = {};
  incarnation: Incarnation | undefined;
  #slot: Slot;
  #host: SlotHost;
  #output: Output | undefined;
  #cancelTimer: (() => void) | undefined;
  #pending: Pending | undefined;
  #killedFor: string | undefined;
  #vitals: Vitals;
  /** What was seen of a hung incarnation; it is being killed. */
  #evidence: Evidence | undefined;
  #isCondemned = false;
  #readyWaiters = new Set<Deferred<void>>();
  #life = new AbortController();

  constructor(spec: SlotSpec, desired: Slot['desired'], policy: RestartPolicy, host: SlotHost) {
    this.spec = spec;
    this.#host = host;
    this.#slot = newSlot(desired, policy);
    this.sinceMs = host.clock.now();
    this.#vitals = new Vitals(host.clock.monotonic());
  }

  /** What its signs of life say, as last judged. */
  get liveness(): Liveness {
    return this.#vitals.word;
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

  get nextStartAtMs(): number | null {
    return this.#slot.phase === 'backoff' || this.#slot.phase === 'parked' ? this.#slot.untilMs : null;
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
    if (this.state === 'ready') return Promise.resolve(this.#receipt(this.#begin('start', actor, cause), { ok: true }));
    return this.#command('start', actor, cause, { type: 'start', atMs: this.#now() });
  }

  stop(actor: string, cause: string, drain: boolean): Promise<Receipt> {
    return this.#command('stop', actor, cause, { type: 'stop', drain });
  }

  restart(actor: string, cause: string, drain: boolean): Promise<Receipt> {
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
    this.incarnation = Incarnation.adopt(record, { trees: this.#host.trees, watch: this.#host.adopted, spec: this.spec });
    this.#follow(this.incarnation);
    this.#feed({ type: 'found', atMs: this.#now() });
  }

  // --- what the worker says ---

  /** True when this is the incarnation on record; it counts as ready from here on. */
  attached(link: Link, said: { pid: number; nonce: string; facts: Record<string, unknown> }): boolean {
    const incarnation = this.incarnation;
    if (!incarnation || incarnation.pid !== said.pid || incarnation.record.nonce !== said.nonce) return false;
    if (this.state !== 'starting' && this.state !== 'ready' && this.state !== 'draining') return false;
    incarnation.link = link;
    incarnation.beatAtMs = this.#host.clock.monotonic();
    this.#vitals.beat({ active: incarnation.activeWork }, incarnation.beatAtMs);
    this.facts = said.facts;
    void link.closed.then(() => {
      if (incarnation.link === link) incarnation.link = undefined;
      if (incarnation.adopted) this.#host.adopted.lookSoon();
    });
    if (this.state === 'starting') this.readyMs = Math.round(this.#host.clock.monotonic() - incarnation.startedAtMs);
    this.#feed({ type: 'attached', atMs: this.#now() });
    return true;
  }

  beat(link: Link, said: Beat & { units?: string[] | undefined; lag_ms: number }): void {
    const incarnation = this.incarnation;
    if (incarnation?.link !== link) return;
    incarnation.beatAtMs = this.#host.clock.monotonic();
    incarnation.activeWork = said.active;
    incarnation.units = said.units ?? [];
    incarnation.lagMs = said.lag_ms;
    this.#vitals.beat(said, incarnation.beatAtMs);
  }

  say(link: Link, facts: Record<string, unknown>): void {
    if (this.incarnation?.link !== link) return;
    Object.assign(this.facts, facts);
    this.#host.changed(this);
  }

  /** At every pulse: what its signs of life say. One that hangs for too long is killed, its end is handled like any other. */
  check(nowMs: number, bounds: Bounds): void {
    const incarnation = this.incarnation;
    if (this.state !== 'ready' || !incarnation || this.spec.kind !== 'worker') return;
    const before = this.liveness;
    const verdict = this.#vitals.check(incarnation.pid, nowMs, bounds);
    if (verdict.word !== before) {
      this.#host.log.warn(`${this.spec.slot} is ${verdict.word}${verdict.why ? `: it ${verdict.why}` : ' again'}`, {
        worker: this.spec.slot,
      });
      this.#host.changed(this);
    }
    if (verdict.kill && !this.#isCondemned) void this.#condemn(incarnation, verdict, bounds);
  }

  /** Evidence first, then the kill; unless it comes back to life meanwhile. */
  async #condemn(incarnation: Incarnation, verdict: Verdict, bounds: Bounds): Promise<void> {
    this.#isCondemned = true;
    const lines = () => this.tail();
    const evidence = await collectEvidence({
      pid: incarnation.pid,
      answers: incarnation.record.watchdog === true,
      verdict,
      lines,
      redact: this.#host.redact,
    });
    if (this.incarnation !== incarnation || this.state !== 'ready') return;
    if (!this.#vitals.check(incarnation.pid, this.#host.clock.monotonic(), bounds).kill) {
      this.#isCondemned = false;
      return;
    }
    this.#evidence = evidence;
    this.#killedFor = evidence.why;
    this.#feed({ type: 'hung' });
  }

  /** Lets go without touching the process: the next supervisor takes it over. */
  release(): void {
    this.#life.abort();
    this.#cancelTimer?.();
    this.#output?.[Symbol.dispose]();
  }

  // --- the machine ---

  #now(): number {
    return this.#host.clock.now();
  }

  #feed(event: SlotEvent): void {
    const before = this.#slot.phase;
    const { state, effects } = nextSlot(this.#slot, event);
    this.#slot = state;
    if (state.phase !== before) this.sinceMs = this.#now();
    for (const effect of effects) this.#run(effect);
    this.#settle(event);
    this.#host.changed(this);
  }

  #run(effect: Effect): void {
    switch (effect.type) {
      case 'spawn':
        return this.#spawn();
      case 'armStartup':
        return this.#arm(this.spec.startupMs, () => {
          this.#killedFor = `was not ready within ${formatDuration(this.spec.startupMs)}`;
          this.#feed({ type: 'hung' });
        });
      case 'armAdoption':
        return this.#arm(limits.worker.adoptMs, () => {
          this.#killedFor = 'did not report to the new supervisor';
          this.#feed({ type: 'hung' });
        });
      case 'armDue':
        return this.#arm(effect.ms, () => this.#feed({ type: 'due', atMs: this.#now() }));
      case 'disarm':
        this.#cancelTimer?.();
        this.#cancelTimer = undefined;
        return;
      case 'stopProcess':
        void this.#stopProcess(effect.drain);
        return;
      case 'killProcess':
        void (this.#evidence ? this.incarnation?.abort() : this.incarnation?.killGroup());
        return;
      case 'proveGone':
        void this.#proveGone();
        return;
    }
  }

  #arm(ms: number, callback: () => void): void {
    this.#cancelTimer?.();
    this.#cancelTimer = this.#host.clock.after(ms, callback);
  }

  #openOutput(): Output {
    this.#output ??= this.#host.output(this.spec);
    return this.#output;
  }

  #spawn(): void {
    const output = this.#openOutput();
    output.reset();
    this.facts = {};
    this.readyMs = null;
    this.#killedFor = undefined;
    this.#evidence = undefined;
    this.#isCondemned = false;
    this.#vitals = new Vitals(this.#host.clock.monotonic());
    this.incarnation = Incarnation.start(this.spec, { trees: this.#host.trees, code: this.#host.code, outputFd: output.writeFd });
    this.#host.recordsChanged();
    this.#host.log.info(`${this.spec.slot} started`, { worker: this.spec.slot, worker_pid: this.incarnation.pid });
    this.#follow(this.incarnation);
  }

  #follow(incarnation: Incarnation): void {
    incarnation.exited.then(
      (facts) => void this.#exited(incarnation, facts),
      () => {},
    );
  }

  /** The main process ended: record why, then tell the table. */
  async #exited(incarnation: Incarnation, facts: ExitFacts): Promise<void> {
    if (this.incarnation !== incarnation) return;
    const phase = this.#slot.phase;
    const atMs = this.#now();
    const livedMs = this.#host.clock.monotonic() - incarnation.startedAtMs;
    const readyMs = phase === 'ready' ? atMs - this.sinceMs : undefined;
    const planned = phase === 'draining' || (this.desired === 'demand' && facts.code === 0);
    // Its last words may still be in the pipe; a worker that had served is not kept waiting for them.
    if (!planned && readyMs === undefined) await sleep(20);
    const pending = this.#pending;
    const report = reportEnd({
      slot: this.spec.slot,
      pid: incarnation.pid,
      exit: facts,
      atMs,
      livedMs,
      readyMs,
      activeWork: incarnation.activeWork,
      killedFor: this.#killedFor,
      askedBy: pending && `${pending.action} by ${pending.actor}`,
      memory: planned ? undefined : this.#memoryAtEnd(incarnation),
      tail: this.tail().map((line) => this.#host.redact(line)),
    });
    if (!planned) this.#abnormal(report, incarnation);
    const end: End = { atMs, livedMs, readyMs, code: facts.code, signature: report.last_exit.signature, permanent: report.permanent };
    this.#feed({ type: 'ended', end });
  }

  #memoryAtEnd(incarnation: Incarnation): MemoryAtEnd {
    return {
      oomKills: incarnation.oomKills,
      rssBytes: this.#host.samples(this.spec.slot).at(-1)?.rss_bytes,
      hardBytes: this.spec.memoryHardBytes,
      freeBytes: freemem(),
      totalBytes: totalmem(),
    };
  }

  #abnormal(report: EndReport, incarnation: Incarnation): void {
    this.lastReport = report;
    this.restarts++;
    this.#host.log.warn(report.last_exit.summary, { worker: this.spec.slot, ...report.last_exit, tail: report.tail.slice(-5) });
    const pending = this.#pending;
    const parts = {
      report,
      units: incarnation.units,
      askedBy: pending ? { action: pending.action, actor: pending.actor, cause: pending.cause } : null,
      code: incarnation.record.code,
      version: this.#host.version,
      settings: this.spec.settings,
      samples: this.#host.samples(this.spec.slot),
      liveness: this.#vitals.history,
      evidence: this.#evidence ?? null,
      oomKills: incarnation.oomKills,
      redact: this.#host.redact,
    };
    // The replacement does not wait for a disk.
    setImmediate(() => this.#host.ended(composeBox(parts)));
  }

  async #stopProcess(graceful: boolean): Promise<void> {
    const incarnation = this.incarnation;
    if (!incarnation) return this.#gone(true);
    const downSince = this.#host.clock.monotonic();
    const facts = await incarnation.stop({ drainMs: this.spec.drainMs, termMs: this.spec.termMs, graceful });
    if (this.#pending) {
      this.#pending.drainedMs = facts.drainedMs;
      this.#pending.interrupted = facts.interrupted;
      this.#pending.downSinceMs = downSince + (facts.drainedMs ?? 0);
    }
    this.#gone(facts.gone);
  }

  async #proveGone(): Promise<void> {
    const incarnation = this.incarnation;
    this.#gone(incarnation ? await incarnation.killGroup() : true);
    // The replacement is on its way: it does not wait for a look at all processes.
    if (incarnation && !(await incarnation.killStrays())) {
      this.#host.log.error(`a process that ${this.spec.slot} started survives SIGKILL`, {
        worker: this.spec.slot,
        mark: incarnation.record.mark,
      });
    }
  }

  #gone(proved: boolean): void {
    if (!proved) {
      this.#host.log.error(`part of the process group of ${this.spec.slot} survives SIGKILL; not starting it again until it is gone`);
      this.#arm(limits.worker.killMs, () => void this.#proveGone());
      return;
    }
    this.incarnation = undefined;
    this.#host.recordsChanged();
    this.#feed({ type: 'gone', atMs: this.#now() });
  }

  // --- receipts ---

  #command(action: Receipt['action'], actor: string, cause: string, event: SlotEvent): Promise<Receipt> {
    this.#pending?.answer.reject(new AgentError('SUPERSEDED', `a newer ${action} of ${this.spec.slot} by ${actor} took over`));
    const pending = this.#begin(action, actor, cause);
    pending.answer.promise.catch(() => {});
    this.#pending = pending;
    this.#feed(event);
    return pending.answer.promise;
  }

  #begin(action: Receipt['action'], actor: string, cause: string): Pending {
    const oldPid = this.incarnation?.pid ?? null;
    return { action, actor, cause, oldPid, downSinceMs: undefined, drainedMs: null, interrupted: 0, answer: deferred<Receipt>() };
  }

  /** Answers whoever waits, when the phase tells the result. */
  #settle(event: SlotEvent): void {
    const { phase } = this.#slot;
    if (phase === 'ready') this.#release(undefined);
    if (phase === 'parked' || (phase === 'backoff' && event.type === 'gone')) {
      this.#release(
        new AgentError('START_FAILED', this.reason ?? `${this.spec.slot} did not start`, { fix: `agent why ${this.spec.slot}` }),
      );
    }
    const pending = this.#pending;
    if (!pending) return;
    const failed =
      phase === 'parked' ||
      phase === 'backoff' ||
      (phase === 'starting' && event.type === 'gone' && this.restarts > 0 && pending.action === 'start');
    if (pending.action === 'stop' ? phase === 'down' : phase === 'ready') this.#answer(pending, { ok: true });
    else if (pending.action !== 'stop' && failed) this.#answer(pending, { ok: false, error: this.reason ?? 'it did not become ready' });
  }

  #release(failure: AgentError | undefined): void {
    for (const waiter of this.#readyWaiters) {
      if (failure) waiter.reject(failure);
      else waiter.resolve();
    }
    this.#readyWaiters.clear();
  }

  #answer(pending: Pending, result: { ok: boolean; error?: string }): void {
    this.#pending = undefined;
    try {
      pending.answer.resolve(this.#receipt(pending, result));
    } catch (thrown) {
      this.#host.log.error(`receipt: ${messageOf(thrown)}`);
    }
  }

  #receipt(pending: Pending, result: { ok: boolean; error?: string }): Receipt {
    const isUp = this.state === 'ready';
    const downtimeMs = pending.downSinceMs === undefined || !isUp ? null : Math.round(this.#host.clock.monotonic() - pending.downSinceMs);
    return {
      slot: this.spec.slot,
      action: pending.action,
      cause: pending.cause,
      actor: pending.actor,
      old_pid: pending.oldPid,
      new_pid: this.incarnation?.pid ?? null,
      ready_ms: isUp ? this.readyMs : null,
      downtime_ms: downtimeMs,
      drained_ms: pending.drainedMs,
      interrupted_turns: pending.interrupted,
      at: new Date(this.#now()).toISOString(),
      ...result,
    };
  }
}
