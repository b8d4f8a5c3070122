/** A schedule in a sentence for people: `Monday to Friday at 09:00`. What has no plain words keeps its expression. */
import type { Schedule } from './schedule.ts';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MONTHS = ['January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September', 'October', 'November', 'December'];

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

export function scheduleInWords({ kind, expr, intervalMs, runAtMs, zone }: Schedule): string {
  if (kind === 'once') return `once, on ${instantInWords(runAtMs!, zone)}`;
  if (kind === 'interval') return `every ${spanInWords(intervalMs!)}`;
  return cronInWords(expr!) ?? `when the clock matches ${expr!}`;
}

/** `24 December 2026 at 18:00`. */
function instantInWords(atMs: number, zone: string): string {
  const date = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'long', year: 'numeric' });
  const time = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return `${date.format(atMs)} at ${time.format(atMs)}`;
}

function spanInWords(ms: number): string {
  for (const [unit, unitMs] of UNITS) {
    if (ms % unitMs !== 0) continue;
    const count = ms / unitMs;
    return count === 1 ? unit : `${count} ${unit}s`;
  }
  return `${ms / 1_000} seconds`;
}

function cronInWords(expr: string): string | undefined {
  const [minute, hour, day, month, weekday] = expr.toUpperCase().split(' ') as [string, string, string, string, string];
  const time = timeInWords(minute, hour);
  const date = dateInWords(day, month, weekday);
  if (!time || !date) return undefined;
  if (time.every) return date === 'every day' ? time.text : `${date}: ${time.text}`;
  return `${date} ${time.text}`;
}

function timeInWords(minute: string, hour: string): { text: string; every: boolean } | undefined {
  const minutes = numbers(minute, 59);
  const hours = numbers(hour, 23);
  if (minutes && hours && minutes.length * hours.length <= 4) {
    return { text: `at ${listed(hours.flatMap((h) => minutes.map((m) => `${two(h)}:${two(m)}`)))}`, every: false };
  }
  const step = stepOf(minute, 60);
  const rhythm = minute === '*' ? 'every minute' : step ? `every ${spanInWords(step * 60_000)}` : undefined;
  if (rhythm && hour === '*') return { text: rhythm, every: true };
  const range = /^(\d+)-(\d+)$/.exec(hour);
  if (rhythm && range) return { text: `${rhythm} from ${two(range[1]!)}:00 to ${two(range[2]!)}:59`, every: true };
  if (minutes?.length === 1) {
    const at = minutes[0] === 0 ? 'on the hour' : `at ${minutes[0]} minute${minutes[0] === 1 ? '' : 's'} past`;
    if (hour === '*') return { text: `every hour ${at}`, every: true };
    const hoursStep = stepOf(hour, 24);
    if (hoursStep) return { text: `every ${spanInWords(hoursStep * 3_600_000)} ${at}`, every: true };
    if (range) return { text: `every hour ${at} from ${two(range[1]!)}:00 to ${two(range[2]!)}:59`, every: true };
  }
  return undefined;
}

function dateInWords(day: string, month: string, weekday: string): string | undefined {
  const anyDay = day === '*' || day === '?';
  const anyWeekday = weekday === '*' || weekday === '?';
  const months =
    month === '*'
      ? undefined
      : numbers(
          month.replace(/[A-Z]{3}/g, (name) => String(indexOf(MONTHS, name) + 1)),
          12,
        );
  if (month !== '*' && !months) return undefined;
  const ofMonths = months ? ` of ${listed(months.map((n) => MONTHS[n - 1]!))}` : '';
  if (anyDay && anyWeekday) return months ? `every day${ofMonths}` : 'every day';
  if (anyDay) {
    const days = weekdaysInWords(weekday.replace(/[A-Z]{3}/g, (name) => String(indexOf(DAYS, name))));
    return days && `${days}${months ? ` in ${listed(months.map((n) => MONTHS[n - 1]!))}` : ''}`;
  }
  const dates = numbers(day, 31);
  if (!anyWeekday || !dates) return undefined;
  return `on day ${listed(dates.map(String))}${ofMonths || ' of each month'}`;
}

function weekdaysInWords(text: string): string | undefined {
  const range = /^(\d)-(\d)$/.exec(text);
  if (range) return `${DAYS[Number(range[1]) % 7]} to ${DAYS[Number(range[2]) % 7]}`;
  const found = numbers(text, 7)?.map((n) => n % 7);
  if (!found) return undefined;
  if (found.length === 2 && found.includes(0) && found.includes(6)) return 'Saturday and Sunday';
  return `every ${listed(found.map((n) => DAYS[n]!))}`;
}

const indexOf = (names: readonly string[], short: string): number => names.findIndex((name) => name.toUpperCase().startsWith(short));
/** The step of `every N`. One that does not divide the whole (60 or 24) starts again early: it is no even rhythm. */
const stepOf = (field: string, whole: number): number | undefined => {
  const step = Number(/^\*\/(\d+)$/.exec(field)?.[1] ?? 0);
  return step > 0 && step < whole && whole % step === 0 ? step : undefined;
};
const two = (n: number | string): string => String(n).padStart(2, '0');

/** `1,15` → [1, 15]; undefined for anything else. */
function numbers(field: string, max: number): number[] | undefined {
  if (!/^\d+(,\d+)*$/.test(field)) return undefined;
  const found = field.split(',').map(Number);
  return found.every((n) => n <= max) ? found : undefined;
}

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)!}`;
