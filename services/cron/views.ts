/** Rows of cron.db in the words of the contract. */
import { limits } from '../../base/limits.ts';
import type { Job, Run, Schedule as ScheduleView } from '../../ipc/contracts/cron.ts';
import { DEFAULT_PROFILE } from '../../state/home.ts';
import type { Desk } from './desk.ts';
import { nextAfter, type Schedule } from './schedule.ts';
import type { JobRow, RunRow } from './store.ts';
import { scheduleInWords } from './words.ts';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

export function jobView({ context: { profile, paths }, runner }: Pick<Desk, 'context' | 'runner'>, job: JobRow): Job {
  return {
    id: job.id,
    profile,
    profile_name: profile,
    agent_home: paths.dir,
    is_default_profile: profile === DEFAULT_PROFILE,
    name: job.name,
    prompt: job.prompt,
    script: job.script,
    no_agent: job.prompt === null,
    schedule: scheduleView(job.schedule),
    schedule_display: job.schedule.display,
    deliver: job.deliver,
    created_by: job.createdBy,
    enabled: job.enabled,
    state: stateOf(job, runner.isBusy(job.id)),
    repeat: { times: job.repeatTimes, completed: job.repeatCompleted },
    next_run_at: iso(job.nextRunMs),
    last_run_at: iso(job.lastRunMs),
    last_status: job.lastStatus,
    last_error: job.lastError,
    last_delivery_error: job.lastStatus === 'delivery_failed' ? job.lastError : null,
    created_at: iso(job.createdMs)!,
  };
}

const scheduleView = (schedule: Schedule): ScheduleView => ({
  kind: schedule.kind,
  expr: schedule.expr,
  interval_ms: schedule.intervalMs,
  run_at: iso(schedule.runAtMs),
  display: schedule.display,
  words: scheduleInWords(schedule),
  timezone: schedule.zone,
});

/** The schedule in words, and its first runs after `nowMs`. */
export function previewView(schedule: Schedule, nowMs: number): { schedule: ScheduleView; next: string[] } {
  const next: string[] = [];
  for (let at = nextAfter(schedule, nowMs); at !== undefined && next.length < limits.cron.previewRuns; at = nextAfter(schedule, at)) {
    next.push(iso(at)!);
  }
  return { schedule: scheduleView(schedule), next };
}

function stateOf(job: JobRow, isBusy: boolean): Job['state'] {
  if (isBusy) return 'running';
  if (job.enabled) return 'scheduled';
  return job.nextRunMs === null ? 'completed' : 'paused';
}

export const runView = (run: RunRow): Run => ({
  execution_id: run.execution_id,
  job_id: run.job_id,
  scheduled_instant: iso(run.scheduled_instant),
  trigger: run.trigger,
  // The error of an open run is what it waits for.
  status: run.status === 'running' && run.error !== null ? 'waiting' : run.status,
  started_at: iso(run.started_at),
  ended_at: iso(run.ended_at),
  error: run.error,
  output_path: run.output_path,
  delivery: run.delivery,
});
