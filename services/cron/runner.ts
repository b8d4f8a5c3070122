/**
 * From a claimed execution to its end: the script, the gate, the turn, the output file, and one
 * transaction that ends the run and stores what has to be delivered. A prompt run that a crash cut is
 * joined again through `turn.run`; a script that a crash cut is never run twice.
 */
import { AgentError, isAgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { deferred, formatDuration, isoTime } from '../../base/time.ts';
import { askTurn } from '../../ipc/keepAsking.ts';
import type { Client } from '../../ipc/client.ts';
import { turnProgress, type TurnOutcome } from '../../ipc/contracts/agent.ts';
import type { WaitingWork } from '../../ipc/contracts/peer.ts';
import { untilStored } from '../../state/db/untilStored.ts';
import { profileSlot } from '../../state/home.ts';
import type { WorkerContext } from '../worker.ts';
import { splitTargets, type Handover } from './handover.ts';
import { writeOutput } from './output.ts';
import { endStray, EXECUTION_VARIABLE, runScript } from './script.ts';
import type { CronStore, JobRow, RunRow } from './store.ts';

export interface Runner {
  /** Takes claimed executions; runs each when there is room. */
  add(executionIds: readonly string[]): void;
  /** A run of this job is under way or waits. */
  isBusy(jobId: string): boolean;
  waiting(jobId: string): number;
  /** Names of running executions, without those that wait for the agent. */
  active(): string[];
  /** Runs that wait for an agent that cannot take them now. */
  held(): WaitingWork[];
  /** Resolves when nothing runs or waits, or `signal` aborts; starts nothing new. */
  drain(signal: AbortSignal): Promise<{ interrupted: number }>;
  /** Takes up what an earlier incarnation left open. */
  recover(): Promise<void>;
}

export interface RunnerParts {
  context: WorkerContext;
  store: CronStore;
  handover: Handover;
  /** A run has started or ended. */
  onChange(): void;
}

export function createRunner(parts: RunnerParts): Runner {
  const { context, store, onChange } = parts;
  const queue: { executionId: string; jobId: string }[] = [];
  const running = new Map<string, { jobId: string; name: string; done: Promise<void> }>();
  const waits = createWaits(parts, () => fill());
  const interrupt = new AbortController();
  let draining = false;

  const parallelMax = () => context.config().config.cron?.max_parallel_jobs ?? limits.cron.parallelMax;
  const jobRuns = (jobId: string) => [...running.values()].some((run) => run.jobId === jobId);

  // A run that waits for the agent takes no place, until it asks again.
  const hasPlace = () => running.size - waits.ids.size + waits.asking.size < parallelMax();

  const start = ({ executionId, jobId }: { executionId: string; jobId: string }): void => {
    const run = store.run(executionId);
    if (!run) return;
    const job = store.job(jobId);
    const done = (job ? carryOut(parts, { run, job, interrupt: interrupt.signal, waits }) : skipRemoved(parts, run))
      .catch((thrown: unknown) => context.log.error(`${job?.name ?? jobId}: ${messageOf(thrown)}`, { execution_id: executionId }))
      .finally(() => {
        running.delete(executionId);
        waits.forget(executionId);
        onChange();
        fill();
      });
    running.set(executionId, { jobId, name: `${job?.name ?? jobId} (${executionId})`, done });
    onChange();
  };

  /** Those that have waited for the agent come first. */
  const fill = (): void => {
    while (!draining && hasPlace()) {
      if (waits.admitNext()) continue;
      const index = queue.findIndex(({ jobId }) => !jobRuns(jobId));
      if (index < 0) return;
      start(queue.splice(index, 1)[0]!);
    }
  };

  const add = (executionIds: readonly string[]): void => {
    for (const executionId of executionIds) {
      const run = store.run(executionId);
      if (run) queue.push({ executionId, jobId: run.job_id });
    }
    fill();
  };

  return {
    add,
    isBusy: (jobId) => jobRuns(jobId) || queue.some((waiting) => waiting.jobId === jobId),
    waiting: (jobId) => queue.filter((waiting) => waiting.jobId === jobId).length,
    active: () => [...running].filter(([id]) => !waits.ids.has(id)).map(([, run]) => run.name),
    held: waits.facts,
    async drain(signal) {
      draining = true;
      const stopped = new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
      const busy = [...running].filter(([id]) => !waits.ids.has(id)).map(([, run]) => run.done);
      await Promise.race([Promise.all(busy), stopped]);
      const scripts = [...running.entries()].filter(([id]) => store.run(id)?.script_pid != null).map(([, run]) => run);
      interrupt.abort();
      // Prompt runs go on in the agent worker and are joined by the next incarnation: nothing is lost there.
      await Promise.all(scripts.map((run) => run.done));
      return { interrupted: scripts.length };
    },
    async recover() {
      for (const run of store.openRuns()) {
        if (await abandonedScript(parts, run)) continue;
        add([run.execution_id]);
      }
    },
  };
}

/** True when the run was a script under way: it has an end now and is not run again. */
async function abandonedScript({ context, store }: RunnerParts, run: RunRow): Promise<boolean> {
  const job = store.job(run.job_id);
  if (run.status !== 'running' || run.prompt_text !== null || job?.script === null) return false;
  const { script_pid: pid, script_start_time: start_time, script_boot_id: boot_id } = run;
  const stray = await endStray(run.execution_id, pid === null ? undefined : { pid, start_time: start_time ?? 0, boot_id: boot_id ?? '' });
  const error = `the cron worker ended while the script ran${stray ? '; what was left of it has been stopped' : ''}; it is not run again by itself`;
  store.transact(() => {
    store.endRun(run.execution_id, { status: 'unknown', atMs: Date.now(), error, outputPath: null, delivery: 'none' });
    if (job) {
      store.setResult(job.id, { atMs: Date.now(), status: 'error', error });
      completeIfSpent(store, job.id);
    }
  });
  context.log.warn(`${job?.name ?? run.job_id}: ${error}`, { job_id: run.job_id, execution_id: run.execution_id });
  return true;
}

async function skipRemoved(parts: RunnerParts, { execution_id: id, job_id: jobId }: RunRow): Promise<void> {
  const end = { status: 'skipped', atMs: Date.now(), error: 'the job was removed', outputPath: null, delivery: 'none' } as const;
  await stored(parts, { id: jobId, name: jobId }, () => parts.store.endRun(id, end));
}

interface Work {
  run: RunRow;
  job: JobRow;
  interrupt: AbortSignal;
  waits: Waits;
}

/** Runs whose agent cannot take them now; their reason is stored in the row, for `agent cron runs`. */
interface Waits {
  ids: Map<string, { cause: AgentError; sinceMs: number }>;
  /** Of these, those that have a place again and ask the agent once more. */
  asking: Set<string>;
  /** Resolves when the run has a place again. */
  admitted(run: RunRow): Promise<void>;
  /** Gives the oldest that waits for a place one; false = none does. */
  admitNext(): boolean;
  forget(executionId: string): void;
  begin(run: RunRow, cause: AgentError, sinceMs: number): void;
  end(run: RunRow): void;
  facts(): WaitingWork[];
}

function createWaits({ context, store, onChange }: RunnerParts, onPlace: () => void): Waits {
  const ids: Waits['ids'] = new Map();
  const asking: Waits['asking'] = new Set();
  const admissions = new Map<string, () => void>();
  const slot = profileSlot('agent', context.profile);
  const note = (run: RunRow, reason: string | null): void => {
    try {
      store.setWaiting(run.execution_id, reason);
    } catch (thrown) {
      context.log.warn(`the state of a run could not be stored: ${messageOf(thrown)}`, { execution_id: run.execution_id });
    }
    onChange();
  };
  return {
    ids,
    asking,
    async admitted({ execution_id: id }) {
      if (!ids.has(id) || asking.has(id)) return;
      const admission = deferred<void>();
      admissions.set(id, () => admission.resolve());
      onPlace();
      await admission.promise;
    },
    admitNext() {
      const [next] = admissions;
      if (!next) return false;
      const [id, admit] = next;
      admissions.delete(id);
      asking.add(id);
      admit();
      return true;
    },
    forget(id) {
      ids.delete(id);
      asking.delete(id);
      admissions.delete(id);
    },
    begin(run, cause, sinceMs) {
      const { execution_id: id } = run;
      const before = ids.get(id);
      ids.set(id, { cause, sinceMs });
      asking.delete(id);
      if (before?.cause.code !== cause.code) note(run, `waiting for ${slot}: ${cause.message}`);
      onPlace();
    },
    end(run) {
      const { execution_id: id } = run;
      asking.delete(id);
      if (ids.delete(id)) note(run, null);
    },
    facts() {
      const latest = [...ids.values()].at(-1);
      if (!latest) return [];
      const sinceMs = Math.min(...[...ids.values()].map((wait) => wait.sinceMs));
      const since = isoTime(Date.now() - (performance.now() - sinceMs));
      return [{ slot, held: ids.size, code: latest.cause.code, reason: latest.cause.message, since }];
    },
  };
}

interface Result {
  status: 'ok' | 'error';
  error: string | null;
  /** All of it, for the output file. */
  output: string;
  /** What the chat gets; undefined = nothing. */
  message: string | undefined;
  code?: string;
}

/** Runs it and stores its end, however long the store refuses that. Leaves the row open when this worker goes first. */
async function carryOut(parts: RunnerParts, work: Work): Promise<void> {
  const { context } = parts;
  const { job, run } = work;
  let result: Result | undefined;
  try {
    result = await runOne(parts, work);
  } catch (thrown) {
    if (context.signal.aborted) return;
    result = failureOf(thrown);
  }
  if (result !== undefined) await stored(parts, job, () => finish(parts, { run, job }, result));
}

const stored = <T>({ context }: RunnerParts, job: Pick<JobRow, 'id' | 'name'>, write: () => T): Promise<T> =>
  untilStored(write, {
    path: context.paths.cronDb,
    signal: context.signal,
    onWaiting: (error) => context.log.error(`${job.name}: a run waits for its store: ${error.message}`, { job_id: job.id }),
  });

/** Undefined when this worker leaves first. */
async function runOne(parts: RunnerParts, work: Work): Promise<Result | undefined> {
  const { context, store } = parts;
  const { run, job } = work;
  await stored(parts, job, () => store.markRunning(run.execution_id, Date.now()));
  context.progress();
  context.log.info(`${job.name}: run started`, { job_id: job.id, execution_id: run.execution_id, trigger: run.trigger });
  let prompt = run.prompt_text;
  if (prompt === null && job.script !== null) {
    const script = await scriptStage(parts, work);
    if (script.problem !== undefined)
      return { status: 'error', error: `script ${job.script}: ${script.problem}`, output: script.stdout, message: undefined };
    if (!wakesAgent(script.stdout)) return { status: 'ok', error: null, output: script.stdout, message: undefined };
    if (job.prompt === null) return { status: 'ok', error: null, output: script.stdout, message: deliverable(script.stdout) };
    prompt = `${job.prompt}\n\nOutput of ${job.script}:\n${script.stdout.trimEnd()}`;
  }
  const text = prompt ?? job.prompt ?? '';
  await stored(parts, job, () => store.setPrompt(run.execution_id, text));
  const outcome = await turnStage(parts, work, text);
  return outcome && resultOf(outcome);
}

function scriptStage({ context, store }: RunnerParts, { run, job, interrupt }: Work): ReturnType<typeof runScript> {
  const seconds = Number(process.env.AGENT_CRON_SCRIPT_TIMEOUT) || context.config().config.cron?.script_timeout_seconds;
  return runScript(job.script!, {
    paths: context.paths,
    timeoutMs: seconds ? seconds * 1_000 : limits.cron.scriptMs,
    signal: interrupt,
    env: { AGENT_HOME: context.home.root, AGENT_JOB_ID: job.id, AGENT_JOB_NAME: job.name, [EXECUTION_VARIABLE]: run.execution_id },
    onStarted(leader) {
      try {
        store.setScriptProcess(run.execution_id, leader);
      } catch (thrown) {
        // Its processes are found by their environment, too.
        context.log.warn(`the process of a script could not be stored: ${messageOf(thrown)}`, { execution_id: run.execution_id });
      }
    },
  });
}

/**
 * Undefined when this worker leaves first; the turn continues and is joined later. A turn without progress is cancelled;
 * the time that it waits for its agent does not count.
 */
async function turnStage({ context }: RunnerParts, { run, job, waits }: Work, text: string): Promise<TurnOutcome | undefined> {
  const { profile } = context;
  const budget = new AbortController();
  const cancel = (ms: number, why: string) =>
    budget.abort(
      new AgentError('TIMEOUT', `the turn ${why} ${formatDuration(ms)} and was stopped`, { fix: 'its session shows how far it came' }),
    );
  let timer: NodeJS.Timeout | undefined;
  const slot = profileSlot('agent', profile);
  const agent = context.peer(slot);
  const question = {
    session_key: null,
    text,
    idempotency_key: `cron:${run.execution_id}`,
    surface: 'scheduled_task' as const,
    platform: 'cron',
    title: job.name,
    profile,
    ...(job.createdBy === null ? {} : { principal: job.createdBy }),
  };
  const watch = watchTurn(agent, question.idempotency_key, {
    onMoved: () => context.progress(),
    onIdle: () => cancel(limits.cron.runIdleMs, 'made no progress for'),
  });
  try {
    return await askTurn(agent, question, {
      leaving: context.signal,
      cancel: budget.signal,
      socket: context.home.run.socket(slot),
      admitted: () => waits.admitted(run),
      onWaiting(cause, sinceMs) {
        clearTimeout(timer);
        waits.begin(run, cause, sinceMs);
      },
      onTaken() {
        clearTimeout(timer);
        timer = setTimeout(() => cancel(limits.cron.promptMs, 'took longer than'), limits.cron.promptMs);
        waits.end(run);
      },
    });
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
  }
}

/** Looks now and then whether a turn moves. One that cannot be asked about is not idle: whoever waits for it has a patience of its own. */
function watchTurn(agent: Client, key: string, { onMoved, onIdle }: { onMoved(): void; onIdle(): void }): NodeJS.Timeout {
  let seen: number | null = null;
  let movedAt = performance.now();
  const look = async () => {
    const steps = await agent.call(turnProgress, { idempotency_key: key }).then(
      (answer) => answer.steps,
      () => null,
    );
    if (steps === null || steps !== seen) {
      if (steps !== null) onMoved();
      [seen, movedAt] = [steps, performance.now()];
    } else if (performance.now() - movedAt >= limits.cron.runIdleMs) onIdle();
  };
  return setInterval(() => void look(), limits.cron.turnLookMs).unref();
}

function resultOf(outcome: TurnOutcome): Result {
  if (outcome.status === 'complete') return { status: 'ok', error: null, output: outcome.text, message: deliverable(outcome.text) };
  const { code, message, fix } = outcome.error ?? { code: 'CANCELLED', message: 'the turn was interrupted', fix: null };
  return { status: 'error', error: fix ? `${message} — ${fix}` : message, output: outcome.text, message: undefined, code };
}

/** Last non-empty line of a script's output is `{"wakeAgent": false}`: no model call, no delivery. */
export function wakesAgent(stdout: string): boolean {
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  try {
    return (JSON.parse(last) as { wakeAgent?: unknown } | null)?.wakeAgent !== false;
  } catch {
    return true;
  }
}

/** `[SILENT]` anywhere in the answer keeps it out of the chat. */
export const deliverable = (text: string): string | undefined =>
  text.trim() === '' || text.includes('[SILENT]') ? undefined : text.trim();

function failureOf(thrown: unknown): Result {
  const { code, fix } = isAgentError(thrown) ? thrown : {};
  return {
    status: 'error',
    error: `${messageOf(thrown)}${fix ? ` — ${fix}` : ''}`,
    output: '',
    message: undefined,
    ...(code ? { code } : {}),
  };
}

/** The end of a run, its output file and its delivery; the last two are stored before anything is sent. */
function finish({ context, store, handover }: RunnerParts, { run, job }: Pick<Work, 'run' | 'job'>, result: Result): void {
  const atMs = Date.now();
  context.progress();
  const before = store.job(job.id);
  const message = result.status === 'ok' ? result.message : failureNotice(before, result);
  const targets = message === undefined ? [] : splitTargets(job.deliver);
  const outputPath = before ? saveOutput(context, { run, job, result, atMs }) : null;
  store.transact(() => {
    store.endRun(run.execution_id, {
      status: result.status,
      atMs,
      error: result.error,
      outputPath,
      delivery: targets.length > 0 ? 'queued' : 'none',
    });
    for (const [n, target] of targets.entries()) {
      const text = wrapped(context, job.name, message!);
      store.insertDelivery({
        execution_id: run.execution_id,
        n,
        job_id: job.id,
        target,
        text,
        tries: 0,
        next_try_at: atMs,
        expires_at: atMs + limits.gateway.deliveryFreshMs,
      });
    }
    const lastStatus = result.status === 'ok' ? 'ok' : result.code === 'NO_PROVIDER' ? 'blocked_config' : 'error';
    store.setResult(job.id, { atMs, status: lastStatus, error: result.error });
    completeIfSpent(store, job.id);
  });
  const log = result.status === 'ok' ? context.log.info : context.log.warn;
  log(`${job.name}: run ended ${result.status}${result.error ? `: ${result.error}` : ''}`, {
    job_id: job.id,
    execution_id: run.execution_id,
  });
  if (targets.length > 0) handover.wake();
}

/** The chat hears of the first failure in a row, not of each. */
function failureNotice(job: JobRow | undefined, { error }: Result): string | undefined {
  const again = job?.lastStatus === 'error' || job?.lastStatus === 'blocked_config';
  return again ? undefined : `the job failed: ${error}`;
}

function wrapped(context: WorkerContext, name: string, message: string): string {
  const text =
    message.length > limits.cron.deliveryMaxChars
      ? `${message.slice(0, limits.cron.deliveryMaxChars)}\n… (the output file holds all of it)`
      : message;
  if (context.config().config.cron?.wrap_response === false) return text;
  return text.includes('\n') ? `[${name}]\n${text}` : `[${name}] ${text}`;
}

/** No occurrence is left: the job is complete. */
function completeIfSpent(store: CronStore, jobId: string): void {
  const job = store.job(jobId);
  if (job?.enabled && job.nextRunMs === null) store.setEnabled(jobId, false, null);
}

function saveOutput(
  context: WorkerContext,
  { run, job, result, atMs }: { run: RunRow; job: JobRow; result: Result; atMs: number },
): string | null {
  try {
    return writeOutput(context.paths, {
      run,
      job,
      endedMs: atMs,
      status: result.status,
      error: result.error,
      text: context.redact(result.output),
    });
  } catch (thrown) {
    // The run itself is worth more than its file.
    context.log.error(`${job.name}: the output file could not be written: ${messageOf(thrown)}`);
    return null;
  }
}
