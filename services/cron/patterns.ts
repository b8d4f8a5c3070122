/**
 * 5-field cron expressions: read by croner through one small cache (a parsed pattern holds 80 KB),
 * checked for steps that do not mean what they say, and made exact where the clock is put forward or
 * back (contract §10: a missing local time fires at the first valid minute, a repeated one once).
 */
import { Cron } from 'croner';
import { limits } from '../../base/limits.ts';
import { messageOf } from '../../base/errors.ts';
import { gapBetween, isSecondPass } from './wallClock.ts';

const FIELDS = [
  { name: 'minute', values: 60 },
  { name: 'hour', values: 24 },
  { name: 'day', values: 31 },
  { name: 'month', values: 12 },
  { name: 'weekday', values: 7 },
] as const;

const EVERY_HOUR: ReadonlySet<string> = new Set(['*', '?', '*/1', '0-23']);

/** Whether it is about elapsed time rather than times of day: after a clock set back it runs again. */
export function followsClock(expr: string): boolean {
  const hour = expr.split(' ')[1]!;
  return EVERY_HOUR.has(hour) || /[*?/]/.test(hour);
}

/** Passes over an overlap or a gap before giving up on a pattern that never comes right. */
const ROUNDS_MAX = 500;

const parsed = new Map<string, Cron>();

/** The reason why this expression cannot be used, or undefined. */
export function patternProblem(expr: string, zone: string, nowMs: number): string | undefined {
  const fields = expr.split(' ');
  if (fields.length !== FIELDS.length) return `a cron expression has 5 fields, this has ${fields.length}`;
  for (const [n, { name, values }] of FIELDS.entries()) {
    const step = Number(/\/(\d+)/.exec(fields[n]!)?.[1]);
    if (step >= values)
      return `a step of ${step} in the ${name} field fires at one value only, because that field has ${values} values; write the value itself`;
    if (step === 0) return `a step of 0 in the ${name} field never advances`;
  }
  try {
    return nextMatch(expr, zone, nowMs) === undefined ? 'no date ever matches it' : undefined;
  } catch (thrown) {
    return messageOf(thrown).replace(/^Cron\w+: /, '');
  }
}

/** The first instant after `afterMs` that matches, or undefined when none ever does. */
export function nextMatch(expr: string, zone: string, afterMs: number): number | undefined {
  let foundMs = croner(expr, zone, afterMs);
  // A pattern that names hours, `*/2` included, is about times of day; `* * * * *` and the like are about elapsed time.
  if (EVERY_HOUR.has(expr.split(' ')[1]!)) return foundMs;
  for (let round = 0; foundMs !== undefined && round < ROUNDS_MAX && isSecondPass(zone, foundMs); round++) {
    foundMs = croner(expr, zone, foundMs);
  }
  const untilMs = foundMs ?? afterMs;
  for (let gap = gapBetween(zone, afterMs, untilMs); gap; gap = gapBetween(zone, gap.endMs, untilMs)) {
    const missing = croner(expr, 'UTC', gap.fromWallMs - 1);
    if (missing !== undefined && missing < gap.toWallMs) return gap.endMs;
  }
  return foundMs;
}

function croner(expr: string, zone: string, afterMs: number): number | undefined {
  const key = `${expr}|${zone}`;
  const cron = parsed.get(key) ?? new Cron(expr, { timezone: zone, paused: true, mode: '5-part' });
  // Last used stands last; the first is the one to forget.
  parsed.delete(key);
  parsed.set(key, cron);
  if (parsed.size > limits.cron.patternsMax) parsed.delete(parsed.keys().next().value!);
  return cron.nextRun(new Date(afterMs))?.getTime();
}

/** Parsed patterns held at the moment. */
export const cachedPatterns = (): number => parsed.size;
