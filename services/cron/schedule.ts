/**
 * The schedule grammar (reference, Cron 6.2) and the arithmetic of occurrences. Pure: text and
 * instants in, instants out. Intervals are counted from their anchor, so they never drift.
 */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { isZone } from '../../base/time.ts';
import { nextMatch, patternProblem } from './patterns.ts';
import { instantOf } from './wallClock.ts';

export interface Schedule {
  kind: 'once' | 'interval' | 'cron';
  /** Five fields, for `cron`. */
  expr: string | null;
  intervalMs: number | null;
  /** The instant, for `once`. */
  runAtMs: number | null;
  /** The instant that intervals are counted from. */
  anchorMs: number;
  zone: string;
  /** As the user wrote it. */
  display: string;
}

export interface ParseContext {
  nowMs: number;
  zone: string;
}

export const acceptedForms = [
  '`30m`, `2h`, `1d` (once, after that time)',
  '`every 30s`, `every 10m`, `every 2h`, `every 1d`',
  '`every monday 9am`, `every weekday 18:30`, `every day 7am`',
  '`*/15 9-17 * * 1-5` (minute hour day month weekday)',
  '`2026-12-24T18:00`, `2026-12-24T18:00:00Z` (once, at that instant)',
] as const;

const UNITS: [RegExp, number][] = [
  [/^(s|sec|secs|seconds?)$/, 1_000],
  [/^(m|min|mins|minutes?)$/, 60_000],
  [/^(h|hr|hrs|hours?)$/, 3_600_000],
  [/^(d|days?)$/, 86_400_000],
];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const NICKNAMES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** Errors: BAD_SCHEDULE with the reason and the accepted forms. */
export function parseSchedule(text: string, { nowMs, zone }: ParseContext): Schedule {
  const display = text.trim().replace(/\s+/g, ' ');
  if (!isZone(zone)) {
    throw new AgentError('BAD_SCHEDULE', `"${zone}" is not a time zone`, {
      fix: 'write a name such as Europe/Berlin or UTC, in --timezone or as `timezone` in config.yaml',
      field: 'timezone',
    });
  }
  const words = display.toLowerCase();
  const base = { expr: null, intervalMs: null, runAtMs: null, anchorMs: nowMs, zone, display };
  const cron = (expr: string): Schedule => {
    const problem = patternProblem(expr, zone, nowMs);
    if (problem) throw refused(display, problem);
    return { ...base, kind: 'cron', expr };
  };

  if (words === '') throw refused(display, 'it is empty');
  if (NICKNAMES[words]) return cron(NICKNAMES[words]);
  if (words.startsWith('every ')) {
    const rest = words.slice('every '.length);
    const intervalMs = durationOf(/^\d/.test(rest) ? rest : `1 ${rest}`);
    if (intervalMs !== undefined) return { ...base, kind: 'interval', intervalMs: checkedInterval(display, intervalMs) };
    return cron(weeklyPattern(display, rest));
  }
  const delayMs = durationOf(words.replace(/^in /, ''));
  if (delayMs !== undefined) return { ...base, kind: 'once', runAtMs: nowMs + checkedInterval(display, delayMs) };
  if (/^\d{4}-/.test(words)) return { ...base, kind: 'once', runAtMs: instant(display, { nowMs, zone }) };
  if (/^[\d*?@]/.test(words) && display.includes(' ')) return cron(display);
  throw refused(display, 'it has none of the accepted forms');
}

/** The first occurrence after an instant, or undefined when there is none left. */
export function nextAfter(schedule: Schedule, afterMs: number): number | undefined {
  switch (schedule.kind) {
    case 'once':
      return schedule.runAtMs! > afterMs ? schedule.runAtMs! : undefined;
    case 'interval': {
      const { anchorMs, intervalMs } = schedule;
      const passed = Math.floor((afterMs - anchorMs) / intervalMs!);
      return anchorMs + Math.max(1, passed + 1) * intervalMs!;
    }
    case 'cron':
      return nextMatch(schedule.expr!, schedule.zone, afterMs);
  }
}

/** How late an occurrence may be and still count as itself: half the period within bounds (reference 6.3). */
export function graceMs(schedule: Schedule, scheduledMs: number): number {
  if (schedule.kind === 'once') return limits.cron.graceMinMs;
  const periodMs = schedule.intervalMs ?? (nextAfter(schedule, scheduledMs) ?? scheduledMs) - scheduledMs;
  return Math.min(limits.cron.graceMaxMs, Math.max(limits.cron.graceMinMs, periodMs / 2));
}

/** How many occurrences lie in (`afterMs`, `untilMs`], counted up to `max`. */
export function countBetween(schedule: Schedule, afterMs: number, untilMs: number, max: number): number {
  let count = 0;
  for (let at = nextAfter(schedule, afterMs); at !== undefined && at <= untilMs && count < max; at = nextAfter(schedule, at)) count++;
  return count;
}

/** `30m`, `2 hours` → milliseconds; undefined when it is no duration. */
function durationOf(words: string): number | undefined {
  const match = /^(\d+) ?([a-z]+)$/.exec(words);
  const unit = match && UNITS.find(([pattern]) => pattern.test(match[2]!));
  return unit ? Number(match[1]) * unit[1] : undefined;
}

function checkedInterval(display: string, ms: number): number {
  if (ms < limits.cron.intervalMinMs) throw refused(display, `the shortest time is ${limits.cron.intervalMinMs / 1_000} s`);
  if (ms > limits.cron.intervalMaxMs) throw refused(display, `the longest time is ${limits.cron.intervalMaxMs / 86_400_000} days`);
  return ms;
}

/** `monday 9am`, `mon,thu at 18:30`, `weekday 7am`, `day` → a cron expression. */
function weeklyPattern(display: string, words: string): string {
  const match = /^([a-z, ]+?)(?: at)?(?: (\d{1,2})(?::(\d{2}))? ?(am|pm)?)?$/.exec(words);
  if (!match) throw refused(display, 'after `every` comes a time such as 30m, or a day and an hour such as monday 9am');
  const [, days, hourText, minuteText, half] = match;
  const hour = hourText === undefined ? 0 : hourOf(Number(hourText), half);
  const minute = Number(minuteText ?? 0);
  if (hour === undefined || minute > 59) throw refused(display, 'the time of day is written 9am, 9:30pm or 18:30');
  const weekdays = days!.split(/,| and /).map((day) => weekdayOf(day.trim()));
  if (weekdays.includes(undefined)) throw refused(display, 'the days are monday … sunday, day, weekday and weekend');
  return `${minute} ${hour} * * ${weekdays.join(',')}`;
}

function hourOf(hour: number, half: string | undefined): number | undefined {
  if (half === undefined) return hour <= 23 ? hour : undefined;
  if (hour < 1 || hour > 12) return undefined;
  return (hour % 12) + (half === 'pm' ? 12 : 0);
}

function weekdayOf(word: string): string | undefined {
  if (word === 'day' || word === 'night') return '*';
  if (/^weekdays?$/.test(word)) return '1-5';
  if (/^weekends?$/.test(word)) return '0,6';
  const index = DAYS.findIndex((day) => word.startsWith(day) && fullDay(day).startsWith(word.replace(/s$/, '')));
  return index < 0 ? undefined : String(index);
}

const fullDay = (day: string): string =>
  ({ sun: 'sunday', mon: 'monday', tue: 'tuesday', wed: 'wednesday', thu: 'thursday', fri: 'friday', sat: 'saturday' })[day]!;

const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,3})?)?)?(Z|[+-]\d{2}:?\d{2})?$/i;

function instant(display: string, { nowMs, zone }: ParseContext): number {
  const match = ISO.exec(display);
  if (!match) throw refused(display, 'an instant is written 2026-12-24T18:00, with Z or +01:00 for another zone');
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const wallMs = Date.UTC(year, month - 1, day, hour, minute, second);
  const back = new Date(wallMs);
  const exists = back.getUTCMonth() === month - 1 && back.getUTCDate() === day && hour <= 23 && minute <= 59 && second <= 59;
  if (!exists) throw refused(display, 'there is no such date or time');
  const atMs = match[7] ? wallMs - explicitOffsetMs(match[7]) : instantOf(zone, wallMs);
  if (atMs <= nowMs) throw refused(display, `that instant is in the past (it is ${new Date(nowMs).toISOString()} now)`);
  return atMs;
}

function explicitOffsetMs(text: string): number {
  if (text.toUpperCase() === 'Z') return 0;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(text)!;
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

function refused(display: string, reason: string): AgentError {
  return new AgentError('BAD_SCHEDULE', `the schedule "${display}" cannot be used: ${reason}`, {
    fix: `write one of: ${acceptedForms.join('; ')}`,
    field: 'schedule',
  });
}
