/**
 * Local time of a zone and back, with the two odd hours of daylight saving made explicit: a local
 * time that does not exist, and one that happens twice (contract §10).
 */
import { limits } from '../../base/limits.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

const formatters = new Map<string, Intl.DateTimeFormat>();

/** The zone of this machine. */
export const systemZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Milliseconds that local time is ahead of UTC at an instant. */
export function offsetMs(zone: string, instantMs: number): number {
  const parts = formatterOf(zone).formatToParts(instantMs);
  const field = (type: string) => Number(parts.find((part) => part.type === type)!.value);
  const wall = Date.UTC(field('year'), field('month') - 1, field('day'), field('hour'), field('minute'), field('second'));
  return wall - Math.floor(instantMs / 1_000) * 1_000;
}

/** The instant of a local time, given as if it were UTC. Gap: the first instant after it. Overlap: the first of the two. */
export function instantOf(zone: string, wallMs: number): number {
  const candidates = [offsetMs(zone, wallMs - DAY_MS), offsetMs(zone, wallMs + DAY_MS)]
    .map((offset) => wallMs - offset)
    .filter((instant) => instant + offsetMs(zone, instant) === wallMs);
  if (candidates.length > 0) return Math.min(...candidates);
  return changeBetween(zone, wallMs - DAY_MS, wallMs + DAY_MS) ?? wallMs - offsetMs(zone, wallMs);
}

/** True when this local time has already happened once: the second pass of an overlap. */
export function isSecondPass(zone: string, instantMs: number): boolean {
  const fallenBack = offsetMs(zone, instantMs - 3 * 3_600_000) - offsetMs(zone, instantMs);
  if (fallenBack <= 0) return false;
  return offsetMs(zone, instantMs - fallenBack) - fallenBack === offsetMs(zone, instantMs);
}

export interface Gap {
  /** First instant after the gap. */
  endMs: number;
  /** The local times that do not exist, as if UTC: from, up to and not including. */
  fromWallMs: number;
  toWallMs: number;
}

/** The first spring-forward gap that ends in (`afterMs`, `untilMs`]. Zones change at most once in a week. */
export function gapBetween(zone: string, afterMs: number, untilMs: number): Gap | undefined {
  for (let fromMs = afterMs; fromMs < untilMs; fromMs += 7 * DAY_MS) {
    const endMs = changeBetween(zone, fromMs, Math.min(fromMs + 7 * DAY_MS, untilMs));
    if (endMs === undefined) continue;
    const before = offsetMs(zone, endMs - 1);
    const after = offsetMs(zone, endMs);
    if (after > before) return { endMs, fromWallMs: endMs + before, toWallMs: endMs + after };
  }
  return undefined;
}

/** The instant in (`fromMs`, `toMs`] at which the offset changes, to the second. */
function changeBetween(zone: string, fromMs: number, toMs: number): number | undefined {
  const first = offsetMs(zone, fromMs);
  if (offsetMs(zone, toMs) === first) return undefined;
  let [low, high] = [fromMs, toMs];
  while (high - low > 1_000) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMs(zone, middle) === first) low = middle;
    else high = middle;
  }
  return Math.floor(high / MINUTE_MS) * MINUTE_MS;
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const found = formatters.get(zone);
  if (found) return found;
  if (formatters.size >= limits.cron.patternsMax) formatters.clear();
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  formatters.set(zone, made);
  return made;
}
