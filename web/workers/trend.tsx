/** A day of a slot's memory or CPU as a small line. The figures come from the supervisor's seven-day history. */
import { useQuery } from '@tanstack/react-query';
import type { ResourceSample } from '../../ipc/contracts/supervisor.ts';
import { request } from '../api.ts';
import { megabytes } from '../app/format.ts';

const DAY_MS = 86_400_000;
/** A new point comes every 30 seconds. */
const LOOK_MS = 30_000;
const WIDTH = 72;
const HEIGHT = 16;

export function useResources(slot: string, sinceMs: number) {
  return useQuery({
    queryKey: ['resources', slot, sinceMs],
    queryFn: ({ signal }) => request('GET /api/workers/:slot/resources', { params: { slot }, query: { since_ms: sinceMs }, signal }),
    refetchInterval: LOOK_MS,
  });
}

const figures = {
  memory: { of: ({ rss_bytes }: ResourceSample) => rss_bytes, words: megabytes },
  CPU: { of: ({ cpu_percent }: ResourceSample) => cpu_percent, words: (value: number) => `${value.toFixed(1)} %` },
} as const;

export function Trend({ slot, what }: { slot: string; what: keyof typeof figures }) {
  const { data } = useResources(slot, DAY_MS);
  const { of, words } = figures[what];
  const values = data?.samples.map(of) ?? [];
  if (values.length < 2) return <span className="mt-1 block h-4" />;
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const label = `${what} of the last day: ${words(low)} to ${words(high)}`;
  return (
    <svg width={WIDTH} height={HEIGHT} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label} className="mt-1 text-soft">
      <title>{label}</title>
      <polyline points={points(values, low, high)} fill="none" stroke="currentColor" strokeWidth="1.25" strokeLinejoin="round" />
    </svg>
  );
}

/** At most so many points as there are pixels. */
function points(all: readonly number[], low: number, high: number): string {
  const values = all.length <= WIDTH * 2 ? all : all.filter((_, n) => n % Math.ceil(all.length / (WIDTH * 2)) === 0);
  const span = Math.max(high - low, Number.EPSILON);
  return values
    .map(
      (value, n) => `${((n / (values.length - 1)) * WIDTH).toFixed(1)},${(HEIGHT - 1 - ((value - low) / span) * (HEIGHT - 2)).toFixed(1)}`,
    )
    .join(' ');
}
