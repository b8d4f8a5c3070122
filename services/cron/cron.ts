/**
 * The cron worker from top to bottom: open the desk of each profile, take up what an earlier incarnation
 * left, claim what is due, run it, hand the results to the gateway. Other workers and the commands only ask.
 */
import { AgentError } from '../../base/errors.ts';
import { coalesced } from '../../base/coalesce.ts';
import { limits } from '../../base/limits.ts';
import * as contract from '../../ipc/contracts/cron.ts';
import { handle, type Handler } from '../../ipc/link.ts';
import type { ParamsOf } from '../../ipc/method.ts';
import { isPaused, resumeAdvice } from '../../state/pause.ts';
import type { WorkerContext, WorkerService } from '../worker.ts';
import { blueprintViews, filledFor, makeFromBlueprint } from './blueprints.ts';
import { calendarOf } from './calendar.ts';
import { claimOutside } from './claims.ts';
import { createDesks, type Desk, type Desks } from './desk.ts';
import { createJob, readSchedule, removeJob, requireJob, resumeJob, updateJob, zoneOf } from './jobs.ts';
import { readOutput } from './output.ts';
import type { Runner } from './runner.ts';
import type { JobRow } from './store.ts';
import { jobView, previewView, runView } from './views.ts';

export async function startCron(context: WorkerContext): Promise<WorkerService> {
  const tellFacts = coalesced(() => context.reportFacts(facts()));
  const desks = createDesks(context, tellFacts);
  const sum = (of: (desk: Desk) => number) => desks.all().reduce((total, desk) => total + of(desk), 0);
  const facts = () => ({
    jobs: sum(({ store }) => store.countJobs()),
    running: sum(({ runner }) => runner.active().length),
    held: sum(({ scheduler }) => scheduler.held()),
    waiting: desks.all().flatMap(({ runner }) => runner.held()),
  });
  const pruning = setInterval(() => {
    desks.look();
    desks.all().forEach((desk) => desk.prune());
  }, limits.gateway.pruneMs).unref();

  return {
    handlers: handlers(desks, tellFacts),
    active: () => desks.all().flatMap(({ runner }) => runner.active()),
    facts,
    started() {
      // Only now: the socket proves that no other cron worker of this home is alive.
      desks.start();
      tellFacts();
    },
    async drain(signal) {
      const drained = desks.all().map(({ scheduler, runner }) => {
        scheduler[Symbol.dispose]();
        return runner.drain(signal);
      });
      const interrupted = (await Promise.all(drained)).reduce((total, one) => total + one.interrupted, 0);
      return { interrupted };
    },
    async [Symbol.asyncDispose]() {
      clearInterval(pruning);
      tellFacts.cancel();
      await desks[Symbol.asyncDispose]();
    },
  };
}

function handlers(desks: Desks, changed: () => void): Handler[] {
  const view = (desk: Desk, id: string) => ({ job: jobView(desk, desk.store.job(id)!) });
  /** Finds the job, does `work`, and answers the job as it is afterwards. */
  const change = (params: { job_id: string; profile: string; created_by?: string | null }, work: (desk: Desk, job: JobRow) => void) => {
    const desk = desks.of(params.profile);
    const job = requireJob(desk.store, params.job_id, params.created_by);
    work(desk, job);
    return moved(desk, job.id);
  };
  const moved = (desk: Desk, id: string) => {
    desk.scheduler.wake();
    changed();
    return view(desk, id);
  };
  return [
    handle(contract.createJob, ({ profile, ...params }) => {
      const desk = desks.of(profile);
      return moved(desk, createJob(desk, params));
    }),
    handle(contract.updateJob, (params) => change(params, (desk, job) => updateJob(desk, job, params.updates))),
    handle(contract.listJobs, ({ all, profile, every_profile, created_by }) => ({
      jobs: (every_profile ? desks.all() : [desks.of(profile)]).flatMap((desk) =>
        desk.store
          .jobs(all)
          .filter(({ createdBy }) => created_by === null || createdBy === created_by)
          .map((job) => jobView(desk, job)),
      ),
    })),
    handle(contract.getJob, ({ job_id, profile, created_by }) => {
      const desk = desks.of(profile);
      return view(desk, requireJob(desk.store, job_id, created_by).id);
    }),
    handle(contract.listRuns, ({ job_id, limit, profile }) => {
      const { store } = desks.of(profile);
      const jobId = job_id === undefined ? undefined : requireJob(store, job_id).id;
      return { runs: store.runs({ jobId, limit }).map(runView) };
    }),
    handle(contract.runOutput, ({ execution_id, profile }) => {
      const { store, context } = desks.of(profile);
      const run = store.run(execution_id);
      if (!run) throw new AgentError('NOT_FOUND', `there is no run ${execution_id}`, { fix: '`agent cron runs` lists them' });
      return { run: runView(run), ...readOutput(context.paths, run) };
    }),
    handle(contract.removeJob, ({ job_id, profile, created_by }) => {
      const desk = desks.of(profile);
      const job = requireJob(desk.store, job_id, created_by);
      const answer = view(desk, job.id);
      removeJob(desk, job);
      desk.scheduler.wake();
      changed();
      return answer;
    }),
    handle(contract.pauseJob, (params) =>
      change(params, ({ store }, job) => job.enabled && store.setEnabled(job.id, false, job.nextRunMs)),
    ),
    handle(contract.resumeJob, (params) => change(params, ({ store }, job) => resumeJob(store, job))),
    handle(contract.runJob, ({ job_id, profile, created_by }) => {
      const { store, runner, context } = desks.of(profile);
      const job = requireJob(store, job_id, created_by);
      refuseWhilePaused(context);
      refuseOverload(runner, job);
      const { executionId } = claimOutside(store, { job, trigger: 'manual', nowMs: Date.now() });
      runner.add([executionId!]);
      return { execution_id: executionId! };
    }),
    handle(contract.claimJob, (params) => {
      const answer = claimForFire(deskOfJob(desks, params.job_id), params);
      if (answer.claimed) changed();
      return answer;
    }),
    handle(contract.previewSchedule, ({ schedule, timezone, profile }) =>
      previewView(readSchedule(desks.of(profile), schedule, timezone), Date.now()),
    ),
    handle(contract.calendar, ({ from, to, profile, every_profile }) => {
      const shown = every_profile ? desks.all() : [desks.of(profile)];
      const jobs = shown.flatMap(({ store, context }) => store.jobs(false).map((job) => ({ profile: context.profile, job })));
      return { ...calendarOf(jobs, { fromMs: Date.parse(from), toMs: Date.parse(to), nowMs: Date.now() }), timezone: zoneOf(shown[0]!) };
    }),
    handle(contract.listBlueprints, () => ({ blueprints: blueprintViews() })),
    handle(contract.previewBlueprint, ({ blueprint, values, profile, created_by }) => {
      const { name, schedule, prompt, script, deliver } = filledFor(desks.of(profile), blueprint, values, created_by);
      const { timezone } = schedule;
      const read = readSchedule(desks.of(profile), schedule.text, timezone);
      return { ...previewView(read, Date.now()), name, prompt, script: script?.text ?? null, deliver };
    }),
    handle(contract.instantiateBlueprint, ({ blueprint, values, profile, created_by }) => {
      const desk = desks.of(profile);
      return moved(desk, makeFromBlueprint(desk, blueprint, values, created_by));
    }),
  ];
}

/** An outside scheduler knows the id of a job, not its profile. */
function deskOfJob(desks: Desks, jobId: string): Desk {
  const [first, ...others] = desks.all();
  return [first!, ...others].find(({ store }) => store.job(jobId.trim()) !== undefined) ?? first!;
}

function claimForFire(
  { context, store, runner, scheduler }: Desk,
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
    runner.add([executionId!]);
    scheduler.wake();
  }
  return { claimed, execution_id: executionId };
}

function refuseWhilePaused({ home, profile }: WorkerContext): void {
  if (!isPaused(home, 'cron', profile)) return;
  throw new AgentError('PAUSED', 'automation is paused, nothing was claimed', {
    fix: resumeAdvice(home, 'cron', profile),
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
