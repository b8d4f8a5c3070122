/** Jobs, runs, calendars and blueprints as text for a terminal. */
import { painter, type Style } from '../base/paint.ts';
import type { Blueprint, BlueprintField, Job, Occurrence, Run, Schedule } from '../ipc/contracts/cron.ts';
import { out, table } from './terminal.ts';

const outcomeStyle: Record<string, Style> = {
  ok: 'green',
  error: 'red',
  delivery_failed: 'red',
  blocked_config: 'red',
  paused: 'yellow',
  running: 'cyan',
};

const heads = (...titles: string[]): string[] => titles.map((title) => painter(out)('dim', title));
const styled = (word: string): string => (outcomeStyle[word] ? painter(out)(outcomeStyle[word], word) : word);

export function jobTable(jobs: readonly Job[]): string {
  const rows = jobs.map((job) => [
    job.id,
    job.name,
    job.schedule.display,
    styled(job.state),
    zonedTime(job.next_run_at, job.schedule.timezone),
    zonedTime(job.last_run_at, job.schedule.timezone),
    styled(job.last_status ?? '-'),
    job.deliver,
  ]);
  return table([heads('ID', 'NAME', 'SCHEDULE', 'STATE', 'NEXT', 'LAST', 'RESULT', 'TO'), ...rows]);
}

export function jobPage(job: Job): string {
  const { schedule, repeat } = job;
  const times = repeat.times === null ? `${repeat.completed} so far` : `${repeat.completed} of ${repeat.times}`;
  const rows = [
    ['job', `${job.name} (${job.id})`],
    ['state', styled(job.state)],
    ['when', `${schedule.words} (${schedule.display}, ${schedule.timezone ?? 'UTC'})`],
    ['next', zonedTime(job.next_run_at, schedule.timezone)],
    ['last', job.last_run_at === null ? '-' : `${zonedTime(job.last_run_at, schedule.timezone)} ${styled(job.last_status ?? '')}`],
    ...(job.last_error === null ? [] : [['error', job.last_error]]),
    ['runs', times],
    ['result to', job.deliver],
    ...(job.script === null ? [] : [['script', job.script]]),
  ];
  const prompt = job.prompt === null ? '' : `\n\n${job.prompt}`;
  return `${table(rows.map(([name, value]) => [painter(out)('dim', name!), value!]))}${prompt}`;
}

export function runTable(found: readonly Run[]): string {
  const rows = found.map((one) => [
    one.execution_id,
    one.job_id,
    one.trigger,
    styled(one.status),
    localTime(one.started_at),
    one.delivery,
    one.error ?? one.output_path ?? '',
  ]);
  return table([heads('RUN', 'JOB', 'TRIGGER', 'STATUS', 'STARTED', 'DELIVERY', ''), ...rows]);
}

/** `Monday to Friday at 09:00 (Europe/Berlin), next 2026-…, …`. */
export function previewLines({ schedule, next }: { schedule: Schedule; next: string[] }): string {
  const runs =
    next.length === 0
      ? 'it never runs'
      : `next ${next.map((at) => inZone(at, schedule.timezone, schedule.interval_ms !== null)).join(', ')}`;
  return `${schedule.words} (${schedule.timezone ?? 'UTC'}), ${runs}`;
}

export function calendarTable(seen: { runs: Occurrence[]; often: (Occurrence & { words: string })[]; truncated: boolean }): string {
  const rows = seen.runs.map(({ at, name, job_id }) => [new Date(at).toLocaleString('sv-SE').slice(0, 16), name, job_id]);
  const often = seen.often.map(({ name, words, at }) => `${name} (${words}, next ${localTime(at)})`);
  return [
    ...(rows.length > 0 ? [table([heads('WHEN', 'JOB', ''), ...rows])] : []),
    ...(often.length > 0 ? [`Often: ${often.join('; ')}`] : []),
    ...(seen.truncated ? ['There is more than is shown here: ask for a shorter time.'] : []),
  ].join('\n');
}

export const blueprintTable = (all: readonly Blueprint[]): string =>
  table([
    heads('KEY', 'WHAT', 'MODEL'),
    ...all.map(({ key, description, uses_model }) => [key, description, uses_model ? 'asked' : 'not asked']),
  ]);

export function blueprintPage({ title, description, fields, command }: Blueprint): string {
  const rows = fields.map((field) => [
    field.name,
    field.label,
    valuesOf(field),
    field.default ?? (field.optional ? '(may be empty)' : '(needed)'),
  ]);
  return `${title}: ${description}\n\n${table([heads('FIELD', '', 'VALUES', 'DEFAULT'), ...rows])}\n\n${command}`;
}

function valuesOf({ type, options, min, max }: BlueprintField): string {
  if (type === 'weekdays') return 'day, weekday, weekend, or days: mon,thu';
  if (options.length > 0) return options.map(({ value }) => value).join(', ');
  if (min !== null || max !== null) return `${min ?? ''} to ${max ?? ''}`;
  return type === 'time' ? 'HH:MM' : 'text';
}

/** To the minute, or to the second. */
const inZone = (iso: string, zone: string | null, seconds: boolean): string =>
  new Date(iso).toLocaleString('sv-SE', zone === null ? {} : { timeZone: zone }).slice(0, seconds ? 19 : 16);

/** In the zone of the job, which is named where it is not the one of this machine; without the date when it is today. */
function zonedTime(iso: string | null, zone: string | null): string {
  if (!iso || zone === null || zone === Intl.DateTimeFormat().resolvedOptions().timeZone) return localTime(iso);
  const [today, at] = [new Date().toISOString(), iso].map((one) => inZone(one, zone, true));
  return `${at!.slice(0, 10) === today!.slice(0, 10) ? at!.slice(11) : at!} ${zone}`;
}

/** Local time without the date when it is today. */
export function localTime(iso: string | null): string {
  if (!iso) return '-';
  const at = new Date(iso);
  const today = at.toDateString() === new Date().toDateString();
  return today ? at.toLocaleTimeString('sv-SE') : at.toLocaleString('sv-SE');
}
