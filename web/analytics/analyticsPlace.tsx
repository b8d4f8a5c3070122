/** Tokens and cost over time, by model and by source; the same figures as a table. `agent usage` prints them. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import type { RouteOf } from '../../ipc/contracts/http/table.ts';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { DataTable, type Column } from '../ui/dataTable.tsx';
import { Command } from '../ui/notice.tsx';
import { Card, Empty, PlaceBody, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { TimeChart, type TimeSeries } from '../ui/timeChart.tsx';

type Usage = AnswerOf<RouteOf<'GET /api/analytics/usage'>>;
type Sums = Usage['totals'];

const ranges = [
  { days: 7, label: '7 days' },
  { days: 30, label: '30 days' },
  { days: 90, label: '90 days' },
  { days: 365, label: 'a year' },
] as const;

export function AnalyticsPlace() {
  const profile = useProfile();
  const [days, setDays] = useState<number>(30);
  const { data, error, refetch } = useQuery({
    queryKey: ['usage', days, profile],
    queryFn: ({ signal }) => request('GET /api/analytics/usage', { query: { days, profile }, signal }),
    placeholderData: (before) => before,
  });
  return (
    <>
      <PlaceHeader title="Analytics" />
      <PlaceBody wide>
        <div className="flex flex-wrap items-center gap-3">
          <p className="min-w-0 flex-1 basis-60 text-sm text-soft">
            What conversations cost: tokens as providers counted them, money by the price table. <Command>agent usage</Command> prints the
            same.
          </p>
          <RangePicker days={days} onChange={setDays} />
        </div>
        {error && <Problem thrown={error} onRetry={() => void refetch()} />}
        {!data && !error && <Skeleton height={28} />}
        {data && (data.totals.api_calls > 0 ? <Figures usage={data} /> : <Nothing days={data.period_days} />)}
      </PlaceBody>
    </>
  );
}

function RangePicker({ days, onChange }: { days: number; onChange: (days: number) => void }) {
  return (
    <div role="group" aria-label="Period" className="flex flex-wrap gap-1">
      {ranges.map((range) => (
        <button
          key={range.days}
          type="button"
          aria-pressed={range.days === days}
          onClick={() => onChange(range.days)}
          className="h-8 rounded-lg px-3 text-sm font-medium text-soft hover:bg-sunken aria-pressed:bg-tint aria-pressed:text-accent"
        >
          {range.label}
        </button>
      ))}
    </div>
  );
}

function Nothing({ days }: { days: number }) {
  return (
    <Empty title={`Nobody talked to a model in the last ${days} days`}>
      Figures come with the first conversation.{' '}
      <Link to="/" className="text-accent underline underline-offset-2">
        Begin one
      </Link>
      , or choose a longer period.
    </Empty>
  );
}

function Figures({ usage }: { usage: Usage }) {
  const { daily, by_model, by_source, totals } = usage;
  return (
    <>
      <Totals totals={totals} />
      <Charts usage={usage} />
      <Section title="By model">
        <DataTable
          label="By model"
          rows={by_model}
          keyOf={({ provider, model }) => `${provider}/${model}`}
          columns={[{ name: 'Model', cell: ({ provider, model }) => <Name first={model} second={provider} /> }, ...sumColumns]}
        />
      </Section>
      <Section title="By source">
        <DataTable
          label="By source"
          rows={by_source}
          keyOf={({ source }) => source}
          columns={[
            { name: 'Source', cell: ({ source }) => <span className="break-all">{source}</span> },
            { name: 'Sessions', figures: true, cell: ({ sessions }) => count(sessions) },
            ...sumColumns,
          ]}
        />
      </Section>
      <Section title="By day">
        <DataTable
          label="By day"
          rows={daily.toReversed()}
          keyOf={({ day }) => day}
          columns={[
            { name: 'Day', cell: ({ day }) => <span className="tabular-nums">{day}</span> },
            { name: 'Sessions', figures: true, cell: ({ sessions }) => count(sessions) },
            ...sumColumns,
          ]}
        />
      </Section>
    </>
  );
}

function Totals({ totals }: { totals: Sums }) {
  const tiles = [
    {
      name: 'Cost',
      value: money(totals.estimated_cost),
      note: totals.unpriced_calls > 0 ? `${count(totals.unpriced_calls)} without a known price` : 'by the price table',
    },
    {
      name: 'Tokens in',
      value: count(totals.input_tokens),
      note: `${share(totals.cache_read_tokens, totals.input_tokens)} from the cache`,
    },
    { name: 'Tokens out', value: count(totals.output_tokens), note: `${count(totals.reasoning_tokens)} of them reasoning` },
    { name: 'Turns', value: count(totals.turns), note: `${count(totals.api_calls)} model calls, ${count(totals.tool_calls)} tool calls` },
    { name: 'Sessions', value: count(totals.sessions), note: 'with at least one answer' },
  ];
  return (
    <dl className="grid grid-cols-2 gap-3 md:grid-cols-5">
      {tiles.map(({ name, value, note }) => (
        <Card key={name}>
          <dt className="text-xs text-soft">{name}</dt>
          <dd className="text-xl font-semibold tabular-nums">{value}</dd>
          <dd className="text-xs text-soft">{note}</dd>
        </Card>
      ))}
    </dl>
  );
}

function Charts({ usage }: { usage: Usage }) {
  const { times, tokens, cost } = useMemo(() => chartsOf(usage), [usage]);
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-6 lg:grid-cols-2">
      <Section title="Tokens a day">
        <Card>
          <TimeChart label="Tokens of each day; the table By day holds the figures" times={times} series={tokens} />
          <p className="mt-1 text-xs text-soft">
            <span className="font-medium text-accent">Tokens in</span> at the left,{' '}
            <span className="font-medium text-warn">tokens out</span> at the right.
          </p>
        </Card>
      </Section>
      <Section title="Cost a day">
        <Card>
          <TimeChart label="Cost of each day; the table By day holds the figures" times={times} series={cost} />
          <p className="mt-1 text-xs text-soft">US dollars by the price table.</p>
        </Card>
      </Section>
    </div>
  );
}

/** Days without a word count as zero, so that a gap looks like one. */
function chartsOf({ daily, since, period_days }: Usage): { times: number[]; tokens: TimeSeries[]; cost: TimeSeries[] } {
  const known = new Map(daily.map((row) => [row.day, row]));
  const start = new Date(since);
  const days = Array.from({ length: period_days }, (_, n) => new Date(start.getFullYear(), start.getMonth(), start.getDate() + n));
  const rows = days.map((day) => known.get(dayName(day)));
  return {
    times: days.map((day) => day.getTime() / 1_000),
    tokens: [
      { label: 'in', colour: 'accent', values: rows.map((row) => row?.input_tokens ?? 0), format: short, bars: true },
      { label: 'out', colour: 'warn', values: rows.map((row) => row?.output_tokens ?? 0), format: short },
    ],
    cost: [{ label: 'cost', colour: 'good', values: rows.map((row) => row?.estimated_cost ?? 0), format: shortMoney, bars: true }],
  };
}

const dayName = (day: Date): string =>
  `${day.getFullYear()}-${String(day.getMonth() + 1).padStart(2, '0')}-${String(day.getDate()).padStart(2, '0')}`;

const sumColumns: Column<Pick<Sums, 'input_tokens' | 'output_tokens' | 'estimated_cost' | 'turns'>>[] = [
  { name: 'Tokens in', figures: true, cell: ({ input_tokens }) => count(input_tokens) },
  { name: 'Tokens out', figures: true, cell: ({ output_tokens }) => count(output_tokens) },
  { name: 'Cost', figures: true, cell: ({ estimated_cost }) => money(estimated_cost) },
  { name: 'Turns', figures: true, cell: ({ turns }) => count(turns) },
];

function Name({ first, second }: { first: string; second: string }) {
  return (
    <span className="break-all">
      <span className="font-medium">{first}</span> <span className="text-soft">{second}</span>
    </span>
  );
}

const count = (value: number): string => Math.round(value).toLocaleString('en');
const money = (dollars: number): string => `$${dollars.toFixed(dollars > 0 && dollars < 0.995 ? 4 : 2)}`;
const share = (part: number, whole: number): string => `${whole > 0 ? Math.round((part / whole) * 100) : 0} %`;
const shortMoney = (dollars: number): string => `$${+dollars.toPrecision(3)}`;
/** `1.2M`: there is little room beside a chart. */
const short = (value: number): string =>
  value >= 1e6 ? `${+(value / 1e6).toFixed(1)}M` : value >= 1e3 ? `${+(value / 1e3).toFixed(1)}k` : String(Math.round(value));
