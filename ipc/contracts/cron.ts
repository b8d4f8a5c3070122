/** What others ask of the cron worker (contract §10, reference/daemon §6). Each method is about the jobs of one profile. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { method } from '../method.ts';

export const Schedule = z.object({
  kind: z.enum(['once', 'interval', 'cron']),
  /** Cron expression, or null. */
  expr: z.string().nullable(),
  interval_ms: z.number().nullable(),
  run_at: z.string().nullable(),
  /** As the user wrote it. */
  display: z.string(),
  /** For people: `Monday to Friday at 09:00`. */
  words: z.string(),
  timezone: z.string().nullable(),
});
export type Schedule = z.infer<typeof Schedule>;

/** The fields of reference/clients §1.4 that this service has, and a few of its own. */
export const Job = z.object({
  id: z.string(),
  profile: z.string(),
  profile_name: z.string(),
  agent_home: z.string(),
  is_default_profile: z.boolean(),
  name: z.string(),
  prompt: z.string().nullable(),
  /** File in `scripts/` that is the whole job, or comes before the prompt. */
  script: z.string().nullable(),
  /** No model is asked. */
  no_agent: z.boolean(),
  schedule: Schedule,
  schedule_display: z.string(),
  deliver: z.string(),
  /** The chat it was made from, as the agent worker encodes it; null = the owner. */
  created_by: z.string().nullable(),
  enabled: z.boolean(),
  state: z.enum(['scheduled', 'paused', 'running', 'completed']),
  repeat: z.object({ times: z.number().nullable(), completed: z.number() }),
  next_run_at: z.string().nullable(),
  last_run_at: z.string().nullable(),
  last_status: z.enum(['ok', 'error', 'delivery_failed', 'blocked_config']).nullable(),
  last_error: z.string().nullable(),
  last_delivery_error: z.string().nullable(),
  created_at: z.string(),
});
export type Job = z.infer<typeof Job>;

export const Run = z.object({
  execution_id: z.string(),
  job_id: z.string(),
  scheduled_instant: z.string().nullable(),
  trigger: z.enum(['on_time', 'late', 'catch_up', 'manual', 'fire']),
  /** `waiting`: it is kept until the agent can take it; `error` says why it cannot. */
  status: z.enum(['claimed', 'running', 'waiting', 'ok', 'error', 'skipped', 'unknown']),
  started_at: z.string().nullable(),
  ended_at: z.string().nullable(),
  error: z.string().nullable(),
  output_path: z.string().nullable(),
  delivery: z.enum(['none', 'queued', 'accepted', 'failed']),
});
export type Run = z.infer<typeof Run>;

const profile = z.string().default('default');
/** Only what this principal made; null = all. */
const created_by = z.string().max(1_000).nullable().default(null);
const Text = (max: number) => z.string().max(max);
const Zone = Text(100);

/** What a job is made of. Limits: 20,000 characters of prompt, 500 of anything else. */
export const JobParts = z.strictObject({
  schedule: Text(limits.cron.fieldMaxChars),
  prompt: Text(limits.cron.promptMaxChars).nullable(),
  script: Text(limits.cron.fieldMaxChars).nullable(),
  name: Text(limits.cron.nameMaxChars),
  deliver: Text(limits.cron.fieldMaxChars),
  /** Runs until it is complete; null = for ever. */
  repeat: z.number().int().min(1).max(1_000_000).nullable(),
  timezone: Zone,
});

/** Errors: BAD_SCHEDULE, INVALID_PARAMS (field), QUEUE_FULL, UNKNOWN_PROFILE. */
export const createJob = method('cron.create', {
  params: z.object({
    schedule: JobParts.shape.schedule,
    prompt: JobParts.shape.prompt.default(null),
    script: JobParts.shape.script.default(null),
    name: JobParts.shape.name.optional(),
    deliver: JobParts.shape.deliver.default('local'),
    repeat: JobParts.shape.repeat.optional(),
    timezone: Zone.optional(),
    profile,
    created_by,
  }),
  result: z.object({ job: Job }),
});

/**
 * Changes what is given and leaves the rest. A new schedule or zone starts counting now, and wakes a job that had
 * completed; a paused one stays paused. Errors: UNKNOWN_JOB, BAD_SCHEDULE, INVALID_PARAMS (field).
 */
export const updateJob = method('cron.update', {
  params: z.object({ job_id: z.string(), updates: JobParts.partial(), profile }),
  result: z.object({ job: Job }),
});

/** `every_profile`: the jobs of all profiles together. */
export const listJobs = method('cron.list', {
  params: z.object({ all: z.boolean().default(true), profile, every_profile: z.boolean().default(false), created_by }),
  result: z.object({ jobs: z.array(Job) }),
});

export const listRuns = method('cron.runs', {
  params: z.object({ job_id: z.string().optional(), limit: z.number().int().min(1).max(1_000).default(50), profile }),
  result: z.object({ runs: z.array(Run) }),
});

/** What a run has written down; the first 256 KiB of it. Errors: NOT_FOUND. */
export const runOutput = method('cron.output', {
  params: z.object({ execution_id: z.string(), profile }),
  result: z.object({ run: Run, text: z.string(), truncated: z.boolean() }),
});

const JobId = z.object({ job_id: z.string(), profile, created_by });
/** Errors of all: UNKNOWN_JOB. An id may be shortened to a unique beginning, or be the exact name. */
export const getJob = method('cron.get', { params: JobId, result: z.object({ job: Job }) });
export const removeJob = method('cron.remove', { params: JobId, result: z.object({ job: Job }) });
export const pauseJob = method('cron.pause', { params: JobId, result: z.object({ job: Job }) });
export const resumeJob = method('cron.resume', { params: JobId, result: z.object({ job: Job }) });
/** Runs it now, off its schedule. Errors: UNKNOWN_JOB, PAUSED. */
export const runJob = method('cron.run', { params: JobId, result: z.object({ execution_id: z.string() }) });

/**
 * Claims one occurrence for an outside trigger (`POST /api/cron/fire`) and runs it. One transaction, unique on
 * `(job_id, scheduled_instant)`. The job may be of any profile. Errors: UNKNOWN_JOB, PAUSED (retryAfterMs).
 */
export const claimJob = method('cron.claim', {
  params: z.object({ job_id: z.string(), scheduled_at: z.string().optional(), idempotency_key: z.string().optional() }),
  result: z.object({ claimed: z.boolean(), execution_id: z.string().nullable() }),
});

/** What a schedule would do, before there is a job. Errors: BAD_SCHEDULE. */
export const Preview = z.object({ schedule: Schedule, next: z.array(z.string()) });
export const previewSchedule = method('cron.preview', {
  params: z.object({ schedule: JobParts.shape.schedule, timezone: Zone.optional(), profile }),
  result: Preview,
});

export const Occurrence = z.object({ job_id: z.string(), profile: z.string(), name: z.string(), at: z.string() });
export type Occurrence = z.infer<typeof Occurrence>;

/**
 * Next runs from `from` (not before now) until `to`, at most 62 days on. Jobs that run many times a day are named in
 * `often` instead. `truncated`: there is more than is answered. Errors: INVALID_PARAMS (field).
 */
export const calendar = method('cron.calendar', {
  params: z.object({
    from: z.iso.datetime({ offset: true }),
    to: z.iso.datetime({ offset: true }),
    profile,
    every_profile: z.boolean().default(false),
  }),
  result: z.object({
    runs: z.array(Occurrence),
    often: z.array(Occurrence.extend({ words: z.string() })),
    truncated: z.boolean(),
    timezone: z.string(),
  }),
});

export const BlueprintField = z.object({
  name: z.string(),
  type: z.enum(['time', 'enum', 'text', 'weekdays']),
  label: z.string(),
  help: z.string().nullable(),
  /** Null = has to be given, unless `optional`. */
  default: z.string().nullable(),
  optional: z.boolean(),
  /** Nothing but the options is taken; of weekdays any days are, with commas. */
  strict: z.boolean(),
  options: z.array(z.object({ value: z.string(), label: z.string() })),
  /** Of a text that is a whole number; null = it is none. */
  min: z.number().nullable(),
  max: z.number().nullable(),
  /** Of a text: several lines are usual. */
  long: z.boolean(),
});
export type BlueprintField = z.infer<typeof BlueprintField>;

/** reference/clients §1.4. */
export const Blueprint = z.object({
  key: z.string(),
  title: z.string(),
  description: z.string(),
  category: z.string(),
  tags: z.array(z.string()),
  /** Whether each run asks the model. */
  uses_model: z.boolean(),
  fields: z.array(BlueprintField),
  /** The same on a command line. */
  command: z.string(),
  appUrl: z.string(),
});
export type Blueprint = z.infer<typeof Blueprint>;

export const listBlueprints = method('cron.blueprints', { params: z.object({}), result: z.object({ blueprints: z.array(Blueprint) }) });

/** By field name; numbers may come as numbers. */
export const BlueprintValues = z.record(z.string().max(100), z.union([z.string().max(limits.cron.promptMaxChars), z.number()]));
const Filled = z.object({ blueprint: z.string().max(100), values: BlueprintValues.default({}), profile, created_by });

/** What the filled blueprint would do; makes nothing. Errors: as `instantiateBlueprint`. */
export const previewBlueprint = method('cron.blueprints.preview', {
  params: Filled,
  result: Preview.extend({ name: z.string(), prompt: z.string().nullable(), script: z.string().nullable(), deliver: z.string() }),
});

/** Makes the job. Errors: NOT_FOUND (no such blueprint), INVALID_PARAMS (`facts.errors`: each wrong field with its path), as cron.create. */
export const instantiateBlueprint = method('cron.blueprints.instantiate', { params: Filled, result: z.object({ job: Job }) });
