/**
 * The life of every worker, top to bottom: read who I am, open the log, build the service, serve the
 * socket, tell the supervisor, live, drain, leave with the right code. Services fill in `start`.
 * Runs the same without a supervisor (`--external-supervisor`): same exit codes, same drain.
 */
import { watch } from 'node:fs';
import { AgentError, isAgentError, messageOf, type ErrorCode } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { hexId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { createLogger, errorFields, type Logger, type LogSink } from '../base/log.ts';
import { createRedactor, type Redactor } from '../base/redact.ts';
import { unsealVariables } from '../base/sealedVariables.ts';
import { formatDuration, sleep } from '../base/time.ts';
import { settleAfterStart } from '../base/afterStart.ts';
import { createClient, type Client } from '../ipc/client.ts';
import { drain, ping, report, stop } from '../ipc/contracts/peer.ts';
import { attach, ensureSlot, facts as factsNotice, offerRehearsal } from '../ipc/contracts/supervisor.ts';
import { dial } from '../ipc/dial.ts';
import { handle, onNotice, type Handler, type Link, type NoticeHandler } from '../ipc/link.ts';
import { serve, type SocketServer } from '../ipc/serve.ts';
import type { LoadedConfig } from '../state/config/load.ts';
import type { Secrets } from '../state/env.ts';
import { sweepTempFiles } from '../state/atomicFile.ts';
import { ensureToken, openHome, prepareHome, requireProfile, type Home, type ProfilePaths } from '../state/home.ts';
import { logNameOf, openLogSink } from '../state/logs.ts';
import { release, type Release } from '../state/release.ts';
import { beatAlone, startHeartbeat } from './heartbeat.ts';
import { createConfig, createSecrets } from './liveFiles.ts';
import { standBy, takeSuccession, type Succession } from './successor.ts';

export interface WorkerContext {
  /** `agent`, or `agent@work` for another profile. */
  slot: string;
  profile: string;
  home: Home;
  /** Paths of this worker's profile. */
  paths: ProfilePaths;
  token: string;
  release: Release;
  /** The rehearsal model is on offer (`agent up --demo`); read it when it is needed, for it may come later. */
  demo: boolean;
  /** It relieves a process that still serves: what clients hold of that one stays good. */
  relieves: boolean;
  /** Nothing else owns this process's life: no supervisor. */
  external: boolean;
  log: Logger;
  redact: Redactor;
  /** config.yaml as it is now; read again when the file changed. */
  config(): LoadedConfig;
  /** `.env` as it is now. Its values are known to the redactor. */
  secrets(): Secrets;
  /** A standing client of another worker; starts it through the supervisor when it is an on-demand slot. */
  peer(slot: string): Client;
  /** Tells the supervisor something for `status`; merged over earlier facts. */
  reportFacts(facts: Record<string, unknown>): void;
  /** A problem for `status` and the log until null takes it back. */
  reportProblem(key: string, problem: Problem | null): void;
  /** Runs at each heartbeat, with a supervisor or without. */
  onBeat(work: () => void): Disposable;
  /** Ends this process at once; the supervisor starts it again. What is not stored is lost. */
  fail(error: AgentError): never;
  /** Accepted work has moved a step: a worker that is busy without a step for long counts as livelocked. Costs nothing. */
  progress(): void;
  /** Asks for the same end as `worker.stop`: drain, then exit 0. For on-demand workers that have run out of work; nothing happens while its slot is wanted up. */
  leave(reason: string): void;
  /** Aborts when the worker is leaving, after the drain. */
  signal: AbortSignal;
}

export interface Problem {
  what: string;
  fix: string;
}

export interface WorkerService extends AsyncDisposable {
  handlers: Handler[];
  notices?: NoticeHandler[];
  /** Methods open to relayed browsers. */
  relayMethods?: ReadonlySet<string>;
  onLink?: (link: Link) => void;
  /** Names of units of work in flight; empty = idle. */
  active(): string[];
  /** Steps of accepted work beside those of `context.progress()`: any number that changes with them and not otherwise. */
  steps?(): number;
  /** Facts for `worker.report`. */
  facts?(): Record<string, unknown>;
  /** Take no new work, finish what runs until `signal` aborts, then interrupt it. Answers how much was interrupted. */
  drain(signal: AbortSignal): Promise<{ interrupted: number }>;
  /** Called once the worker serves and the supervisor knows. */
  started?(): void;
}

/** Errors after which a restart cannot help: the operator has to change something (exit 78). */
const permanent: ReadonlySet<ErrorCode> = new Set(['CONFIG_INVALID', 'STORE_CORRUPT', 'UNKNOWN_PROFILE']);

/** Runs a worker until it is told to stop; sets the exit code and ends the process. */
export async function runWorker(kind: string, start: (context: WorkerContext) => Promise<WorkerService>): Promise<void> {
  unsealVariables();
  process.title = `agent-${process.env.AGENT_SLOT ?? kind}`;
  const succession = takeSuccession();
  const life = await openLife(kind, succession).catch((thrown: unknown) => {
    process.stderr.write(`agent: ${messageOf(thrown)}${isAgentError(thrown) && thrown.fix ? ` — ${thrown.fix}` : ''}\n`);
    process.exit(exitCodes.failed);
  });
  const { context, sink, nonce } = life;
  const leave = (code: number): never => {
    sink.close();
    process.exit(code);
  };
  const crash = (what: string) => (thrown: unknown) => {
    context.log.fatal(`${what}: ${messageOf(thrown)}`, errorFields(thrown));
    process.stderr.write(`${what}: ${thrown instanceof Error ? thrown.stack : String(thrown)}\n`);
    leave(exitCodes.failed);
  };
  process.on('uncaughtException', crash('uncaught exception'));
  process.on('unhandledRejection', crash('unhandled rejection'));
  try {
    if (succession === 'standby') await standBy(context, nonce);
    leave(await live(life, start, succession));
  } catch (thrown) {
    const error = isAgentError(thrown) ? thrown : undefined;
    context.log.fatal(`cannot go on: ${messageOf(thrown)}`, errorFields(thrown));
    process.stderr.write(`${error ? lastWords(error) : (thrown as Error).stack}\n`);
    leave(error && permanent.has(error.code) ? exitCodes.config : exitCodes.failed);
  }
}

const lastWords = ({ code, message, fix }: AgentError): string => `${code}: ${message}${fix ? ` — ${fix}` : ''}`;

export interface Life {
  context: WorkerContext;
  sink: LogSink;
  nonce: string;
  stopping: AbortController;
  supervisor: Link | undefined;
  facts: Record<string, unknown>;
  /** It may leave by itself: its slot starts again when it is needed. */
  onDemand: boolean;
  /** Steps of accepted work. */
  steps: number;
  /** How late the last heartbeat was. */
  lagMs: number;
  /** The worker's own way to `worker.stop`; set once the service is built. */
  stop: ((deadlineMs: number) => Promise<void>) | undefined;
  problems: Map<string, Problem>;
  beats: Set<() => void>;
  /** Set once it serves. */
  server?: SocketServer;
}

async function openLife(kind: string, succession: Succession): Promise<Life> {
  const { env } = process;
  const home = openHome();
  prepareHome(home);
  const profile = env.AGENT_PROFILE || 'default';
  const slot = env.AGENT_SLOT || (profile === 'default' ? kind : `${kind}@${profile}`);
  const paths = requireProfile(home, profile);
  for (const dir of new Set([home.root, home.run.dir, paths.dir])) sweepTempFiles(dir);
  const redact = createRedactor();
  const secrets = createSecrets(paths, redact);
  const config = createConfig(home, paths);
  const sink = openLogSink(paths, logNameOf(slot), config().config.logging);
  const log = createLogger({ sink, component: kind, level: config().config.logging?.level ?? 'info', fields: { slot }, redact });
  const token = ensureToken(home);
  redact.learn([token]);
  const stopping = new AbortController();
  const life: Life = {
    sink,
    nonce: env.AGENT_SLOT_NONCE || hexId(32),
    stopping,
    supervisor: undefined,
    facts: {},
    onDemand: true,
    steps: 0,
    lagMs: 0,
    stop: undefined,
    problems: new Map(),
    beats: new Set([() => learnNewSecrets(secrets)]),
  } as unknown as Life;
  const peers = new Map<string, Client>();
  life.context = {
    slot,
    profile,
    home,
    paths,
    token,
    release: release(),
    demo: env.AGENT_DEMO === '1',
    relieves: succession === 'overlap',
    external: !env.AGENT_SLOT_NONCE,
    log,
    redact,
    config,
    secrets,
    signal: stopping.signal,
    peer: (other) => cached(peers, other, () => peerClient(life, other)),
    reportFacts(more) {
      Object.assign(life.facts, more);
      life.supervisor?.notify(factsNotice, { facts: more });
    },
    reportProblem(key, problem) {
      const known = life.problems.get(key);
      if (problem === null ? known === undefined : known?.what === problem.what) return;
      if (problem === null) life.problems.delete(key);
      else life.problems.set(key, problem);
      if (problem) log.error(problem.what, { fix: problem.fix });
      life.context.reportFacts({ problems: [...life.problems.values()] });
    },
    onBeat(work) {
      life.beats.add(work);
      return { [Symbol.dispose]: () => void life.beats.delete(work) };
    },
    fail(error) {
      log.fatal(error.message, errorFields(error));
      process.stderr.write(`${lastWords(error)}\n`);
      sink.close();
      process.exit(exitCodes.failed);
    },
    progress() {
      life.steps++;
    },
    leave(reason) {
      if (!life.onDemand) return;
      log.info(`leaving by itself: ${reason}`);
      void life.stop?.(limits.worker.drainMs);
    },
  };
  // The identity of this incarnation stays out of the environment of its children.
  delete env.AGENT_SLOT_NONCE;
  return life;
}

/** A key that came into `.env` since is hidden before anything asks for it. */
function learnNewSecrets(secrets: () => unknown): void {
  try {
    secrets();
  } catch {
    // whatever needs a secret reports it
  }
}

/** The main flow. Answers the exit code. */
async function live(life: Life, start: (context: WorkerContext) => Promise<WorkerService>, succession: Succession): Promise<number> {
  const { context, nonce } = life;
  const startedAt = performance.now();
  const leaving = Promise.withResolvers<number>();
  await using resources = new AsyncDisposableStack();

  const service = resources.use(await start(context));
  const drainNow = createDrain(service, context);
  const stopNow = async (deadlineMs: number): Promise<void> => {
    await drainNow(deadlineMs);
    leaving.resolve(exitCodes.ok);
  };
  life.stop = stopNow;
  const own = ownHandlers({ service, life, startedAt, drainNow, stopNow });
  const server = await serve({
    path: context.home.run.socket(context.slot),
    slot: context.slot,
    token: context.token,
    code: context.release.code,
    nonce,
    replace: succession === 'overlap',
    handlers: [...service.handlers, ...own],
    ...(service.notices ? { notices: service.notices } : {}),
    ...(service.relayMethods ? { relayMethods: service.relayMethods } : {}),
    ...(service.onLink ? { onLink: service.onLink } : {}),
  });
  resources.use(server);
  life.server = server;

  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.on(name, () => {
      context.log.info(`${name} received`);
      // Of a stop by the supervisor itself this says nothing new; of any other it is the cause.
      life.supervisor?.notify(factsNotice, { facts: { ended_by: name } });
      void stopNow(limits.worker.termMs - 500);
    });
  }
  if (context.external) beatAlone(life);
  else void keepSupervised(life, nonce, own, service, stopNow);
  context.log.info('ready', { ready_ms: Math.round(performance.now() - startedAt) });
  service.started?.();
  settleAfterStart();

  const code = await leaving.promise;
  server.stopListening();
  life.stopping.abort(new AgentError('CANCELLED', `${context.slot} is leaving`));
  context.log.info('leaving', { code });
  return code;
}

interface OwnParts {
  service: WorkerService;
  life: Life;
  startedAt: number;
  drainNow: Drain;
  stopNow: (deadlineMs: number) => Promise<void>;
}

/** The methods every worker answers (contract §5). */
function ownHandlers({ service, life, startedAt, drainNow, stopNow }: OwnParts): Handler[] {
  const { slot } = life.context;
  const uptime = () => Math.round(performance.now() - startedAt);
  return [
    handle(ping, () => ({ slot, pid: process.pid, uptime_ms: uptime() })),
    handle(drain, ({ deadline_ms }) => drainNow(deadline_ms)),
    handle(report, async () => ({
      slot,
      pid: process.pid,
      uptime_ms: uptime(),
      rss_bytes: process.memoryUsage.rss(),
      loop_lag_ms: Math.max(life.lagMs, await turnOfTheLoopMs()),
      active: service.active(),
      facts: { ...life.facts, ...service.facts?.() },
    })),
    handle(stop, ({ deadline_ms }) => {
      setImmediate(() => void stopNow(deadline_ms ?? limits.worker.drainMs));
      return { stopping: true as const };
    }),
  ];
}

/** How long the loop takes to come round now. */
async function turnOfTheLoopMs(): Promise<number> {
  const startedAt = performance.now();
  await new Promise((resolve) => setImmediate(resolve));
  return Math.round(performance.now() - startedAt);
}

type Drain = (deadlineMs: number) => Promise<{ interrupted: number; drained_ms: number }>;

/** Drains once; a later call joins, and shortens it when it leaves less time. */
function createDrain(service: WorkerService, context: WorkerContext): Drain {
  const deadline = new AbortController();
  let running: ReturnType<Drain> | undefined;
  return (deadlineMs) => {
    const timer = setTimeout(() => deadline.abort(new AgentError('TIMEOUT', 'the drain ran out of time')), deadlineMs);
    context.log.info(running ? 'draining faster' : 'draining', { deadline_ms: deadlineMs, active: service.active() });
    running ??= drainService(service, context, deadline.signal);
    return running.finally(() => clearTimeout(timer));
  };
}

async function drainService(service: WorkerService, context: WorkerContext, deadline: AbortSignal): ReturnType<Drain> {
  const startedAt = performance.now();
  const drainedMs = () => Math.round(performance.now() - startedAt);
  // A service that ignores its deadline gets a second to interrupt, then is left to SIGTERM.
  const overdue = new Promise<never>((_resolve, reject) => {
    const late = () => setTimeout(() => reject(deadline.reason as Error), limits.worker.interruptMs).unref();
    deadline.addEventListener('abort', late, { once: true });
  });
  try {
    const { interrupted } = await Promise.race([service.drain(deadline), overdue]);
    return { interrupted, drained_ms: drainedMs() };
  } catch (thrown) {
    context.log.warn(`drain did not finish: ${messageOf(thrown)}`);
    return { interrupted: service.active().length, drained_ms: drainedMs() };
  }
}

/** Keeps a connection to whatever supervisor runs; leaves after 15 minutes without one (house, Processes). */
async function keepSupervised(
  life: Life,
  nonce: string,
  own: Handler[],
  service: WorkerService,
  stopNow: (deadlineMs: number) => Promise<void>,
): Promise<void> {
  const { context } = life;
  let orphanedAt = performance.now();
  let orphanMs: number = limits.worker.orphanMs;
  let startingMs = 0;
  while (!context.signal.aborted) {
    try {
      const link = await dial(context.home.run.supervisorSocket, {
        token: context.token,
        slot: context.slot,
        code: context.release.code,
        handlers: own,
        notices: [onNotice(offerRehearsal, () => void (context.demo = true))],
        signal: context.signal,
        startingMs,
      });
      const facts = { ...life.facts, ...service.facts?.() };
      const {
        heartbeat_ms = limits.worker.heartbeatMs,
        orphan_ms,
        on_demand = true,
        demo = false,
      } = await link.call(attach, {
        slot: context.slot,
        pid: process.pid,
        nonce,
        code: context.release.code,
        facts,
      });
      if (orphan_ms !== undefined) orphanMs = orphan_ms;
      life.onDemand = on_demand;
      context.demo ||= demo;
      life.supervisor = link;
      const stopBeating = startHeartbeat(life, link, service, heartbeat_ms);
      await link.closed;
      stopBeating();
      life.supervisor = undefined;
      orphanedAt = performance.now();
      if (!context.signal.aborted) context.log.warn('the supervisor is gone; working on without it');
    } catch (thrown) {
      if (isAgentError(thrown) && thrown.code === 'UNKNOWN_SLOT') {
        context.log.error(`the supervisor does not know this process: ${thrown.message}`);
        return void stopNow(limits.worker.termMs);
      }
    }
    if (performance.now() - orphanedAt > orphanMs) {
      context.log.error(`no supervisor for ${formatDuration(orphanMs)}: leaving`);
      return void stopNow(limits.worker.drainMs);
    }
    // The name changes when the old socket is removed, too: the new one is some milliseconds away then.
    startingMs = (await supervisorSocketChanges(context)) ? limits.worker.redialMs : 0;
  }
}

/** Waits for a change in `run/` (a wake-up, not a poll), at most five seconds; true when there was one. */
async function supervisorSocketChanges(context: WorkerContext): Promise<boolean> {
  const seen = Promise.withResolvers<boolean>();
  try {
    const watcher = watch(context.home.run.dir, { persistent: false }, (_event, name) => {
      if (name === 'supervisor.sock') seen.resolve(true);
    });
    watcher.on('error', () => {});
    const over = sleep(5_000, context.signal).then(
      () => false,
      () => false,
    );
    const changed = await Promise.race([seen.promise, over]);
    watcher.close();
    return changed;
  } catch {
    await sleep(1_000, context.signal).catch(() => {});
    return false;
  }
}

function peerClient(life: Life, other: string): Client {
  const { context } = life;
  const options = { token: context.token, slot: context.slot, code: context.release.code };
  const path = context.home.run.socket(other);
  return createClient(async (signal) => {
    const both = signal ? AbortSignal.any([signal, context.signal]) : context.signal;
    try {
      return await dial(path, { ...options, signal: both });
    } catch (thrown) {
      if (!isAgentError(thrown) || thrown.code !== 'PEER_UNREACHABLE' || !life.supervisor) throw thrown;
      await life.supervisor.call(ensureSlot, { slot: other }, { signal: both });
      return dial(path, { ...options, signal: both, startingMs: 1_000 });
    }
  });
}

function cached<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
