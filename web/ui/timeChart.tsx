/** Values over time, drawn by uPlot. For the eye; whoever cannot see it needs the same figures as words or a table beside it. */
import { useEffect, useRef, useState } from 'react';
import type uPlot from 'uplot';
import { useObservable } from '../app/context.ts';
import { isDark, theme } from '../app/theme.ts';
import { Skeleton } from './place.tsx';

export interface TimeSeries {
  label: string;
  /** A colour of the palette: `accent`, `warn`. */
  colour: 'accent' | 'warn' | 'good' | 'bad' | 'soft';
  values: readonly (number | null)[];
  format: (value: number) => string;
  bars?: boolean;
}

interface TimeChartProps {
  /** What is drawn, in a sentence. */
  label: string;
  /** Seconds since the epoch, rising. */
  times: readonly number[];
  /** One or two; the second has its own scale at the right. */
  series: readonly TimeSeries[];
  height?: number;
}

export function TimeChart({ label, times, series, height = 180 }: TimeChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drawn, setDrawn] = useState(false);
  const look = useObservable(theme);

  useEffect(() => {
    let plot: uPlot | undefined;
    let gone = false;
    const observer = new ResizeObserver(([entry]) => entry && plot?.setSize({ width: entry.contentRect.width, height }));
    const draw = async () => {
      const { uPlot: Plot } = await import('./plot.ts');
      if (gone || !box.current) return;
      plot = new Plot(
        options(Plot, { series, height, width: box.current.clientWidth }),
        [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData,
        box.current,
      );
      observer.observe(box.current);
      setDrawn(true);
    };
    draw().catch(() => {});
    return () => {
      gone = true;
      observer.disconnect();
      plot?.destroy();
    };
  }, [times, series, height, look]);

  return (
    <div role="img" aria-label={label} className="relative min-w-0" style={{ minHeight: height }}>
      <div ref={box} className="min-w-0 overflow-hidden" />
      {!drawn && (
        <div className="absolute inset-0">
          <Skeleton height={height / 16} />
        </div>
      )}
    </div>
  );
}

function options(
  Plot: typeof uPlot,
  { series, height, width }: { series: readonly TimeSeries[]; height: number; width: number },
): uPlot.Options {
  const colour = (name: string) => resolved(`var(--color-${name})`);
  const grid = { stroke: colour('line'), width: 1 };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true }, ...Object.fromEntries(series.map((_, n) => [scaleOf(n), { range: fromZero }])) },
    axes: [
      { stroke: colour('soft'), grid: { show: false }, ticks: grid, values: clockValues },
      ...series.map(({ format }, n): uPlot.Axis => ({
        scale: scaleOf(n),
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- left and right; the names of the enum are declared, not shipped
        side: n === 0 ? 3 : 1,
        stroke: colour('soft'),
        grid: n === 0 ? grid : { show: false },
        ticks: { show: false },
        size: 64,
        values: (_: uPlot, values: number[]) => values.map(format),
      })),
    ],
    series: [
      {},
      ...series.map(({ label, colour: name, bars }, n) => ({
        label,
        scale: scaleOf(n),
        stroke: colour(name),
        width: bars ? 0 : 1.5,
        points: { show: false },
        ...(bars ? { paths: Plot.paths.bars!({ size: [0.7, 40] }), fill: colour(name) } : {}),
      })),
    ],
    plugins: [readout(series)],
  };
}

const scaleOf = (n: number): string => (n === 0 ? 'y' : 'y2');
const fromZero = (_: uPlot, __: number, max: number): [number, number] => [0, max > 0 ? max * 1.1 : 1];

/** Times of a day, days, or both where midnight is crossed. */
function clockValues(_: uPlot, splits: number[], __: number, ___: number, stepSeconds: number): string[] {
  return splits.map((at) => {
    const time = new Date(at * 1_000);
    if (stepSeconds >= 86_400 || (time.getHours() === 0 && time.getMinutes() === 0)) {
      return time.toLocaleDateString(undefined, { day: 'numeric', month: 'short' });
    }
    return time.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  });
}

/** The figures under the pointer, as text over the chart. */
function readout(series: readonly TimeSeries[]): uPlot.Plugin {
  let words: HTMLElement | undefined;
  return {
    hooks: {
      init: (plot) => {
        words = document.createElement('div');
        words.className =
          'pointer-events-none absolute top-1 right-2 z-10 rounded-md bg-paper px-2 py-0.5 text-xs text-soft tabular-nums opacity-90';
        words.hidden = true;
        plot.over.append(words);
      },
      setCursor: (plot) => {
        const { idx } = plot.cursor;
        if (!words) return;
        words.hidden = idx === null || idx === undefined;
        if (idx === null || idx === undefined) return;
        const at = new Date(plot.data[0][idx]! * 1_000);
        const values = series.flatMap(({ label, values: all, format }) => {
          const value = all[idx];
          return value === null || value === undefined ? [] : [`${label} ${format(value)}`];
        });
        words.textContent = [
          at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: series[0]?.bars ? undefined : 'short' }),
          ...values,
        ].join(' · ');
      },
    },
  };
}

/** A canvas knows no custom properties. */
function resolved(value: string): string {
  const probe = document.body.appendChild(document.createElement('span'));
  probe.style.color = value;
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color || (isDark() ? '#ffffff' : '#000000');
}
