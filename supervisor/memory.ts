/** When a slot has too much memory. Decided on resident memory alone: a heap says nothing of what lies outside it (lessons 30). */

export type MemoryVerdict = 'ok' | 'recycle' | 'kill';

export interface MemoryFacts {
  /** Above this it is drained and started again between two units of work; undefined = no limit. */
  softBytes: number | undefined;
  /** Above this it is killed at once. */
  hardBytes: number | undefined;
  /** Resident memory at the last samples of this incarnation, oldest first. */
  rssBytes: readonly number[];
}

/** One sample over the soft limit may be a peak; two in a row are a state. */
const SOFT_SAMPLES = 2;

export function judgeMemory({ softBytes, hardBytes, rssBytes }: MemoryFacts): MemoryVerdict {
  const last = rssBytes.at(-1);
  if (last === undefined) return 'ok';
  if (hardBytes !== undefined && last > hardBytes) return 'kill';
  const recent = rssBytes.slice(-SOFT_SAMPLES);
  if (softBytes !== undefined && recent.length === SOFT_SAMPLES && recent.every((bytes) => bytes > softBytes)) return 'recycle';
  return 'ok';
}

/**
 * Growth as the median of the slopes between all pairs of points (Theil–Sen): a third of the points may be
 * peaks without bending it. Units: bytes an hour. Null while the points span less than an hour.
 */
export function leakBytesPerHour(points: readonly { atMs: number; rssBytes: number }[]): number | null {
  const first = points[0];
  const last = points.at(-1);
  if (!first || !last || last.atMs - first.atMs < HOUR_MS) return null;
  const slopes: number[] = [];
  for (const [i, a] of points.entries()) {
    for (const b of points.slice(i + 1)) if (b.atMs > a.atMs) slopes.push(((b.rssBytes - a.rssBytes) / (b.atMs - a.atMs)) * HOUR_MS);
  }
  slopes.sort((a, b) => a - b);
  return Math.round(slopes[slopes.length >> 1]!);
}

const HOUR_MS = 3_600_000;
