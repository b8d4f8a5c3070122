/** Everything about one worker: how it is, why it ended, what it used, what was done with it, what it last wrote. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { printedLine } from '../../base/visibleText.ts';
import type { Receipt, WorkerStatus } from '../../ipc/contracts/supervisor.ts';
import { request } from '../api.ts';
import { age, duration, megabytes, sentence } from '../app/format.ts';
import { CopyButton } from '../ui/copyButton.tsx';
import { DataTable } from '../ui/dataTable.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Badge, WithCode } from '../ui/notice.tsx';
import { Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { TimeChart, type TimeSeries } from '../ui/timeChart.tsx';
import { useResources } from './trend.tsx';

export function WorkerPanel({ worker, onClose }: { worker: WorkerStatus | null; onClose: () => void }) {
  return (
    <Dialog open={worker !== null} onClose={onClose} title={worker?.slot ?? ''} wide>
      {worker && <Details key={worker.slot} worker={worker} />}
    </Dialog>
  );
}

function Details({ worker }: { worker: WorkerStatus }) {
  const { slot } = worker;
  return (
    <div className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-6 pb-4">
      <Facts worker={worker} />
      <WhySection slot={slot} />
      <History slot={slot} />
      <Receipts slot={slot} />
      <LastLines slot={slot} />
    </div>
  );
}

function Facts({ worker }: { worker: WorkerStatus }) {
  const { state, pid, since, ready_ms, restarts, rss_bytes, cpu_percent, lag_ms, fds, leak_bytes_per_hour, liveness, adopted } = worker;
  const facts: [string, string][] = [
    ['Process', pid === null ? 'none' : String(pid)],
    ['Since', new Date(since).toLocaleString()],
    ['Ready after', ready_ms === null ? '–' : duration(ready_ms)],
    ['Unplanned restarts', String(restarts)],
    ['Memory', rss_bytes === null ? '–' : megabytes(rss_bytes)],
    ['CPU', cpu_percent === null ? '–' : `${cpu_percent.toFixed(1)} %`],
    ['Loop delay', lag_ms === null ? '–' : duration(lag_ms)],
    ['Open files', fds === null ? '–' : String(fds)],
    ['Memory grows by', leak_bytes_per_hour === null ? 'not known yet' : `${megabytes(leak_bytes_per_hour)} an hour`],
    ['Liveness', liveness ?? '–'],
  ];
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap gap-2">
        <Badge tone={state === 'ready' ? 'good' : state === 'parked' ? 'bad' : 'neutral'}>{state}</Badge>
        {adopted && <Badge tone="neutral">taken over from an earlier supervisor</Badge>}
      </div>
      <dl className="grid grid-cols-2 gap-x-6 gap-y-2 text-sm sm:grid-cols-3">
        {facts.map(([name, value]) => (
          <div key={name} className="min-w-0">
            <dt className="text-xs text-soft">{name}</dt>
            <dd className="truncate tabular-nums">{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

function WhySection({ slot }: { slot: string }) {
  const { data, error } = useQuery({
    queryKey: ['why', slot],
    queryFn: ({ signal }) => request('GET /api/workers/:slot/why', { params: { slot }, query: { last: 5 }, signal }),
  });
  return (
    <Section title="Why">
      {error && <Problem thrown={error} />}
      {!data && !error && <Skeleton lines={2} />}
      {data && (
        <div className="grid min-w-0 gap-2 text-sm">
          <p>
            <WithCode text={sentence(withLocalTimes(data.sentence))} />
          </p>
          {data.fix && (
            <p className="text-soft">
              <WithCode text={sentence(data.fix)} />
            </p>
          )}
          {data.times > 1 && data.first_at && (
            <p className="text-soft">
              {data.times} ends of this kind are on record, the first {inPast(data.first_at)}.
            </p>
          )}
          {data.tail.length > 0 && <Lines label="Its last lines" lines={data.tail.slice(-15)} />}
          {data.ends.length > 1 && (
            <ul className="grid gap-1 text-soft">
              {data.ends.slice(1).map(({ pid, last_exit }) => (
                <li key={`${pid} ${last_exit.at}`}>
                  {new Date(last_exit.at).toLocaleString()}: <WithCode text={last_exit.summary} />
                </li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Section>
  );
}

const ranges = [
  { label: '1 h', words: 'the last hour', ms: 3_600_000 },
  { label: '24 h', words: 'the last day', ms: 86_400_000 },
  { label: '7 d', words: 'the last seven days', ms: 604_800_000 },
] as const;

function History({ slot }: { slot: string }) {
  const [range, setRange] = useState<(typeof ranges)[number]>(ranges[0]);
  const { data, error } = useResources(slot, range.ms);
  const { times, series } = useMemo(() => {
    const samples = data?.samples ?? [];
    const of: TimeSeries[] = [
      { label: 'Memory', colour: 'accent', values: samples.map(({ rss_bytes }) => rss_bytes), format: megabytes },
      { label: 'CPU', colour: 'warn', values: samples.map(({ cpu_percent }) => cpu_percent), format: (value) => `${value.toFixed(1)} %` },
    ];
    return { times: samples.map(({ at }) => Date.parse(at) / 1_000), series: of };
  }, [data]);
  const sizes = data?.samples.map(({ rss_bytes }) => rss_bytes) ?? [];
  const words =
    sizes.length > 0
      ? `Memory and CPU of ${range.words}: between ${megabytes(Math.min(...sizes))} and ${megabytes(Math.max(...sizes))}`
      : `Nothing was measured in ${range.words}`;
  return (
    <Section
      title="Memory and CPU"
      actions={
        <div role="group" aria-label="Range" className="flex gap-1">
          {ranges.map((one) => (
            <button
              key={one.label}
              type="button"
              aria-pressed={one === range}
              onClick={() => setRange(one)}
              className="h-7 rounded-lg px-2.5 text-xs font-medium text-soft hover:bg-sunken aria-pressed:bg-tint aria-pressed:text-accent"
            >
              {one.label}
            </button>
          ))}
        </div>
      }
    >
      {error && <Problem thrown={error} />}
      {sizes.length > 1 ? (
        <>
          <TimeChart label={words} times={times} series={series} />
          <p className="text-xs text-soft">
            <span className="font-medium text-accent">Memory</span> at the left, <span className="font-medium text-warn">CPU</span> at the
            right. {words}.
          </p>
        </>
      ) : (
        !error && (
          <p className="text-sm text-soft">{data ? 'Not enough has been measured yet; a point comes every 30 seconds.' : 'Loading…'}</p>
        )
      )}
    </Section>
  );
}

function Receipts({ slot }: { slot: string }) {
  const { data, error } = useQuery({
    queryKey: ['receipts', slot],
    queryFn: ({ signal }) => request('GET /api/workers/:slot/receipts', { params: { slot }, query: { limit: 10 }, signal }),
  });
  return (
    <Section title="Receipts" lead="Starts, stops and restarts that somebody asked for.">
      {error && <Problem thrown={error} />}
      {data && data.receipts.length === 0 && <p className="text-sm text-soft">None yet.</p>}
      {data && data.receipts.length > 0 && (
        <DataTable<Receipt>
          label="Receipts"
          rows={data.receipts}
          keyOf={({ at, action }) => `${at} ${action}`}
          columns={[
            { name: 'When', cell: ({ at }) => new Date(at).toLocaleString() },
            { name: 'What', cell: ({ action, actor }) => `${action}, by ${actor}` },
            {
              name: 'Result',
              cell: ({ ok, error: why, ready_ms }) =>
                ok ? `done${ready_ms === null ? '' : `, ready in ${duration(ready_ms)}`}` : <WithCode text={why ?? 'failed'} />,
            },
            { name: 'Away', figures: true, cell: ({ downtime_ms }) => (downtime_ms === null ? '–' : duration(downtime_ms)) },
          ]}
        />
      )}
    </Section>
  );
}

function LastLines({ slot }: { slot: string }) {
  const { data, error } = useQuery({
    queryKey: ['workerLog', slot],
    queryFn: ({ signal }) => request('GET /api/workers/:slot/logs', { params: { slot }, query: { lines: 8 }, signal }),
    refetchInterval: 5_000,
  });
  return (
    <Section
      title="Log"
      actions={
        data && (
          <Link to="/logs" search={{ file: data.file } as never} className="text-sm text-accent underline underline-offset-2">
            Open in Logs
          </Link>
        )
      }
    >
      {error && <Problem thrown={error} />}
      {data &&
        (data.lines.length > 0 ? (
          <Lines label="The end of its log" lines={data.lines} />
        ) : (
          <p className="text-sm text-soft">It has written nothing.</p>
        ))}
    </Section>
  );
}

function Lines({ label, lines }: { label: string; lines: readonly string[] }) {
  return (
    <div className="relative min-w-0">
      <pre
        aria-label={label}
        tabIndex={0}
        className="max-h-56 overflow-auto rounded-lg bg-sunken p-3 pr-10 font-mono text-xs break-words whitespace-pre-wrap"
      >
        {lines.map(printedLine).join('\n')}
      </pre>
      <CopyButton text={lines.join('\n')} label="Copy these lines" className="absolute top-1 right-1" />
    </div>
  );
}

/** The service writes instants as programs read them. */
const withLocalTimes = (text: string): string => text.replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => new Date(at).toLocaleString());

const inPast = (at: string): string => (age(at) === 'now' ? 'a moment ago' : `${age(at)} ago`);
