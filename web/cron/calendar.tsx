/** Next runs by day: a week beside each other where there is room, an agenda on a phone. */
import { useQuery } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight } from 'lucide-react';
import { useState } from 'react';
import type { CalendarRun } from '../../ipc/contracts/http/cron.ts';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { ahead, clock, ownZone } from './times.ts';

const DAYS = 7;
/** The service looks two months ahead. */
const WEEKS_AHEAD_MAX = 8;

export function Calendar({ onOpen }: { onOpen: (jobId: string) => void }) {
  const profile = useProfile();
  const [weeks, setWeeks] = useState(0);
  const days = daysOfWeek(weeks);
  const [from, to] = [days[0]!, addDays(days[0]!, DAYS)];
  const { data, error } = useQuery({
    queryKey: ['cron', profile, 'calendar', from.toISOString()],
    queryFn: ({ signal }) =>
      request('GET /api/cron/calendar', { query: { from: from.toISOString(), to: to.toISOString(), profile }, signal }),
    refetchInterval: 60_000,
  });
  const title = `${short(from)} to ${short(addDays(from, DAYS - 1))}`;
  return (
    <section aria-label="Calendar of next runs" className="grid min-w-0 gap-4">
      <div className="flex items-center gap-2">
        <IconButton label="Week before" disabled={weeks === 0} onClick={() => setWeeks(weeks - 1)}>
          <ChevronLeft size={18} />
        </IconButton>
        <IconButton label="Week after" disabled={weeks >= WEEKS_AHEAD_MAX} onClick={() => setWeeks(weeks + 1)}>
          <ChevronRight size={18} />
        </IconButton>
        <h2 className="text-[0.9375rem] font-semibold" aria-live="polite">
          {title}
        </h2>
        {weeks > 0 && (
          <Button weight="quiet" onClick={() => setWeeks(0)}>
            This week
          </Button>
        )}
        <span className="ml-auto text-xs text-soft max-sm:hidden">{ownZone()}</span>
      </div>
      {error && !data && <Problem thrown={error} />}
      {!data && !error && <Skeleton height={16} />}
      {data && (
        <>
          {data.often.length > 0 && (
            <p className="text-sm text-soft">
              Many times a day:{' '}
              {data.often.map(({ job_id, name, words, at }, n) => (
                <span key={job_id}>
                  {n > 0 && '; '}
                  <button type="button" className="text-ink underline-offset-2 hover:underline" onClick={() => onOpen(job_id)}>
                    {name}
                  </button>{' '}
                  ({words}
                  {weeks === 0 && <Ahead at={at} />})
                </span>
              ))}
              .
            </p>
          )}
          {data.truncated && <Notice tone="warn">There are more runs in this week than are shown here.</Notice>}
          <Week days={days} runs={data.runs} onOpen={onOpen} />
        </>
      )}
    </section>
  );
}

function Week({ days, runs, onOpen }: { days: readonly Date[]; runs: readonly CalendarRun[]; onOpen: (jobId: string) => void }) {
  const byDay = Map.groupBy(runs, ({ at }) => new Date(at).toDateString());
  return (
    <>
      {runs.length === 0 && <p className="text-sm text-soft">No run falls into this week.</p>}
      <ol className="grid gap-3 lg:grid-cols-7 lg:gap-0 lg:overflow-hidden lg:rounded-xl lg:border lg:border-line lg:bg-surface">
        {days.map((day) => {
          const found = byDay.get(day.toDateString()) ?? [];
          const isToday = isNow(day);
          return (
            <li
              key={day.toDateString()}
              aria-label={long(day)}
              aria-current={isToday ? 'date' : undefined}
              className={`min-w-0 border-line lg:min-h-72 lg:not-last:border-r ${found.length === 0 ? 'max-lg:hidden' : ''}`}
            >
              <p className={`border-line px-2.5 py-2 text-xs font-medium lg:border-b ${isToday ? 'text-accent' : 'text-soft'}`}>
                <span className="lg:hidden">{long(day)}</span>
                <span className="max-lg:hidden">{short(day)}</span>
                {isToday && ' · today'}
              </p>
              <ul className="grid gap-1 lg:p-1.5">
                {found.map(({ job_id, name, at }) => (
                  <li key={`${job_id} ${at}`} className="min-w-0">
                    <button
                      type="button"
                      title={`${clock(at)} ${name}`}
                      onClick={() => onOpen(job_id)}
                      className="flex w-full min-w-0 gap-2 rounded-md bg-tint px-2 py-1.5 text-left text-xs hover:outline hover:outline-accent max-lg:py-2 max-lg:text-sm"
                    >
                      <time dateTime={at} className="tabular-nums text-soft">
                        {clock(at)}
                      </time>
                      <span className="min-w-0 truncate">{name}</span>
                    </button>
                  </li>
                ))}
              </ul>
            </li>
          );
        })}
      </ol>
    </>
  );
}

const Ahead = ({ at }: { at: string }) => `, next ${ahead(at)}`;

const isNow = (day: Date): boolean => day.toDateString() === new Date().toDateString();

/** From today on: what is over is history. */
function daysOfWeek(weeks: number): Date[] {
  const today = new Date();
  const first = new Date(today.getFullYear(), today.getMonth(), today.getDate() + weeks * DAYS);
  return Array.from({ length: DAYS }, (_, n) => addDays(first, n));
}

/** By the calendar, so that a day of 23 hours is one, too. */
const addDays = (day: Date, count: number): Date => new Date(day.getFullYear(), day.getMonth(), day.getDate() + count);
const short = (day: Date): string => day.toLocaleDateString('en-GB', { weekday: 'short', day: 'numeric', month: 'short' });
const long = (day: Date): string => day.toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long' });
