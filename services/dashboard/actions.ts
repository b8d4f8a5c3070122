/**
 * Long work asked for in the page: the agent command itself as a child, one at a time per name, its output bounded
 * and redacted, its whole process group gone at the end. The page polls; nothing here survives this worker.
 */
import { join } from 'node:path';
import { filterEnv } from '../../base/envFilter.ts';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration, sleep } from '../../base/time.ts';
import type { ActionStarted, ActionStatus } from '../../ipc/contracts/http/ops.ts';
import type { ProfilePaths } from '../../state/home.ts';
import { nodeProgram } from '../../state/nodeProgram.ts';
import { groupAlive } from '../../state/processIdentity.ts';
import { commonEnv } from '../manifest.ts';
import type { WorkerContext } from '../worker.ts';
import { createOutput, type ActionOutput } from './actionOutput.ts';

export interface ActionOptions {
  /** Given to the command on its standard input: secrets go here, never into `argv`. */
  input?: string;
  /** Default `limits.dashboard.actionMs`; then the whole group is ended. */
  timeoutMs?: number;
}

export interface Actions extends AsyncDisposable {
  /**
   * Starts `agent <argv> --profile <profile>`. The same command under a name that still runs is joined.
   * Errors: ACTION_RUNNING (another command under that name), START_FAILED.
   */
  start(name: string, argv: readonly string[], profile: ProfilePaths, options?: ActionOptions): Promise<ActionStarted>;
  /** The last `lines` it said, and its end; also of one that is over. Errors: NOT_FOUND. */
  status(name: string, lines: number): ActionStatus;
  /** Its status once it is over, or when `signal` aborts. Errors: NOT_FOUND. */
  ended(name: string, signal: AbortSignal): Promise<ActionStatus>;
  active(): string[];
  /** Resolves when nothing runs; at `signal` what still runs is ended. Answers how many that were. */
  drain(signal: AbortSignal): Promise<number>;
}

interface Action {
  name: string;
  /** What was asked for: two askers of the same share one child. */
  asked: string;
  pid: number;
  output: ActionOutput;
  startedAt: string;
  end?: { exitCode: number | null; error?: string; at: string };
  over: Promise<void>;
  stop(why: string): void;
}

const { actionMs, actionsMax, actionsKeptMax } = limits.dashboard;

type ActionsContext = Pick<WorkerContext, 'home' | 'log' | 'redact' | 'release'>;

export function createActions(context: ActionsContext): Actions {
  const actions = new Map<string, Action>();
  const running = () => [...actions.values()].filter(({ end }) => !end);
  const find = (name: string): Action => {
    const action = actions.get(name);
    if (!action) throw new AgentError('NOT_FOUND', `no action "${name}" has been started`, { fix: 'start it first' });
    return action;
  };
  return {
    async start(name, argv, profile, options = {}) {
      const asked = JSON.stringify([argv, profile.name, options.input ?? null]);
      // Loaded when first needed: the idle dashboard runs nothing. Below this line nothing waits, so two askers cannot both start.
      const { execa } = await import('execa');
      const before = actions.get(name);
      if (before && !before.end) {
        if (before.asked !== asked) throw new AgentError('ACTION_RUNNING', `"${name}" is running`, { fix: 'wait until it is over' });
        return { name, ok: true, pid: before.pid };
      }
      if (running().length >= actionsMax) {
        throw new AgentError('ACTION_RUNNING', `${actionsMax} actions are running`, { fix: 'wait until one of them is over' });
      }
      const action = launch(execa, context, { name, asked, argv, profile, options });
      // Said again at the end, so that the oldest is the first to be forgotten.
      actions.delete(name);
      actions.set(name, action);
      forgetOldest(actions);
      context.log.info(`action ${name} started`, { pid: action.pid, command: argv.slice(0, 3).join(' ') });
      return { name, ok: true, pid: action.pid };
    },
    status: (name, lines) => statusOf(find(name), lines),
    async ended(name, signal) {
      const action = find(name);
      await Promise.race([action.over, aborted(signal)]);
      return statusOf(action, limits.dashboard.actionLinesMax);
    },
    active: () => running().map(({ name }) => `action ${name}`),
    async drain(signal) {
      const idle = Promise.all(running().map(({ over }) => over));
      await Promise.race([idle, aborted(signal)]);
      return stopAll(running());
    },
    async [Symbol.asyncDispose]() {
      await stopAll(running());
    },
  };
}

async function stopAll(actions: readonly Action[]): Promise<number> {
  for (const action of actions) action.stop('it was ended because the dashboard is leaving');
  await Promise.all(actions.map(({ over }) => over));
  return actions.length;
}

function forgetOldest(actions: Map<string, Action>): void {
  const over = [...actions.values()].filter(({ end }) => end);
  for (const { name } of over.slice(0, Math.max(0, actions.size - actionsKeptMax))) actions.delete(name);
}

function statusOf({ name, pid, output, startedAt, end }: Action, lines: number): ActionStatus {
  return {
    name,
    running: !end,
    pid,
    exit_code: end?.exitCode ?? null,
    error: end?.error ?? null,
    lines: output.lines(lines),
    result: end ? output.result() : null,
    started_at: startedAt,
    ended_at: end?.at ?? null,
  };
}

interface Launch {
  name: string;
  asked: string;
  argv: readonly string[];
  profile: ProfilePaths;
  options: ActionOptions;
}

type Execa = typeof import('execa').execa;

/** Errors: START_FAILED. */
function launch(execa: Execa, { home, release: { codeRoot, built }, redact, log }: ActionsContext, action: Launch): Action {
  const { name, asked, argv, profile, options } = action;
  const entry = join(codeRoot, 'bin', `main.${built ? 'js' : 'ts'}`);
  const child = execa(nodeProgram(), [entry, '--profile', profile.name, ...argv], {
    cwd: home.root,
    detached: true,
    cleanup: false,
    reject: false,
    buffer: false,
    input: options.input ?? '',
    extendEnv: false,
    env: { ...filterEnv(process.env, commonEnv), AGENT_HOME: home.root, NO_COLOR: '1' },
  });
  const { pid } = child;
  if (pid === undefined) throw new AgentError('START_FAILED', `"agent ${argv[0] ?? ''}" could not be started`);
  const group = pid;
  const exited = new Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.nodeChildProcess.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
  const output = createOutput(redact);
  child.stdout.on('data', (chunk: Buffer) => output.take('stdout', chunk));
  child.stderr.on('data', (chunk: Buffer) => output.take('stderr', chunk));

  let why: string | undefined;
  const timeoutMs = options.timeoutMs ?? actionMs;
  const stop = (reason: string) => {
    if (why !== undefined) return;
    why = reason;
    void endGroup(group, limits.worker.termMs);
  };
  const timer = setTimeout(() => stop(`it ran longer than ${formatDuration(timeoutMs)} and was ended`), timeoutMs);
  const entryOf: Action = { name, asked, pid, output, startedAt: new Date().toISOString(), stop, over: over() };
  return entryOf;

  async function over(): Promise<void> {
    // Its own end first: what it left behind may hold the pipes.
    const { exitCode, signal } = await exited;
    clearTimeout(timer);
    await endGroup(group, 0);
    await Promise.race([child, sleep(PIPES_MS)]);
    output.close();
    const error = why ?? (signal ? `it was ended by ${signal}` : undefined);
    entryOf.end = { exitCode, at: new Date().toISOString(), ...(error === undefined ? {} : { error }) };
    log.info(`action ${name} ended`, { pid, exit_code: exitCode ?? undefined, signal: signal ?? undefined });
  }
}

/** The group is dead by then; what the pipes still hold is read in no time. */
const PIPES_MS = 1_000;

/** SIGTERM, then SIGKILL to the whole group; returns when none of it is left, or after the kernel had its time. */
async function endGroup(pgid: number, termMs: number): Promise<void> {
  if (termMs > 0 && signalGroup(pgid, 'SIGTERM')) await groupGone(pgid, termMs);
  if (signalGroup(pgid, 'SIGKILL')) await groupGone(pgid, limits.worker.killMs);
}

function signalGroup(pgid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(-pgid, signal);
    return true;
  } catch {
    return false;
  }
}

async function groupGone(pgid: number, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  for (let pauseMs = 1; groupAlive(pgid) && performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 50)) await sleep(pauseMs);
}

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
