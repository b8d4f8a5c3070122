/** Instants for people: the time of this machine, and how long ago. JSON keeps ISO. */
import { formatDuration } from '../base/time.ts';

const ISO = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;

/** `2026-01-02 12:00:01.123`; what is no instant stays as it is. */
export function localTimeMs(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const two = (n: number) => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`;
}

/** `2026-01-02 12:00:01` */
export const localTime = (iso: string): string => localTimeMs(iso).replace(/\.\d{3}$/, '');

/** `3 min ago` */
export const ago = (iso: string, nowMs: number): string => `${formatDuration(Math.max(0, nowMs - Date.parse(iso)))} ago`;

/** Every ISO instant of a sentence as `2026-01-02 12:00:01 (3 min ago)`. */
export const withLocalTimes = (text: string, nowMs: number): string =>
  text.replaceAll(ISO, (iso) => `${localTime(iso)} (${ago(iso, nowMs)})`);
