/** Instants of jobs in words and exactly, in the zone that the job counts in. */
import { duration } from '../app/format.ts';

/** `in 2 h 5 min`, `now`. */
export function ahead(at: string, nowMs: number = Date.now()): string {
  const ms = Date.parse(at) - nowMs;
  if (ms < 1_000) return 'now';
  return ms < 10_000 ? 'in a few seconds' : `in ${duration(ms)}`;
}

/** `Mon 24 Nov, 09:00`, with the year when it is another one. */
export function exactly(at: string, zone: string | null = null): string {
  const date = new Date(at);
  const options = zone === null ? {} : { timeZone: zone };
  const otherYear = date.getFullYear() !== new Date().getFullYear();
  const day = new Intl.DateTimeFormat('en-GB', {
    ...options,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(otherYear ? { year: 'numeric' as const } : {}),
  });
  return `${day.format(date)}, ${clock(at, zone)}`;
}

/** `09:00`; with seconds only where they are not zero. */
export function clock(at: string, zone: string | null = null): string {
  const seconds = new Date(at).getSeconds() === 0 ? {} : { second: '2-digit' as const };
  return new Intl.DateTimeFormat('en-GB', {
    ...(zone === null ? {} : { timeZone: zone }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
    ...seconds,
  }).format(new Date(at));
}

export const ownZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
