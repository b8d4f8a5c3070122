/** A day of a slot's memory as a small line. The figures come from the supervisor's seven-day history. */
import { useQuery } from '@tanstack/react-query';
import { request } from '../api.ts';
import { megabytes } from '../app/format.ts';

const DAY_MS = 86_400_000;
/** A new point comes every 30 seconds. */
const LOOK_MS = 30_000;
const WIDTH = 72;
const HEIGHT = 16;

export function MemoryTrend({ slot }: { slot: string }) {
  const { data } = useQuery({
    queryKey: ['resources', slot],
    queryFn: ({ signal }) => request('GET /api/workers/:slot/resources', { params: { slot }, query: { since_ms: DAY_MS }, signal }),
    refetchInterval: LOOK_MS,
  });
  const sizes = data?.samples.map(({ rss_bytes }) => rss_bytes) ?? [];
  if (sizes.length < 2) return null;
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)];
  const label = `memory of the last day: ${megabytes(low)} to ${megabytes(high)}`;
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} className="mt-1 text-soft">
      <title>{label}</title>
      <polyline points={points(sizes, low, high)} fill="none" stroke="currentColor" strokeWidth="1.25" strokeLinejoin="round" />
    </svg>
  );
}

function points(sizes: readonly number[], low: number, high: number): string {
  const span = Math.max(high - low, 1);
  return sizes
    .map((size, n) => `${((n / (sizes.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 1 - ((size - low) / span) * (HEIGHT - 2)).toFixed(1)}`)
    .join(' ');
}
