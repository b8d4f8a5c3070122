/** What others ask of the cron worker (contract §10, reference/daemon §6). */
import { z } from 'zod';
import { method } from '../method.ts';

export const Schedule = z.object({
  kind: z.enum(['once', 'interval', 'cron']),
  /** Cron expression, or null. */
  expr: z.string().nullable(),
  interval_ms: z.number().nullable(),
  run_at: z.string().nullable(),
  /** As the user wrote it. */
  display: z.string(),
  timezone: z.string().nullable(),
});

export const Job = z.object({
  id: z.string(),
  name: z.string(),
  prompt: z.string().nullable(),
  /** File in `scripts/` that is the whole job. */
  script: z.string().nullable(),
  schedule: Schedule,
  deliver: z.string(),
  enabled: z.boolean(),
  state: z.enum(['scheduled', 'paused', 'running', 'completed']),
  repeat: z.object({ times: z.number().nullable(), completed: z.number() }),
  next_run_at: z.string().nullable(),
  last_run_at: z.string().nullable(),
  last_status: z.enum(['ok', 'error', 'delivery_failed', 'blocked_config']).nullable(),
  last_error: z.string().nullable(),
  created_at: z.string(),
});
export type Job = z.infer<typeof Job>;

export const Run = z.object({
  execution_id: z.string(),
  job_id: z.string(),
  scheduled_instant: z.string().nullable(),
  trigger: z.enum(['on_time', 'late', 'catch_up', 'manual', 'fire']),
  status: z.enum(['claimed', 'running', 'ok', 'error', 'skipped', 'unknown']),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  error: z.string().nullable(),
  output_path: z.string().nullable(),
  delivery: z.enum(['none', 'queued', 'accepted', 'failed']),
});
export type Run = z.infer<typeof Run>;

/** Errors: BAD_SCHEDULE, INVALID_PARAMS, QUEUE_FULL. */
export const createJob = method('cron.create', {
  params: z.object({
    schedule: z.string(),
    prompt: z.string().nullable().default(null),
    script: z.string().nullable().default(null),
    name: z.string().optional(),
    deliver: z.string().default('local'),
    repeat: z.number().int().min(1).optional(),
    timezone: z.string().optional(),
  }),
  result: z.object({ job: Job }),
});

export const listJobs = method('cron.list', {
  params: z.object({ all: z.boolean().default(true) }),
  result: z.object({ jobs: z.array(Job) }),
});
export const listRuns = method('cron.runs', {
  params: z.object({ job_id: z.string().optional(), limit: z.number().int().min(1).max(1_000).default(50) }),
  result: z.object({ runs: z.array(Run) }),
});

const JobId = z.object({ job_id: z.string() });
/** Errors of all: UNKNOWN_JOB. An id may be shortened to a unique beginning, or be the exact name. */
export const removeJob = method('cron.remove', { params: JobId, result: z.object({ job: Job }) });
export const pauseJob = method('cron.pause', { params: JobId, result: z.object({ job: Job }) });
export const resumeJob = method('cron.resume', { params: JobId, result: z.object({ job: Job }) });
/** Runs it now, off its schedule. Errors: UNKNOWN_JOB, PAUSED. */
export const runJob = method('cron.run', { params: JobId, result: z.object({ execution_id: z.string() }) });

/**
 * Claims one occurrence for an outside trigger (`POST /api/cron/fire`) and runs it. One transaction, unique on
 * `(job_id, scheduled_instant)`. Errors: UNKNOWN_JOB, PAUSED (retryAfterMs).
 */
export const claimJob = method('cron.claim', {
  params: z.object({ job_id: z.string(), scheduled_at: z.string().optional(), idempotency_key: z.string().optional() }),
  result: z.object({ claimed: z.boolean(), execution_id: z.string().nullable() }),
});
