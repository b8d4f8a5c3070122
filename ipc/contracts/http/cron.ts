/** Scheduled jobs over HTTP (interface spec, http.11–13; reference/clients §1.4; contract §10). They are the cron worker's. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Blueprint, BlueprintValues, calendar, Job, JobParts, type Occurrence, Preview, previewBlueprint, Run } from '../cron.ts';

/** Read after the proof: the signature covers the bytes as they came, so this route is put up by hand. */
export const FireBody = z.strictObject({
  job_id: z.string().min(1).max(200),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
  idempotency_key: z.string().max(200).optional(),
});

export const fireCron = httpRoute('POST /api/cron/fire', {
  tag: 'Automation',
  summary: 'An outside scheduler claims one occurrence of a job: 202 when this call claimed it, 200 when it was claimed before.',
  access: 'outside',
  body: FireBody,
  result: z.union([z.object({ claimed: z.literal(true), execution_id: z.string().nullable() }), z.object({ claimed: z.literal(false) })]),
  status: 202,
  errors: ['UNAUTHENTICATED', 'PAUSED', 'UNKNOWN_JOB'],
});

const tag = 'Automation';
const Id = z.object({ id: z.string().min(1).max(200) });
const profile = z.string().max(100).optional();
const Scoped = z.strictObject({ profile });
const { schedule, prompt, script, name, deliver, repeat, timezone } = JobParts.shape;

/** Unlike elsewhere `profile` may be `all`. */
export const listCronJobs = httpRoute('GET /api/cron/jobs', {
  tag,
  summary: 'Jobs of a profile, or of all (`profile=all`), in the order in which they were made.',
  query: z.looseObject({ profile: z.string().optional() }),
  result: z.object({ jobs: z.array(Job) }),
  errors: ['UNKNOWN_PROFILE'],
});

export const createCronJob = httpRoute('POST /api/cron/jobs', {
  tag,
  summary: 'Makes a job from a schedule, and a prompt, a script or both.',
  profile: true,
  body: z.strictObject({
    schedule,
    prompt: prompt.optional(),
    script: script.optional(),
    name: name.optional(),
    deliver: deliver.optional(),
    repeat: repeat.optional(),
    timezone: timezone.optional(),
    profile,
  }),
  result: z.object({ job: Job }),
  status: 201,
  errors: ['BAD_SCHEDULE', 'INVALID_PARAMS', 'QUEUE_FULL'],
});

export const getCronJob = httpRoute('GET /api/cron/jobs/:id', {
  tag,
  summary: 'One job.',
  profile: true,
  params: Id,
  result: z.object({ job: Job }),
  errors: ['UNKNOWN_JOB'],
});

export const updateCronJob = httpRoute('PUT /api/cron/jobs/:id', {
  tag,
  summary: 'Changes what is given and leaves the rest.',
  profile: true,
  params: Id,
  body: z.strictObject({ updates: JobParts.partial(), profile }),
  result: z.object({ job: Job }),
  errors: ['UNKNOWN_JOB', 'BAD_SCHEDULE', 'INVALID_PARAMS'],
});

const change = { tag, profile: true, params: Id, body: Scoped, result: z.object({ job: Job }), errors: ['UNKNOWN_JOB'] } as const;

export const pauseCronJob = httpRoute('POST /api/cron/jobs/:id/pause', { ...change, summary: 'Holds one job.' });
export const resumeCronJob = httpRoute('POST /api/cron/jobs/:id/resume', { ...change, summary: 'Lets a job go on.' });

export const triggerCronJob = httpRoute('POST /api/cron/jobs/:id/trigger', {
  ...change,
  summary: 'Runs a job now, off its schedule.',
  result: z.object({ execution_id: z.string(), job: Job }),
  status: 202,
  errors: ['UNKNOWN_JOB', 'PAUSED', 'QUEUE_FULL'],
});

export const deleteCronJob = httpRoute('DELETE /api/cron/jobs/:id', {
  tag,
  summary: 'Removes a job with its history.',
  profile: true,
  params: Id,
  result: z.object({ job: Job }),
  errors: ['UNKNOWN_JOB'],
});

const Limit = z.coerce.number().int().min(1).max(1_000).default(50);

export const listCronRuns = httpRoute('GET /api/cron/runs', {
  tag,
  summary: 'Runs, newest first; of one job with `job_id`.',
  profile: true,
  query: z.looseObject({ job_id: z.string().max(200).optional(), limit: Limit }),
  result: z.object({ runs: z.array(Run) }),
  errors: ['UNKNOWN_JOB'],
});

export const cronJobRuns = httpRoute('GET /api/cron/jobs/:id/runs', {
  tag,
  summary: 'Runs of a job, newest first.',
  profile: true,
  params: Id,
  query: z.looseObject({ limit: Limit }),
  result: z.object({ runs: z.array(Run) }),
  errors: ['UNKNOWN_JOB'],
});

export const cronRunOutput = httpRoute('GET /api/cron/runs/:id/output', {
  tag,
  summary: `What a run has written down, its first ${limits.cron.outputShownMaxBytes / 1_024} KiB.`,
  profile: true,
  params: Id,
  result: z.object({ run: Run, text: z.string(), truncated: z.boolean() }),
});

export const deliveryTargets = httpRoute('GET /api/cron/delivery-targets', {
  tag,
  summary: 'Where results may go: the output file, and each chat platform of config.yaml.',
  profile: true,
  result: z.object({
    targets: z.array(z.object({ id: z.string(), name: z.string(), home_target_set: z.boolean(), home_env_var: z.string().nullable() })),
  }),
});

export const previewCron = httpRoute('POST /api/cron/preview', {
  tag,
  summary: 'A schedule in words and its next three runs, before there is a job.',
  profile: true,
  body: z.strictObject({ schedule, timezone: timezone.optional(), profile }),
  result: Preview,
  errors: ['BAD_SCHEDULE'],
});

export const cronCalendar = httpRoute('GET /api/cron/calendar', {
  tag,
  summary: `Next runs over a span of up to ${limits.cron.calendarDaysMax} days. Jobs that run many times a day stand in \`often\`.`,
  query: z.looseObject({ from: z.iso.datetime({ offset: true }), to: z.iso.datetime({ offset: true }), profile: z.string().optional() }),
  result: calendar.result,
  errors: ['INVALID_PARAMS', 'UNKNOWN_PROFILE'],
});

export const listCronBlueprints = httpRoute('GET /api/cron/blueprints', {
  tag,
  summary: 'Ready-made jobs with fields to fill in.',
  profile: true,
  result: z.object({ blueprints: z.array(Blueprint) }),
});

const Filled = z.strictObject({ blueprint: z.string().max(100), values: BlueprintValues.default({}), profile });

export const previewCronBlueprint = httpRoute('POST /api/cron/blueprints/preview', {
  tag,
  summary: 'What a filled blueprint would do and when; makes nothing.',
  profile: true,
  body: Filled,
  result: previewBlueprint.result,
  errors: ['INVALID_PARAMS', 'BAD_SCHEDULE'],
});

export const instantiateCronBlueprint = httpRoute('POST /api/cron/blueprints/instantiate', {
  tag,
  summary: 'Fills a blueprint and makes the job. Wrong fields are named by their paths (`values.time`).',
  profile: true,
  body: Filled,
  result: Job,
  status: 201,
  errors: ['INVALID_PARAMS', 'BAD_SCHEDULE', 'QUEUE_FULL'],
});

export type CalendarAnswer = z.infer<typeof calendar.result>;
export type CalendarRun = Occurrence;
