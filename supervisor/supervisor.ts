/**
 * The supervisor's main flow: own the home, find what an earlier supervisor left, reconcile intent,
 * serve the control socket, start what is wanted, watch, and take everything down in order.
 * It does no worker's work, loads nothing heavy and imports no service.
 */
import { join } from 'node:path';
import { AgentError, isAgentError, messageOf } from '../base/errors.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { createLogger, errorFields, formatLine, type Logger } from '../base/log.ts';
import { LogFile } from '../base/logFile.ts';
import { createRedactor } from '../base/redact.ts';
import { deferred, systemClock, within } from '../base/time.ts';
import type { Receipt, ResourceSample, Status } from '../ipc/contracts/supervisor.ts';
import { serve, type SocketServer } from '../ipc/serve.ts';
import { loadConfig, rememberGood, type LoadedConfig } from '../state/config/load.ts';
import { readSecrets } from '../state/env.ts';
import { ensureToken, prepareHome, type Home } from '../state/home.ts';
import { acquireHomeLock } from '../state/homeLock.ts';
import type { HeldLock } from '../state/lock.ts';
import { openLogSink } from '../state/logs.ts';
import { readPause } from '../state/pause.ts';
import { identityOf } from '../state/processIdentity.ts';
import type { Release } from '../state/release.ts';
import { AdoptedWatch } from './adopted.ts';
import { readLastBox, saveBox } from './blackBox.ts';
import { controlHandlers, controlNotices } from './control.ts';
import { createGatewayRecord, type GatewayRecord } from './gatewayRecord.ts';
import { sweepTree } from './incarnation.ts';
import { boundsOf, type Bounds } from './liveness.ts';
import { isDebuggerTalk } from './mainStack.ts';
import { openOutput } from './output.ts';
import { ReceiptBook } from './receipts.ts';
import { findProcesses, writeRecords, type FoundProcesses } from './records.ts';
import { createSnapshotWriter, workerStatus, type Sample } from './snapshot.ts';
import { SlotRunner, type SlotHost } from './slotRunner.ts';
import { defaultPolicy, type RestartPolicy, type SlotSpec } from './spec.ts';
import { Trees } from './trees.ts';
import { startPulse, startSampling, watchHome } from './watch.ts';

export interface SupervisorOptions {
  home: Home;
  release: Release;
  /** Every slot there is, built for the configuration in force. */
  specs: (config: LoadedConfig['config']) => SlotSpec[];
  demo: boolean;
  managedBy: Status['supervisor']['managed_by'];
  /** Value of AGENT_GATEWAY_BOOTSTRAP_STATE. */
  bootstrap: string | undefined;
  /** Only these slots are wanted, and the service leaves when nobody uses it (started by `agent chat`). */
  only?: string[];
  /** How often the owner of the home says that it lives; default `limits.state.homeBeatMs`. */
  homeBeatMs?: number;
  /** Where cgroups are made; default: the supervisor's own place, null: nowhere. */
  cgroupRoot?: string | null;
}

interface Problem {
  what: string;
  fix: string;
}

/** Errors: ALREADY_RUNNING, HOME_UNUSABLE, DISK_FULL. */
export async function startSupervisor(options: SupervisorOptions): Promise<Supervisor> {
  const { home } = options;
  prepareHome(home);
  await using failed = new AsyncDisposableStack();
  const lock = failed.use(await takeHome(home, options.homeBeatMs));
  const token = ensureToken(home);
  const supervisor = new Supervisor(options, token, lock);
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
  supervisor.begin(server, wanted);
  failed.move();
  return supervisor;
}

/** One supervisor a home: the lock first, then the socket, then the first spawn (lessons 27). */
async function takeHome(home: Home, beatMs: number | undefined): Promise<HeldLock> {
  try {
    return await acquireHomeLock(home.run.supervisorLock, 'the supervisor', beatMs);
  } catch (thrown) {
    if (!isAgentError(thrown) || thrown.code !== 'LOCK_HELD') throw thrown;
    throw new AgentError('ALREADY_RUNNING', `a supervisor (process ${String(thrown.facts?.pid)}) already runs on ${home.root}`, {
      cause: thrown,
      fix: thrown.fix ?? 'use it with `agent status`, or end it with `agent down`',
      ...(thrown.facts ? { facts: thrown.facts } : {}),
    });
  }
}

export class Supervisor {
  readonly home: Home;
  readonly slots = new Map<string, SlotRunner>();
  readonly log: Logger;
  /** After how much silence a worker is suspect and killed; of the configuration that the supervisor started with. */
  readonly bounds: Bounds;
  /** Resolves when every worker is gone and the home is released. */
  readonly ended: Promise<void>;
  #options: SupervisorOptions;
  #lock: HeldLock;
  #server: SocketServer | undefined;
  #life = new AsyncDisposableStack();
  #startedAt = new Date().toISOString();
  #identity = identityOf(process.pid);
  #loaded: LoadedConfig;
  #redact = createRedactor();
  #samples = new Map<string, Sample>();
  #trees: Trees;
  #adoptedEnds: AdoptedWatch;
  #gatewayRecords = new Map<string, GatewayRecord>();
  #problems = new Map<string, Problem>();
  #adopted = 0;
  #readyWaiters = new Set<() => void>();
  #snapshot: ReturnType<typeof createSnapshotWriter>;
  #receipts: ReceiptBook;
  #endedAnswer = deferred<void>();
  #down: Promise<Receipt[]> | undefined;
  #only: Set<string> | undefined;

  constructor(options: SupervisorOptions, token: string, lock: HeldLock) {
    this.#options = options;
    this.home = options.home;
    this.#lock = lock;
    this.#only = options.only ? new Set(options.only) : undefined;
    this.#loaded = loadConfig(options.home);
    this.#redact.learn([token]);
    const sink = openLogSink(options.home, 'supervisor');
    this.#life.defer(() => sink.close());
    this.log = createLogger({
      sink,
      component: 'supervisor',
      level: this.#loaded.config.logging?.level ?? 'info',
      fields: { slot: 'supervisor' },
      redact: this.#redact,
    });
    this.#snapshot = createSnapshotWriter(
      options.home.run.status,
      () => this.status(),
      (thrown) => this.log.error('status.json was not written', errorFields(thrown)),
    );
    this.bounds = boundsOf(this.#loaded.config.supervisor?.liveness);
    this.#trees = new Trees({ home: options.home.root, ...(options.cgroupRoot === undefined ? {} : { cgroupRoot: options.cgroupRoot }) });
    this.#adoptedEnds = this.#life.use(new AdoptedWatch());
    this.#receipts = this.#life.use(new ReceiptBook(options.home.run.receipts));
    this.ended = this.#endedAnswer.promise;
  }

  /** From owning the home to knowing what runs and what is wanted. Answers the wanted slots. */
  async prepare(found: FoundProcesses): Promise<SlotRunner[]> {
    this.#readSettings();
    for (const spec of this.#options.specs(this.#loaded.config)) this.#addSlot(spec);
    const wanted = this.#reconcile();
    await Promise.all(found.leftovers.map((record) => sweepTree(record, this.#trees)));
    await this.#sweepUnknown(found);
    this.#takeOver(found, wanted);
    return wanted;
  }

  /** The control socket serves: start what is wanted, watch, and tell. */
  begin(server: SocketServer, wanted: SlotRunner[]): void {
    this.#server = server;
    for (const runner of wanted) if (!runner.incarnation) runner.bootStart();
    this.#watch();
    this.#snapshot.now();
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
    if (this.#down) throw new AgentError('DRAINING', 'the service is going down');
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

  /** Turns a service that a chat started into the full one; running slots are not touched. */
  wantAll(): boolean {
    if (!this.#only) return false;
    this.#only = undefined;
    for (const runner of this.#reconcile()) if (runner.state === 'down') runner.bootStart();
    this.#snapshot.soon();
    return true;
  }

  /** True once every wanted slot is ready; false when the time is over or all that is left has failed. */
  async waitReady(timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const settled = deferred<boolean>();
    const look = () => {
      const waiting = [...this.slots.values()].filter((runner) => runner.isWanted && runner.state !== 'ready');
      if (waiting.length === 0) settled.resolve(true);
      else if (waiting.every((runner) => runner.state === 'parked')) settled.resolve(false);
    };
    this.#readyWaiters.add(look);
    look();
    try {
      return await within(settled.promise, { ms: timeoutMs, signal, what: 'waiting for every wanted slot' });
    } catch (thrown) {
      if (isAgentError(thrown) && thrown.code === 'TIMEOUT') return false;
      throw thrown;
    } finally {
      this.#readyWaiters.delete(look);
    }
  }

  /** Drains and stops everything, those that use others first; a second call joins. */
  down({ actor, drain }: { actor: string; drain: boolean }): Promise<Receipt[]> {
    this.#down ??= this.#goDown(actor, drain);
    return this.#down;
  }

  /** Second ctrl-C: no more waiting for drains. */
  hurry(): void {
    for (const runner of this.slots.values()) void runner.incarnation?.killTree();
  }

  status(): Status {
    const pause = readPause(this.home);
    const { release, managedBy, demo } = this.#options;
    const address = this.slots.get('dashboard')?.facts.address;
    return {
      supervisor: {
        pid: process.pid,
        version: release.version,
        code: release.code,
        started_at: this.#startedAt,
        home: this.home.root,
        managed_by: managedBy,
        adopted: this.#adopted,
        start_time: this.#identity.start_time,
        boot_id: this.#identity.boot_id,
        dashboard: typeof address === 'string' ? address : null,
        demo,
      },
      paused: pause
        ? { path: pause.path, reason: pause.reason, engaged_at: pause.engaged_at, expires_at: pause.expires_at, scope: pause.scope }
        : null,
      problems: [...this.#problems.values()],
      workers: [...this.slots.values()].map((runner) => workerStatus(runner, this.#samples.get(runner.spec.slot))),
      at: new Date().toISOString(),
    };
  }

  receipts(slot: string | undefined, limit: number): Receipt[] {
    return this.#receipts.recent(slot, limit);
  }

  // --- boot ---

  #readSettings(): void {
    const { problem, unknown } = this.#loaded;
    if (problem)
      this.#problem(
        'config',
        `${problem.path}:${problem.line}:${problem.column}: ${problem.message}; the last good configuration serves`,
        problem.fix,
      );
    else {
      this.#problems.delete('config');
      try {
        rememberGood(this.home);
      } catch (thrown) {
        this.log.warn('the good configuration could not be kept', errorFields(thrown));
      }
    }
    for (const key of unknown) this.log.warn(`config.yaml: the key "${key}" is not known to this version; it is kept and ignored`);
    try {
      this.#redact.learn(readSecrets(this.home.env).values());
    } catch (thrown) {
      this.#problem('env', messageOf(thrown), isAgentError(thrown) ? (thrown.fix ?? '') : '');
    }
  }

  #addSlot(spec: SlotSpec): void {
    const runner = new SlotRunner(spec, spec.start === 'demand' ? 'demand' : 'down', this.#policy(), this.#host());
    runner.lastReport = readLastBox(this.home.crash, spec.slot);
    this.slots.set(spec.slot, runner);
    if (spec.start !== 'gatewayState') return;
    const { version, code } = this.#options.release;
    const path = this.home.profile(spec.profile).gatewayState;
    this.#gatewayRecords.set(spec.slot, createGatewayRecord({ path, home: this.home.root, version, code, log: this.log }));
  }

  #policy(): RestartPolicy {
    const { base_ms, max_ms, healthy_ms } = this.#loaded.config.supervisor?.restart ?? {};
    return {
      ...defaultPolicy,
      ...(base_ms && { baseMs: base_ms }),
      ...(max_ms && { maxMs: max_ms }),
      ...(healthy_ms && { healthyMs: healthy_ms }),
    };
  }

  /** Which slots intent says are to run. */
  #reconcile(): SlotRunner[] {
    return [...this.slots.values()].filter((runner) => {
      const { slot, start } = runner.spec;
      if (this.#only) return this.#only.has(slot);
      if (start === 'boot') return true;
      if (start === 'mcpServers') return this.#options.demo || Object.keys(this.#loaded.config.mcp_servers ?? {}).length > 0;
      if (start !== 'gatewayState') return false;
      const { start: wanted, problem } = this.#gatewayRecords.get(slot)!.reconcile(this.#options.bootstrap);
      if (problem) this.#problem(`state:${slot}`, problem, `decide with \`agent start ${slot}\` or \`agent stop ${slot}\``);
      return wanted;
    });
  }

  /** What carries a mark of this home but is on no record: its supervisor was killed before it could write it down. */
  async #sweepUnknown({ alive }: FoundProcesses): Promise<void> {
    const marks = await this.#trees.sweepHome(new Set(alive.flatMap(({ mark }) => mark ?? [])));
    if (marks.length) this.log.warn('processes of an earlier supervisor that it had not recorded were ended', { marks });
  }

  /** Re-adopts what is proved ours; what is not wanted any more is stopped in good order. */
  #takeOver({ alive }: FoundProcesses, wanted: SlotRunner[]): void {
    for (const record of alive) {
      const runner = this.slots.get(record.slot);
      if (!runner) {
        this.log.warn(`process ${record.pid} of the unknown slot ${record.slot} is ended`);
        void sweepTree(record, this.#trees);
        continue;
      }
      runner.adopt(record);
      this.#adopted++;
      if (runner.spec.start === 'demand' || wanted.includes(runner)) runner.bootStart();
      else void runner.stop('supervisor', 'not wanted any more', true).catch(() => {});
    }
  }

  #host(): SlotHost {
    return {
      clock: systemClock,
      log: this.log,
      code: this.#options.release.code,
      version: this.#options.release.version,
      trees: this.#trees,
      adopted: this.#adoptedEnds,
      samples: (slot) => this.#samplesOf(slot),
      output: (spec) => this.#openOutput(spec),
      redact: this.#redact,
      changed: (runner) => this.#changed(runner),
      recordsChanged: () => this.#saveRecords(),
      ended: (box) => {
        if (!saveBox(this.home.crash, box)) this.log.error(`the report on the end of ${box.slot} could not be written`);
      },
    };
  }

  #samplesOf(slot: string): ResourceSample[] {
    const last = this.#samples.get(slot);
    if (!last) return [];
    return [{ at: new Date().toISOString(), rss_bytes: last.rssBytes, cpu_percent: last.cpuPercent, lag_ms: null, fds: last.fds ?? null }];
  }

  #openOutput(spec: SlotSpec) {
    const file = new LogFile(spec.logFile, { maxBytes: limits.logs.fileMaxBytes, keep: limits.logs.filesMax - 1, shared: true });
    return openOutput(join(this.home.run.dir, `${spec.slot}.out`), (line) => {
      if (line.trim() && !isDebuggerTalk(line))
        file.append(formatLine({ level: 'info', component: 'stdio', slot: spec.slot, msg: line }, this.#redact));
    });
  }

  // --- watching ---

  #watch(): void {
    const onFile = () => {
      this.#loaded = loadConfig(this.home);
      this.#readSettings();
      this.#snapshot.soon();
    };
    this.#life.use(watchHome([this.home.estop, this.home.config], this.log, onFile));
    this.#life.use(
      startPulse((nowMs) => {
        for (const runner of this.slots.values()) runner.check(nowMs, this.bounds);
        this.#leaveWhenUnused(nowMs);
      }, this.bounds.heartbeatMs),
    );
    this.#life.use(
      startSampling(
        () => [...this.slots.values()],
        (samples) => {
          this.#samples = samples;
          this.#snapshot.soon();
        },
      ),
    );
  }

  #unusedSinceMs = performance.now();

  /** A service that a chat started ends when no client has been connected for a while. */
  #leaveWhenUnused(nowMs: number): void {
    const used =
      !this.#only ||
      [...(this.#server?.links ?? [])].some((link) => link.peer.slot === 'cli') ||
      [...this.slots.values()].some((runner) => (runner.incarnation?.activeWork ?? 0) > 0);
    if (used) this.#unusedSinceMs = nowMs;
    else if (nowMs - this.#unusedSinceMs > limits.chat.lingerMs) void this.down({ actor: 'supervisor', drain: true });
  }

  #changed(runner: SlotRunner): void {
    if (!runner.incarnation) this.#samples.delete(runner.spec.slot);
    this.#gatewayRecords.get(runner.spec.slot)?.observe(runner);
    for (const look of this.#readyWaiters) look();
    this.#snapshot.soon();
  }

  #saveRecords(): void {
    const records = [...this.slots.values()].flatMap((runner) =>
      runner.incarnation && runner.incarnation.pid > 0 ? [runner.incarnation.record] : [],
    );
    try {
      writeRecords(this.home.run.slots, records);
    } catch (thrown) {
      this.log.error('slots.json was not written: a new supervisor could not take these workers over', errorFields(thrown));
    }
  }

  #problem(key: string, what: string, fix: string): void {
    this.#problems.set(key, { what, fix });
    this.log.warn(what, { fix });
  }

  // --- the end ---

  async #goDown(actor: string, drain: boolean): Promise<Receipt[]> {
    this.log.info('going down', { actor, drain });
    const tiers = [...new Set([...this.slots.values()].map((runner) => runner.spec.tier))].toSorted((a, b) => b - a);
    const receipts: Receipt[] = [];
    for (const tier of tiers) {
      const runners = [...this.slots.values()].filter((runner) => runner.spec.tier === tier && runner.state !== 'down');
      receipts.push(...(await Promise.all(runners.map((runner) => runner.stop(actor, 'the service goes down', drain)))));
    }
    for (const receipt of receipts) this.#receipts.keep(receipt);
    this.#snapshot.now();
    // The answer to whoever asked leaves before the socket does.
    setTimeout(() => void this.#finish(), 10);
    return receipts;
  }

  async #finish(): Promise<void> {
    for (const runner of this.slots.values()) runner.release();
    this.log.info('ended');
    await this.#life.disposeAsync();
    await this.#server?.[Symbol.asyncDispose]();
    this.#lock[Symbol.dispose]();
    this.#endedAnswer.resolve();
  }
}
