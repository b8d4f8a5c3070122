/** Rows of cron.db in the words of the contract. */
import type { Job, Run } from '../../ipc/contracts/cron.ts';
import type { JobRow, RunRow } from './store.ts';

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

export function jobView(job: JobRow, isBusy: boolean): Job {
  const { schedule } = job;
  return {
    id: job.id,
    name: job.name,
    prompt: job.prompt,
    script: job.script,
    schedule: {
      kind: schedule.kind,
      expr: schedule.expr,
      interval_ms: schedule.intervalMs,
      run_at: iso(schedule.runAtMs),
      display: schedule.display,
      timezone: schedule.zone,
    },
    deliver: job.deliver,
    enabled: job.enabled,
    state: stateOf(job, isBusy),
    repeat: { times: job.repeatTimes, completed: job.repeatCompleted },
    next_run_at: iso(job.nextRunMs),
    last_run_at: iso(job.lastRunMs),
    last_status: job.lastStatus,
    last_error: job.lastError,
    created_at: iso(job.createdMs)!,
  };
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
  status: run.status,
  started_at: iso(run.started_at),
  ended_at: iso(run.ended_at),
  error: run.error,
  output_path: run.output_path,
  delivery: run.delivery,
});
