/**
 * What a drill is: one fault, injected into the running service, and the recovery measured. It waits
 * under limits only, says what it does and sees with the time of each, and leaves nothing behind.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { formatDuration, sleep } from '../../base/time.ts';
import { status as statusMethod, type Status, type WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { dial } from '../../ipc/dial.ts';
import type { Home } from '../../state/home.ts';
import { readToken } from '../../state/home.ts';
import { startStopwatch } from './stopwatch.ts';

export interface Step {
  /** Since the drill began. */
  at_ms: number;
  what: string;
}

export interface DrillResult {
  drill: string;
  slot: string | null;
  ok: boolean;
  /** Fault → everything as before; null when it did not come back. */
  recovered_ms: number | null;
  /** What docs/BENCHMARKS.md publishes, where it does. */
  published_ms: number | null;
  limit_ms: number;
  /** What it comes to, in a sentence. */
  verdict: string;
  steps: Step[];
}

/** What a drill found out; the rest of its result is filled in for it. */
export interface Outcome {
  slot?: string;
  ok?: boolean;
  recoveredMs: number;
  publishedMs?: number;
  limitMs: number;
  verdict: string;
}

export interface Scene {
  home: Home;
  /** As the user named it. */
  slot: string | undefined;
  /** Aborted by ctrl-C: faults are taken back, then it ends. */
  signal: AbortSignal;
  /** Milliseconds of a clock that stands still while this process does. */
  now(): number;
  /** Notes a step and shows it. */
  step(what: string): void;
}

export interface Drill {
  name: string;
  summary: string;
  /** What a person is told before they agree. */
  interrupts(scene: Pick<Scene, 'home' | 'slot'>): string;
  run(scene: Scene): Promise<Outcome>;
}

/** Runs one drill; a fault that is not recovered from is a result, not an exception. */
export async function carryOut(drill: Drill, scene: Omit<Scene, 'step' | 'now'>, onStep: (step: Step) => void): Promise<DrillResult> {
  using watch = startStopwatch();
  const startedAt = watch.now();
  const steps: Step[] = [];
  const step = (what: string) => {
    const taken = { at_ms: Math.round(watch.now() - startedAt), what };
    steps.push(taken);
    onStep(taken);
  };
  try {
    const { slot, ok, recoveredMs, publishedMs, limitMs, verdict } = await drill.run({ ...scene, step, now: () => watch.now() });
    return {
      drill: drill.name,
      slot: slot ?? null,
      ok: ok ?? recoveredMs <= limitMs,
      recovered_ms: Math.round(recoveredMs),
      published_ms: publishedMs ?? null,
      limit_ms: limitMs,
      verdict,
      steps,
    };
  } catch (thrown) {
    if (scene.signal.aborted || (isAgentError(thrown) && notADrill.has(thrown.code))) throw thrown;
    step(messageOf(thrown));
    return {
      drill: drill.name,
      slot: scene.slot ?? null,
      ok: false,
      recovered_ms: null,
      published_ms: null,
      limit_ms: 0,
      verdict: messageOf(thrown),
      steps,
    };
  }
}

/** The drill could not begin: an error of the command, not a finding. */
const notADrill: ReadonlySet<string> = new Set(['NO_SUPERVISOR', 'NOT_FOUND', 'UNKNOWN_SLOT', 'USAGE']);

/** Waits until `look` gives something; TIMEOUT says what never came. Errors thrown by `look` mean "not yet". */
export async function until<T>(
  { signal, now }: Pick<Scene, 'signal' | 'now'>,
  what: string,
  limitMs: number,
  look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> {
  const deadline = now() + limitMs;
  for (let pauseMs: number = limits.drill.lookMs; ; pauseMs = Math.min(pauseMs * 1.2, 250)) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
    } catch {
      // nobody answers at the moment
    }
    if (now() > deadline) throw new AgentError('TIMEOUT', `${what}: not within ${formatDuration(limitMs)}`);
    await sleep(pauseMs, signal);
  }
}

/** The supervisor's own answer. Errors: PEER_UNREACHABLE, PEER_GONE. */
export async function askStatus(home: Home, startingMs = 0): Promise<Status> {
  using link = await dial(home.run.supervisorSocket, { token: readToken(home) ?? '', slot: 'cli', startingMs });
  return await link.call(statusMethod, {});
}

/** Pid of the process that answers on the socket of a slot. */
export async function whoServes(home: Home, slot: string): Promise<number> {
  using link = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli' });
  return link.peer.pid;
}

/** The slot that the user named, or the first of these that runs. Errors: NOT_FOUND, UNKNOWN_SLOT. */
export function chooseSlot({ workers }: Status, given: string | undefined, preferred: readonly string[]): WorkerStatus {
  const isUp = (row: WorkerStatus) => row.state === 'ready' && row.pid !== null;
  if (given !== undefined) {
    const row = workers.find(({ slot }) => slot === given);
    if (!row) {
      throw new AgentError('UNKNOWN_SLOT', `there is no slot "${given}"`, {
        fix: `known slots: ${workers.map(({ slot }) => slot).join(', ')}`,
      });
    }
    if (!isUp(row)) throw new AgentError('NOT_FOUND', `${given} is ${row.state}, a drill needs it ready`, { fix: `agent start ${given}` });
    return row;
  }
  const row = preferred.map((slot) => workers.find((one) => one.slot === slot)).find((one) => one && isUp(one)) ?? workers.find(isUp);
  if (!row) throw new AgentError('NOT_FOUND', 'no slot is ready', { fix: '`agent status` says why' });
  return row;
}

/** Those whose loss disturbs least come first. */
export const LEAST_MISSED = ['cron', 'mcp', 'dashboard', 'gateway', 'agent'];

/** Names and processes of everything that runs: what a drill on something else must leave alone. */
export const runningPids = ({ workers }: Status): Map<string, number> =>
  new Map(workers.flatMap(({ slot, pid, state }) => (pid !== null && state === 'ready' ? [[slot, pid] as const] : [])));

/** What became of those whose process is another one now, or none, with the reason that the supervisor gives. */
export function lostOf(before: ReadonlyMap<string, number>, { workers }: Status): string[] {
  return [...before].flatMap(([slot, pid]) => {
    const row = workers.find((one) => one.slot === slot);
    if (row?.pid === pid) return [];
    const now = row?.pid ? `process ${pid} → ${row.pid}` : `process ${pid} is gone`;
    return [`${slot} did not survive it (${now}${row?.last_exit ? `: ${row.last_exit.summary}` : ''})`];
  });
}
