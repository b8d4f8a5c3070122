/** Quantities in words for people. */

/** `4.2 s`, `1 min 5 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms < 100) return `${Math.round(ms)} ms`;
  const seconds = ms / 1_000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`;
}

/** `now`, `5 min`, `3 h`, `2 d`, then the date. */
export function age(at: string, nowMs: number = Date.now()): string {
  const minutes = Math.floor((nowMs - Date.parse(at)) / 60_000);
  if (Number.isNaN(minutes)) return '';
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h`;
  if (minutes < 10_080) return `${Math.floor(minutes / 1_440)} d`;
  return new Date(at).toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
}

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(bytes < 100 * 2 ** 20 ? 1 : 0)} MB`;

/** The service's messages begin in lower case, as parts of a line in a terminal. A key, a path or a name in code stays as it is. */
export const sentence = (text: string): string => (/^\S*[._/`"=-]\w/.test(text) ? text : text.charAt(0).toUpperCase() + text.slice(1));

/** `812 bytes`, `3.4 KB`, `1.2 MB`. */
export function fileSize(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`;
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** `812`, `3.4k`, `128k`, `1.2M`. */
export function tokens(count: number): string {
  if (count < 1_000) return String(Math.round(count));
  if (count < 1_000_000) return `${(count / 1_000).toFixed(count < 10_000 ? 1 : 0)}k`;
  return `${(count / 1_000_000).toFixed(1)}M`;
}

/** US dollars, precise where they are few. */
export const dollars = (amount: number): string => `$${amount.toFixed(amount < 0.1 ? 4 : 2)}`;
