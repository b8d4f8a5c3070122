/**
 * The supervisor's main flow: own the home, find what an earlier supervisor left, reconcile intent, serve the control
 * socket, start what is wanted, watch, take all down in order. It does no worker's work and imports no service.
 */
import { giveMemoryBack } from '../base/afterStart.ts';
import { AgentError, messageOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { createLogger, type Logger } from '../base/log.ts';
import { createRedactor } from '../base/redact.ts';
import { deferred, systemClock } from '../base/time.ts';
import type { Joining, Receipt, ServiceStart, Status } from '../ipc/contracts/supervisor.ts';
import { serve, type SocketServer } from '../ipc/serve.ts';
import { ensureToken, prepareHome, type Home } from '../state/home.ts';
import { stampOf } from '../state/fileStamp.ts';
import type { HeldLock } from '../state/lock.ts';
import { openLogSink } from '../state/logs.ts';
import { identityOf } from '../state/processIdentity.ts';
import { AdoptedWatch } from './adopted.ts';
import { readLastBox, saveBox } from './blackBox.ts';
import { Changes } from './changes.ts';
import { controlHandlers, controlNotices } from './control.ts';
import { createGatewayRecord, type GatewayRecord } from './gatewayRecord.ts';
import type { IncarnationRecord } from './incarnation.ts';
import { boundsOf, type Bounds } from './liveness.ts';
import { Listeners } from './listeners.ts';
import { IdleExit } from './idleExit.ts';
import { ReceiptBook } from './receipts.ts';
import { isWanted, type Intent } from './reconcile.ts';
import { findProcesses, RecordBook, type FoundProcesses } from './records.ts';
import type { SupervisorOptions } from './options.ts';
import { takeHome } from './ownership.ts';
import { Problems } from './problems.ts';
import { carryOutReload, type ReloadHost } from './reload.ts';
import { composeStatus, createSnapshotWriter } from './snapshot.ts';
import { mendRunFiles, type RunFilesHost } from './runFiles.ts';
import { SlotOutputs } from './slotOutput.ts';
import { SlotRunner, type SlotHost } from './slotRunner.ts';
import { explainGap, SelfRecord } from './selfRecord.ts';
import { oomKills } from '../state/supervisorRecord.ts';
import { Settings } from './settings.ts';
import { requireRoom } from './shortage.ts';
import { StartScope } from './startScope.ts';
import { reportOrder, StartOrder } from './startOrder.ts';
import type { SlotSpec } from './spec.ts';
import { takeOver } from './takeOver.ts';
import { Trees } from './trees.ts';
import { Upkeep } from './upkeep.ts';
import { startPulse, watchHome } from './watch.ts';
import { WorkerCode } from './workerCode.ts';

/** Errors: ALREADY_RUNNING, HOME_UNUSABLE, DISK_FULL. */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { home } = options;
  prepareHome(home);
  await using failed = new AsyncDisposableStack();
  const lock = failed.use(await takeHome(home, options.homeBeatMs));
  const token = ensureToken(home);
  const supervisor = new Supervisor(options, token, lock);
  failed.defer(() => supervisor.startFailed());
  // Slots stand before the socket does: a worker of an earlier supervisor reports the moment it appears.
  const wanted = await supervisor.prepare(findProcesses(home.run.slots));
  const server = await serve({
    path: home.run.supervisorSocket,
    slot: 'supervisor',
    token,
    code: options.release.code,
    nonce: hexId(32),
    handlers: controlHandlers(supervisor),
    notices: controlNotices(supervisor),
  });
  failed.use(server);
  await supervisor.begin(server, wanted);
  failed.move();
  return supervisor;
}

export class Supervisor {
  readonly home: Home;
  readonly slots = new Map<string, SlotRunner>();
  readonly log: Logger;
  /** After how much silence a worker is suspect and killed; of the configuration that the supervisor started with. */
  readonly bounds: Bounds;
  readonly orphanMs: number;
  readonly upkeep: Upkeep;
  /** Resolves when every worker is gone (or left to the next supervisor: `isReplaced`) and the home is released. */
  readonly ended: Promise<void>;
  isReplaced = false;
  #options: SupervisorOptions;
  #lock: HeldLock;
  #server: SocketServer | undefined;
  #life = new AsyncDisposableStack();
  #startedAt = new Date().toISOString();
  #identity = identityOf(process.pid);
  #settings: Settings;
  #redact = createRedactor();
  #trees: Trees;
  #adoptedEnds: AdoptedWatch;
  #outputs: SlotOutputs;
  /** The pipes of what is wanted at boot are there. */
  #pipes: Promise<void> | undefined;
  #gatewayRecords = new Map<string, GatewayRecord>();
  #problems: Problems;
  #code: WorkerCode;
  #adopted = 0;
  /** Stopped by the operator: a supervisor that takes over leaves them so. */
  #stopped = new Set<string>();
  #pauseStamp = '';
  #changes = new Changes();
  #order = new StartOrder(this.slots, this.#changes);
  #snapshot: ReturnType<typeof createSnapshotWriter>;
  #records: RecordBook;
  #receipts: ReceiptBook;
  #listeners: Listeners;
  #endedAnswer = deferred<void>();
  #down: Promise<Receipt[]> | undefined;
  /** On the way down: wait for running work, for the stop signal alone, or for nothing. */
  #haste: 'none' | 'signal' | 'kill' = 'none';
  #scope: StartScope;
  #idleExit = new IdleExit();
  #runFiles: RunFilesHost;
  #self: SelfRecord | undefined;

  constructor(options: SupervisorOptions, token: string, lock: HeldLock) {
    this.#options = options;
    this.home = options.home;
    this.#lock = lock;
    const { only, demo, place = {}, join = () => {} } = options;
    this.#scope = new StartScope({ only, demo, place, join });
    this.#settings = new Settings(options.home);
    this.#redact.learn([token]);
    const sink = openLogSink(options.home, 'supervisor', this.#settings.config.logging);
    this.#life.defer(() => sink.close());
    this.log = createLogger({
      sink,
      component: 'supervisor',
      level: this.#settings.config.logging?.level ?? 'info',
      fields: { slot: 'supervisor' },
      redact: this.#redact,
    });
    this.orphanMs = options.orphanMs ?? limits.worker.orphanMs;
    this.bounds = boundsOf(this.#settings.config.supervisor?.liveness);
    this.#trees = new Trees({ home: options.home.root, ...(options.cgroupRoot === undefined ? {} : { cgroupRoot: options.cgroupRoot }) });
    this.#adoptedEnds = this.#life.use(new AdoptedWatch());
    this.#receipts = this.#life.use(new ReceiptBook(options.home.run.receipts));
    this.#problems = new Problems(this.log);
    this.#code = new WorkerCode(options.code, this.#problems);
    this.#runFiles = { home: options.home, token, lock: lock.record, log: this.log, problems: this.#problems };
    this.#snapshot = createSnapshotWriter(options.home.run.status, () => this.status(), this.#problems);
    this.#records = new RecordBook({
      path: options.home.run.slots,
      compose: () => this.#onRecord(),
      problems: this.#problems,
      told: () => this.#snapshot.soon(),
    });
    const config = () => this.#settings.config;
    this.#outputs = new SlotOutputs({ dir: options.home.run.dir, config, redact: this.#redact, log: this.log, trees: this.#trees });
    this.upkeep = new Upkeep({
      home: options.home,
      log: this.log,
      slots: this.slots,
      config,
      command: (action, runner, why) => this.command(action, runner, why),
      sampled: () => this.#snapshot.soon(),
    });
    this.#listeners = this.#life.use(new Listeners(this.log));
    this.ended = this.#endedAnswer.promise;
  }

  /** From owning the home to knowing what runs and what is wanted. Answers the wanted slots. */
  async prepare(found: FoundProcesses): Promise<SlotRunner[]> {
    explainGap(this.home, found.ended);
    const { version, code } = this.#options.release;
    const record = { ...this.#identity, started_at: this.#startedAt, version, code, oom_kills: oomKills() };
    this.#self = new SelfRecord(this.home, record, this.log);
    this.#settings.report(this.#problems, this.log, this.#redact);
    this.#scope.continue(found);
    this.#code.keep();
    for (const spec of this.#options.specs(this.#settings.config)) this.#addSlot(spec);
    reportOrder(this.slots, this.#problems);
    for (const slot of found.stopped) this.#stopped.add(slot);
    const wanted = this.#reconcile();
    this.#pipes = this.#outputs.prepare(wanted.map(({ spec }) => spec));
    this.#pipes.catch(() => {}); // reported where it is awaited
    if (wanted.length >= limits.supervisor.manyStarts) giveMemoryBack();
    const { slots, log } = this;
    this.#adopted = await takeOver(found, { slots, wanted, log, trees: this.#trees, outputs: this.#outputs, pipes: this.#pipes });
    return wanted;
  }

  /** The error is reported by the command: this is not an end to explain later. */
  startFailed(): void {
    this.#self?.end();
  }

  /** The control socket serves: start what is wanted, then keep, watch and tell. Errors: HOME_UNUSABLE. */
  async begin(server: SocketServer, wanted: SlotRunner[]): Promise<void> {
    this.#server = server;
    await this.#pipes;
    if (!this.#down) this.#order.start(wanted);
    this.#settings.remember(this.log);
    this.#watch();
    this.#snapshot.now();
    this.#code.prune(this.slots.values(), this.#options.release.code);
    this.log.info('supervising', {
      home: this.home.root,
      wanted: wanted.map((runner) => runner.spec.slot),
      adopted: this.#adopted,
      version: this.#options.release.version,
    });
  }

  // --- commands ---

  async command(
    action: Receipt['action'],
    runner: SlotRunner,
    { actor, cause, drain }: { actor: string; cause: string; drain: boolean },
  ): Promise<Receipt> {
    this.refuseWhileGoingDown();
    const renewal = action === 'stop' ? undefined : this.renewCode();
    if (renewal) await renewal;
    this.#order.forget(runner);
    if (action === 'stop') this.#stopped.add(runner.spec.slot);
    else this.#stopped.delete(runner.spec.slot);
    this.#gatewayRecords.get(runner.spec.slot)?.intend(action === 'stop' ? 'stopped' : 'running');
    this.log.info(`${action} ${runner.spec.slot}`, { actor, cause, drain });
    const receipt = await {
      start: () => runner.start(actor, cause),
      stop: () => runner.stop(actor, cause, drain),
      restart: () => runner.restart(actor, cause, drain),
    }[action]();
    this.#receipts.keep(receipt);
    return receipt;
  }

  /** Before a planned start; undefined when no other release was installed. */
  renewCode(): Promise<void> | undefined {
    return this.#code.renew(() => this.reload());
  }

  /** Turns a service that a chat started into the full one; running slots are not touched. Errors: DRAINING. */
  wantAll(asked: Joining): boolean {
    this.refuseWhileGoingDown();
    if (this.#scope.isFull) return false;
    this.#scope.join(asked);
    this.reload();
    this.#scope.only = undefined;
    this.#order.start(this.#reconcile());
    this.#records.soon();
    return true;
  }

  /** Errors: DRAINING. */
  refuseWhileGoingDown(): void {
    if (this.#down) throw new AgentError('DRAINING', 'the service is going down', { fix: 'wait until it is down, then run `agent up`' });
  }

  /** True once every wanted slot is ready; false when the time is over, all that is left has failed, or the service goes down. */
  async waitReady(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const waiting = () => [...this.slots.values()].filter((runner) => runner.isWanted && runner.state !== 'ready');
    const isSettled = () => this.#order.isDone && waiting().every(({ isStuck }) => isStuck);
    await this.#changes.until(() => this.#down !== undefined || isSettled(), timeoutMs, signal);
    return this.#down === undefined && this.#order.isDone && waiting().length === 0;
  }

  /** Drains and stops everything, those that use others first. A second call joins; without `drain` it ends the waiting for running work. */
  down({ actor, drain }: { actor: string; drain: boolean }): Promise<Receipt[]> {
    for (const runner of this.slots.values()) this.#order.forget(runner);
    this.#records.close();
    if (!drain && this.#haste === 'none') this.#haste = 'signal';
    if (this.#down && !drain) for (const runner of this.slots.values()) runner.skipDrain();
    this.#down ??= this.#goDown(actor);
    this.#changes.happened();
    return this.#down;
  }

  /** Ends this process alone: the next supervisor adopts the workers. Errors: DRAINING, RESTART_REFUSED, PACKAGE_INCOMPLETE, DISK_FULL. */
  leave(actor: string): void {
    this.refuseWhileGoingDown();
    this.#options.requireReturn?.();
    requireRoom(this.home.root, 'the supervisor keeps running');
    this.log.info('the supervisor is restarted', { actor });
    this.#down = Promise.resolve([]);
    this.isReplaced = true;
    // The answer is sent first.
    setImmediate(() => void this.#leave());
  }

  /** Second ctrl-C or SIGTERM while it goes down: what is being stopped is killed, what has its turn later is killed then. */
  hurry(): void {
    this.#haste = 'kill';
    for (const runner of this.slots.values()) if (runner.state === 'draining') runner.killAll();
  }

  /** The rehearsal model is on offer. */
  get demo(): boolean {
    return this.#scope.demo;
  }

  status(): Status {
    const { release, managedBy } = this.#options;
    return composeStatus({
      home: this.home,
      release,
      managedBy,
      demo: this.demo,
      startedAt: this.#startedAt,
      identity: this.#identity,
      adopted: this.#adopted,
      problems: this.#problems.list(),
      slots: this.slots,
      sample: (slot) => this.upkeep.sample(slot),
    });
  }

  receipts(slot: string | undefined, limit: number): Receipt[] {
    return this.#receipts.recent(slot, limit);
  }

  /** A watcher is a hint and may miss something: what the files are now decides. */
  look(): void {
    try {
      if (this.#settings.isStale()) this.reload();
      this.#problems.delete('settings');
    } catch (thrown) {
      // Nobody's settings may end the process that keeps everything else alive.
      this.#problems.set('settings', `the settings cannot be read: ${messageOf(thrown)}`, `check the rights of ${this.home.root}`);
    }
    const paused = stampOf([this.home.estop]);
    if (paused !== this.#pauseStamp) this.#snapshot.soon();
    this.#pauseStamp = paused;
  }

  /** The files are the truth: takes over what changed in them, and touches only the slots whose settings did. */
  reload(): void {
    if (this.#down) return;
    const mcpBefore = this.#settings.hasMcpServers;
    this.#settings.renew();
    this.#settings.report(this.#problems, this.log, this.#redact);
    this.#settings.remember(this.log);
    const added = carryOutReload(this.#reloadHost(), this.#options.specs(this.#settings.config));
    reportOrder(this.slots, this.#problems);
    const isNew = ({ spec }: SlotRunner) => added.has(spec.slot) || (spec.start === 'mcpServers' && !mcpBefore);
    // Only what is new is started: a slot that the operator stopped stays stopped.
    this.#order.start(this.#reconcile().filter(isNew));
    this.#snapshot.soon();
  }

  #reloadHost(): ReloadHost {
    return {
      home: this.home,
      slots: this.slots,
      log: this.log,
      policy: this.#settings.policy,
      problems: this.#problems,
      command: (action, runner, why) => this.command(action, runner, why),
      add: (spec) => this.#addSlot(spec),
      removed: (slot) => (this.#stopped.delete(slot), this.#snapshot.soon()),
    };
  }

  #addSlot(spec: SlotSpec): void {
    const runner = new SlotRunner(spec, spec.start === 'demand' ? 'demand' : 'down', this.#settings.policy, this.#host());
    runner.lastReport = readLastBox(this.home.crash, spec.slot);
    this.slots.set(spec.slot, runner);
    if (spec.start !== 'gatewayState') return;
    const { version, code } = this.#options.release;
    const path = this.home.profile(spec.profile).gatewayState;
    this.#gatewayRecords.set(spec.slot, createGatewayRecord({ path, home: this.home.root, version, code, log: this.log }));
  }

  /** Which slots intent says are to run. */
  #reconcile(): SlotRunner[] {
    const intent: Intent = {
      only: this.#scope.only,
      mcpWanted: this.demo || this.#settings.hasMcpServers,
      gatewayWanted: (slot) => {
        const { start, problem } = this.#gatewayRecords.get(slot)!.reconcile(this.#options.bootstrap);
        if (problem) this.#problems.set(`state:${slot}`, problem, `decide with \`agent start ${slot}\` or \`agent stop ${slot}\``);
        return start;
      },
    };
    return [...this.slots.values()].filter(({ spec }) => isWanted(spec, intent) && !this.#stopped.has(spec.slot));
  }

  #host(): SlotHost {
    return {
      clock: systemClock,
      log: this.log,
      code: this.#options.release.code,
      version: this.#options.release.version,
      trees: this.#trees,
      adopted: this.#adoptedEnds,
      samples: (slot) => this.upkeep.resources.recent(slot),
      output: (spec) => this.#outputs.open(spec),
      listeners: (spec) => this.#listeners.of(spec),
      // Two can serve at once only on an address that is held here.
      handover: (spec) => (spec.handover === 'overlap' && !this.#listeners.holds(spec) ? 'standby' : spec.handover),
      redact: this.#redact,
      dir: this.home.root,
      memoryAtEnd: (spec, incarnation, exit) => this.upkeep.memoryAtEnd(spec, incarnation, exit),
      changed: (runner) => this.#changed(runner),
      recordsChanged: () => this.#records.soon(),
      ended: (box) => {
        if (!saveBox(this.home.crash, box)) this.log.error(`the report on the end of ${box.slot} could not be written`);
      },
    };
  }

  // --- watching ---

  #watch(): void {
    this.#life.use(watchHome([this.home.estop, this.home.config, this.home.env], this.log, () => this.look()));
    this.#life.use(
      startPulse((nowMs) => {
        this.look();
        this.#snapshot.check();
        this.#records.check();
        void mendRunFiles(this.#server, this.#runFiles);
        for (const runner of this.slots.values()) runner.check(nowMs, this.bounds);
        if (!this.#scope.isFull && this.#idleExit.isDue(nowMs, this.#server, this.slots))
          void this.down({ actor: 'supervisor', drain: true });
        this.upkeep.pulse(nowMs);
      }, this.bounds.heartbeatMs),
    );
  }

  #changed(runner: SlotRunner): void {
    if (!runner.incarnation) this.upkeep.forget(runner.spec.slot);
    this.#listeners.follow(runner);
    this.#gatewayRecords.get(runner.spec.slot)?.observe(runner);
    this.#changes.happened();
    this.#snapshot.soon();
  }

  #onRecord(): { records: IncarnationRecord[]; stopped: string[]; start: ServiceStart } {
    const all = [...this.slots.values()];
    const finished = all.filter(({ isFinished }) => isFinished).map(({ spec }) => spec.slot);
    return {
      records: all.flatMap(({ incarnation }) => (incarnation && incarnation.pid > 0 ? [incarnation.record] : [])),
      stopped: [...this.#stopped, ...finished],
      start: this.#scope.record,
    };
  }

  // --- the end ---

  async #goDown(actor: string): Promise<Receipt[]> {
    this.log.info('going down', { actor, drain: this.#haste === 'none' });
    this.#snapshot.slow();
    const receipts: Receipt[] = [];
    const all = [...this.slots.values()];
    for (const tier of [...new Set(all.map(({ spec }) => spec.tier))].toSorted((a, b) => b - a)) {
      const runners = all.filter((runner) => runner.spec.tier === tier && runner.state !== 'down');
      this.#trees.expectEnds(runners.filter(({ incarnation }) => incarnation !== undefined).length);
      const stops = runners.map((runner) => runner.stop(actor, 'the service goes down', this.#haste === 'none'));
      if (this.#haste === 'kill') this.hurry();
      receipts.push(...(await Promise.all(stops)));
    }
    this.#receipts.keep(...receipts);
    // The answer to whoever asked leaves first: it is composed in the microtasks before this, and closing a link sends what waits.
    setImmediate(() => void this.#finish());
    return receipts;
  }

  /** As after a SIGKILL, but for what is written: connections end with the process, pipes stay open, their journals say what was read. */
  async #leave(): Promise<void> {
    this.#records.now();
    await this.#release();
    this.#handOver();
  }

  async #finish(): Promise<void> {
    const closeOutputs = this.#outputs.closeLate();
    // What was stopped by hand is stopped until the next start of the service.
    this.#records.remove();
    await this.#release(this.#outputs.keeper.end());
    await this.#server?.[Symbol.asyncDispose]();
    this.#handOver();
    setImmediate(closeOutputs);
  }

  #handOver(): void {
    this.#lock[Symbol.dispose]();
    this.#endedAnswer.resolve();
  }

  /** Lets go of slots and files. */
  async #release(outputs?: Promise<void>): Promise<void> {
    for (const runner of this.slots.values()) runner.release();
    this.#snapshot[Symbol.dispose]();
    this.#self?.end();
    this.log.info('ended');
    this.upkeep[Symbol.dispose]();
    await Promise.all([this.#life.disposeAsync(), outputs]);
  }
}
