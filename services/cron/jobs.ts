/** Making, changing and finding jobs: what a job may be, and what a change does to its next run. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type * as contract from '../../ipc/contracts/cron.ts';
import { guideOf, platformGuides } from '../../ipc/contracts/platformGuides.ts';
import type { ParamsOf } from '../../ipc/method.ts';
import type { Desk } from './desk.ts';
import { nextAfter, parseSchedule, type Schedule } from './schedule.ts';
import { scriptPath } from './script.ts';
import type { CronStore, JobRow } from './store.ts';
import { systemZone } from './wallClock.ts';

export type NewJob = Omit<ParamsOf<typeof contract.createJob>, 'profile'>;
type Updates = ParamsOf<typeof contract.updateJob>['updates'];

/** Folder in `scripts/` for what blueprints wrote. */
export const BLUEPRINT_SCRIPTS = 'blueprints';

/** Answers the id. Errors: BAD_SCHEDULE, INVALID_PARAMS, QUEUE_FULL. */
export function createJob({ context, store }: Desk, params: NewJob): string {
  const prompt = params.prompt?.trim() ? params.prompt : null;
  const script = params.script?.trim() ?? null;
  checkWork(prompt, script);
  if (script !== null) scriptPath(context.paths, script);
  checkDeliver(params.deliver);
  refuseTakenName(store, params.name, params.created_by);
  if (store.countJobs() >= limits.cron.jobsMax) {
    throw new AgentError('QUEUE_FULL', `there are ${limits.cron.jobsMax} jobs already`, {
      fix: 'remove some with `agent cron remove <id>`',
    });
  }
  const createdBy = params.created_by;
  if (createdBy !== null && store.countJobsOf(createdBy) >= limits.cron.jobsPerChatMax) {
    throw new AgentError('QUEUE_FULL', `this chat has ${limits.cron.jobsPerChatMax} jobs already`, { fix: 'remove some first' });
  }
  const nowMs = Date.now();
  const schedule = readSchedule({ context }, params.schedule, params.timezone, nowMs);
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
    createdBy,
  });
  return id;
}

/** In the zone given, else of config.yaml, else of the machine; an interval counts from `nowMs`. Errors: BAD_SCHEDULE. */
export function readSchedule({ context }: Pick<Desk, 'context'>, text: string, timezone?: string, nowMs: number = Date.now()): Schedule {
  return parseSchedule(text, { nowMs, zone: timezone?.trim() || zoneOf({ context }) });
}

export const zoneOf = ({ context }: Pick<Desk, 'context'>): string => context.config().config.timezone ?? systemZone();

/** Errors: BAD_SCHEDULE, INVALID_PARAMS. */
export function updateJob(desk: Desk, job: JobRow, updates: Updates): void {
  const { context, store } = desk;
  const prompt = updates.prompt === undefined ? job.prompt : updates.prompt?.trim() ? updates.prompt : null;
  const script = updates.script === undefined ? job.script : updates.script?.trim() ? updates.script.trim() : null;
  checkWork(prompt, script);
  if (script !== null && script !== job.script) scriptPath(context.paths, script);
  if (updates.deliver !== undefined) checkDeliver(updates.deliver);
  if (updates.name?.trim() !== job.name) refuseTakenName(store, updates.name, job.createdBy);
  const changed: JobRow = {
    ...job,
    name: updates.name?.trim() || job.name,
    prompt,
    script,
    deliver: updates.deliver?.trim() || job.deliver,
    repeatTimes: updates.repeat === undefined ? job.repeatTimes : updates.repeat,
  };
  store.transact(() => store.updateJob(rescheduled(desk, changed, updates)));
}

/** A schedule counts from now only when it is another one: saving a form twice moves nothing. */
function rescheduled(desk: Desk, job: JobRow, { schedule: text, timezone }: Updates): JobRow {
  const asked = text ?? job.schedule.display;
  const zone = timezone?.trim() || (text === undefined ? job.schedule.zone : undefined);
  const same = asked.trim().replace(/\s+/g, ' ') === job.schedule.display && (zone ?? job.schedule.zone) === job.schedule.zone;
  const spent = job.repeatTimes !== null && job.repeatCompleted >= job.repeatTimes;
  const wasCompleted = !job.enabled && job.nextRunMs === null;
  if (same && !(wasCompleted && !spent)) return spent ? { ...job, enabled: false, nextRunMs: null } : job;
  const schedule = same ? job.schedule : readSchedule(desk, asked, zone ?? job.schedule.zone);
  const next = nextAfter(schedule, Date.now()) ?? null;
  const times = schedule.kind === 'once' ? 1 : job.schedule.kind === 'once' && job.repeatTimes === 1 ? null : job.repeatTimes;
  return {
    ...job,
    schedule,
    repeatTimes: times,
    repeatCompleted: wasCompleted ? 0 : job.repeatCompleted,
    nextRunMs: next,
    enabled: next !== null && (job.enabled || wasCompleted),
  };
}

function checkWork(prompt: string | null, script: string | null): void {
  if (prompt !== null || script !== null) return;
  throw new AgentError('INVALID_PARAMS', 'a job needs a prompt, a script or both', {
    field: 'prompt',
    fix: 'give a text, or --script FILE',
  });
}

/** Commands find a job by its name. A name made from the prompt may occur twice: such jobs are told apart by id. A chat is not told the names of others. */
function refuseTakenName(store: CronStore, name: string | undefined, createdBy: string | null): void {
  const other = name?.trim() ? store.findJobs(name.trim(), createdBy).find((job) => job.name === name.trim()) : undefined;
  if (!other) return;
  throw new AgentError('INVALID_PARAMS', `the name "${other.name}" is taken by job ${other.id}`, {
    field: 'name',
    fix: 'choose another name',
  });
}

/** First words of what the job does. */
function nameOf(text: string): string {
  const line = text.trim().split('\n')[0]!;
  return line.length <= NAME_CHARS ? line : `${line.slice(0, NAME_CHARS - 1).trimEnd()}…`;
}

const NAME_CHARS = 40;

const TARGET = /^[a-z][a-z0-9_-]*(:[^\s,]+)?$/i;

/** Words that mean the output file alone. */
const FILE_ONLY: ReadonlySet<string> = new Set(['local', 'origin', 'none']);

/** The shape, and that messages can be sent to its platform; the chat is checked by the gateway at the time of the run. */
export function checkDeliver(deliver: string): void {
  for (const target of deliver.split(',').map((part) => part.trim())) {
    const platform = target.split(':')[0]!.toLowerCase();
    if (TARGET.test(target) && (FILE_ONLY.has(target) || guideOf(platform)?.canSend)) continue;
    const known = Object.entries(platformGuides).flatMap(([id, { canSend }]) => (canSend ? [id] : []));
    throw new AgentError('INVALID_PARAMS', `"${target}" is not a delivery target`, {
      field: 'deliver',
      fix: `write local, origin, <platform>, <platform>:<chat> or <platform>:<chat>:<thread>, several with commas; platforms: ${known.join(', ')}`,
    });
  }
}

/** Errors: INVALID_PARAMS when no run is left. */
export function resumeJob(store: CronStore, job: JobRow): void {
  if (job.enabled) return;
  // A recurring job keeps its past instant, so that one late or catch-up run follows (reference 6.3).
  const next = job.nextRunMs ?? nextAfter(job.schedule, Date.now());
  const spent = job.repeatTimes !== null && job.repeatCompleted >= job.repeatTimes;
  if (next === undefined || spent) {
    throw new AgentError('INVALID_PARAMS', `${job.name} has completed; no run is left`, {
      field: 'job_id',
      fix: 'give it another schedule, or create a new job',
    });
  }
  store.setEnabled(job.id, true, next);
}

/** With its history, and the script that a blueprint wrote for it. */
export function removeJob({ context, store }: Desk, job: JobRow): void {
  store.transact(() => store.removeJob(job.id));
  const { script } = job;
  if (!script?.startsWith(`${BLUEPRINT_SCRIPTS}/`) || store.jobs(true).some((other) => other.script === script)) return;
  const file = join(context.paths.scripts, script);
  for (const path of [file, file.replace(/\.mjs$/, '.mark')]) rmSync(path, { force: true });
}

/** By exact name, full id, or the unique beginning of an id, of this principal (null = all). Errors: UNKNOWN_JOB. */
export function requireJob(store: CronStore, text: string, createdBy: string | null = null): JobRow {
  const found = text.trim() === '' ? [] : store.findJobs(text.trim(), createdBy);
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
