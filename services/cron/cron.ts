/**
 * The cron worker from top to bottom: open cron.db, take up what an earlier incarnation left, claim
 * what is due, run it, hand the results to the gateway. Other workers and the commands only ask.
 */
import { AgentError, messageOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { coalesced } from '../../base/coalesce.ts';
import { limits } from '../../base/limits.ts';
import * as contract from '../../ipc/contracts/cron.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import type { InputOf, ParamsOf } from '../../ipc/method.ts';
import { isPaused } from '../../state/pause.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import { claimOutside } from './claims.ts';
import { createHandover } from './handover.ts';
import { jobView, runView } from './views.ts';
import { pruneOutput } from './output.ts';
import { createRunner, type Runner } from './runner.ts';
import { nextAfter, parseSchedule } from './schedule.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { scriptPath } from './script.ts';
import { openCronStore, type CronStore, type JobRow } from './store.ts';
import { systemZone } from './wallClock.ts';

export async function startCron(context: WorkerContext): Promise<WorkerService> {
  const store = openCronStore(context.paths.cronDb);
  const handover = createHandover(context, store);
  const tellFacts = coalesced(() => context.reportFacts(facts()));
  const runner = createRunner({ context, store, handover, onChange: tellFacts });
  const scheduler = createScheduler({
    context,
    store,
    isBusy: runner.isBusy,
    onClaimed: (ids) => ids.forEach(runner.add),
    onHeld: tellFacts,
  });
  const facts = () => ({ jobs: store.countJobs(), running: runner.active().length, held: scheduler.held() });
  const prune = () => {
    store.prune();
    pruneOutput(context.paths, (id) => store.job(id) !== undefined);
  };
  const pruning = setInterval(prune, limits.gateway.pruneMs).unref();

  return {
    handlers: handlers({ context, store, runner, scheduler, changed: tellFacts }),
    active: runner.active,
    facts,
    started() {
      prune();
      // Only now: the socket proves that no other cron worker of this home is alive.
      void runner
        .recover()
        .then(scheduler.wake, (thrown: unknown) => context.log.error(`open runs could not be taken up: ${messageOf(thrown)}`));
      handover.wake();
      tellFacts();
    },
    async drain(signal) {
      scheduler[Symbol.dispose]();
      return runner.drain(signal);
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pruning);
      tellFacts.cancel();
      scheduler[Symbol.dispose]();
      handover[Symbol.dispose]();
      store[Symbol.dispose]();
    },
  };
}

interface Parts {
  context: WorkerContext;
  store: CronStore;
  runner: Runner;
  scheduler: Scheduler;
  changed(): void;
}

function handlers(parts: Parts): Handler[] {
  const { context, store, runner, scheduler } = parts;
  const view = (job: JobRow) => ({ job: jobView(job, runner.isBusy(job.id)) });
  const changedJob = (id: string) => {
    scheduler.wake();
    parts.changed();
    return view(store.job(id)!);
  };
  return [
    handle(contract.createJob, (params) => changedJob(createJob(parts, params))),
    handle(contract.listJobs, ({ all }) => ({ jobs: store.jobs(all).map((job) => jobView(job, runner.isBusy(job.id))) })),
    handle(contract.listRuns, ({ job_id, limit }) => {
      const jobId = job_id === undefined ? undefined : requireJob(store, job_id).id;
      return { runs: store.runs({ jobId, limit }).map(runView) };
    }),
    handle(contract.removeJob, ({ job_id }) => {
      const job = requireJob(store, job_id);
      const answer = view(job);
      store.transact(() => store.removeJob(job.id));
      scheduler.wake();
      parts.changed();
      return answer;
    }),
    handle(contract.pauseJob, ({ job_id }) => {
      const job = requireJob(store, job_id);
      if (job.enabled) store.setEnabled(job.id, false, job.nextRunMs);
      return changedJob(job.id);
    }),
    handle(contract.resumeJob, ({ job_id }) => changedJob(resumeJob(store, requireJob(store, job_id)))),
    handle(contract.runJob, ({ job_id }) => {
      const job = requireJob(store, job_id);
      refuseWhilePaused(context);
      refuseOverload(runner, job);
      const { executionId } = claimOutside(store, { job, trigger: 'manual', nowMs: Date.now() });
      runner.add(executionId!);
      return { execution_id: executionId! };
    }),
    handle(contract.claimJob, (params) => claimForFire(parts, params)),
  ];
}

function createJob({ context, store }: Parts, params: ParamsOf<typeof contract.createJob> & InputOf<typeof contract.createJob>): string {
  const { prompt, script } = params;
  if (prompt === null && script === null) {
    throw new AgentError('INVALID_PARAMS', 'a job needs a prompt, a script or both', {
      field: 'prompt',
      fix: 'give a text, or --script FILE',
    });
  }
  if (script !== null) scriptPath(context.paths, script);
  checkDeliver(params.deliver);
  if (store.countJobs() >= limits.cron.jobsMax) {
    throw new AgentError('QUEUE_FULL', `there are ${limits.cron.jobsMax} jobs already`, {
      fix: 'remove some with `agent cron remove <id>`',
    });
  }
  const nowMs = Date.now();
  const zone = params.timezone ?? context.config().config.timezone ?? systemZone();
  const schedule = parseSchedule(params.schedule, { nowMs, zone });
  const id = hexId(12);
  store.insertJob({
    id,
    name: params.name?.trim() || nameOf(prompt ?? script!),
    prompt,
    script,
    schedule,
    deliver: params.deliver.trim() || 'local',
    enabled: true,
    repeatTimes: params.repeat ?? (schedule.kind === 'once' ? 1 : null),
    repeatCompleted: 0,
    nextRunMs: nextAfter(schedule, nowMs) ?? null,
    lastRunMs: null,
    lastStatus: null,
    lastError: null,
    createdMs: nowMs,
  });
  return id;
}

/** First words of what the job does. */
function nameOf(text: string): string {
  const line = text.trim().split('\n')[0]!;
  return line.length <= NAME_MAX_CHARS ? line : `${line.slice(0, NAME_MAX_CHARS - 1).trimEnd()}…`;
}

const NAME_MAX_CHARS = 40;

const TARGET = /^[a-z][a-z0-9_-]*(:[^\s,]+)?$/i;

/** The shape alone: whether a platform answers to it is the gateway's to say, at the time of the run. */
function checkDeliver(deliver: string): void {
  for (const target of deliver.split(',').map((part) => part.trim())) {
    if (!TARGET.test(target)) {
      throw new AgentError('INVALID_PARAMS', `"${target}" is no delivery target`, {
        field: 'deliver',
        fix: 'write local, origin, <platform>, <platform>:<chat> or <platform>:<chat>:<thread>; several with commas',
      });
    }
  }
}

function resumeJob(store: CronStore, job: JobRow): string {
  if (job.enabled) return job.id;
  // A recurring job keeps its past instant, so that one late or catch-up run follows (reference 6.3).
  const next = job.nextRunMs ?? nextAfter(job.schedule, Date.now());
  const spent = job.repeatTimes !== null && job.repeatCompleted >= job.repeatTimes;
  if (next === undefined || spent) {
    throw new AgentError('INVALID_PARAMS', `${job.name} has completed; no run is left`, { field: 'job_id', fix: 'create a new job' });
  }
  store.setEnabled(job.id, true, next);
  return job.id;
}

function claimForFire(
  { context, store, runner, scheduler, changed }: Parts,
  params: ParamsOf<typeof contract.claimJob>,
): { claimed: boolean; execution_id: string | null } {
  const job = requireJob(store, params.job_id);
  refuseWhilePaused(context);
  const scheduledMs = params.scheduled_at === undefined ? undefined : Date.parse(params.scheduled_at);
  if (Number.isNaN(scheduledMs)) {
    throw new AgentError('INVALID_PARAMS', `"${params.scheduled_at}" is no instant`, {
      field: 'scheduled_at',
      fix: 'write it like 2026-12-24T18:00:00Z',
    });
  }
  if (!job.enabled) return { claimed: false, execution_id: null };
  refuseOverload(runner, job);
  const { claimed, executionId } = claimOutside(store, {
    job,
    scheduledMs,
    key: params.idempotency_key,
    trigger: 'fire',
    nowMs: Date.now(),
  });
  if (claimed) {
    runner.add(executionId!);
    scheduler.wake();
    changed();
  }
  return { claimed, execution_id: executionId };
}

function refuseWhilePaused({ home, profile }: WorkerContext): void {
  if (!isPaused(home, 'cron', profile)) return;
  throw new AgentError('PAUSED', 'automation is paused, nothing was claimed', {
    fix: '`agent resume` lifts the pause',
    retryAfterMs: limits.cron.pausedRetrySeconds * 1_000,
  });
}

function refuseOverload(runner: Runner, job: JobRow): void {
  if (runner.waiting(job.id) < limits.cron.queuedPerJobMax) return;
  throw new AgentError('QUEUE_FULL', `${limits.cron.queuedPerJobMax} runs of ${job.name} wait already`, {
    retryAfterMs: 60_000,
    fix: 'wait until they have run',
  });
}

/** By exact name, full id, or the unique beginning of an id. */
function requireJob(store: CronStore, text: string): JobRow {
  const found = text.trim() === '' ? [] : store.findJobs(text.trim());
  const exact = found.filter((job) => job.id === text.trim() || job.name === text.trim());
  const [job, another] = exact.length > 0 ? exact : found;
  if (!job) throw new AgentError('UNKNOWN_JOB', `there is no job "${text}"`, { fix: '`agent cron list` shows the jobs and their ids' });
  if (another && job.id !== text.trim()) {
    throw new AgentError('UNKNOWN_JOB', `"${text}" means more than one job: ${found.map(({ id, name }) => `${id} (${name})`).join(', ')}`, {
      fix: 'write the id',
    });
  }
  return job;
}
