/** Next runs over a span of time, by the same arithmetic that the scheduler uses; bounded in days, jobs and steps. */
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Occurrence } from '../../ipc/contracts/cron.ts';
import { nextAfter } from './schedule.ts';
import type { JobRow } from './store.ts';
import { scheduleInWords } from './words.ts';

interface Span {
  fromMs: number;
  toMs: number;
  nowMs: number;
}

interface Calendar {
  runs: Occurrence[];
  often: (Occurrence & { words: string })[];
  truncated: boolean;
}

const DAY_MS = 86_400_000;

/** Enabled jobs in, the nearest first. Errors: INVALID_PARAMS. */
export function calendarOf(jobs: readonly { profile: string; job: JobRow }[], { fromMs, toMs, nowMs }: Span): Calendar {
  const days = (toMs - fromMs) / DAY_MS;
  if (!(days > 0) || days > limits.cron.calendarDaysMax) {
    throw new AgentError(
      'INVALID_PARAMS',
      `a calendar covers up to ${limits.cron.calendarDaysMax} days, from an earlier to a later instant`,
      {
        field: 'to',
        fix: 'ask for a shorter time',
      },
    );
  }
  const due = jobs.filter(({ job }) => job.nextRunMs !== null).toSorted((a, b) => a.job.nextRunMs! - b.job.nextRunMs!);
  const shown = due.slice(0, limits.cron.calendarJobsMax);
  const perJobMax = Math.ceil(days) * limits.cron.calendarPerDayMax;
  const answer: Calendar = { runs: [], often: [], truncated: shown.length < due.length };
  let steps = 0;
  for (const { profile, job } of shown) {
    const left = limits.cron.calendarStepsMax - steps;
    if (left <= 0) {
      answer.truncated = true;
      break;
    }
    const entry = (atMs: number): Occurrence => ({ job_id: job.id, profile, name: job.name, at: new Date(atMs).toISOString() });
    const found = occurrences(job, { fromMs: Math.max(fromMs, nowMs), toMs, max: Math.min(left, perJobMax + 1) });
    steps += found.length + 1;
    if (found.length > perJobMax) answer.often.push({ ...entry(found[0]!), words: scheduleInWords(job.schedule) });
    else answer.runs.push(...found.map(entry));
  }
  answer.runs.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
  return answer;
}

/** From the next run that is stored: a late one is claimed at once, so it is not drawn in the past. */
function occurrences(
  { schedule, nextRunMs, repeatTimes, repeatCompleted }: JobRow,
  span: { fromMs: number; toMs: number; max: number },
): number[] {
  const { fromMs, toMs, max } = span;
  const runsLeft = repeatTimes === null ? Infinity : repeatTimes - repeatCompleted;
  const found: number[] = [];
  let atMs: number | undefined = nextRunMs!;
  // With a bounded number of runs each of them counts; otherwise those before the span can be leapt over.
  if (atMs < fromMs && runsLeft === Infinity) atMs = nextAfter(schedule, fromMs - 1);
  for (let n = 0; atMs !== undefined && atMs <= toMs && n < runsLeft && n < max; n++, atMs = nextAfter(schedule, atMs)) {
    if (atMs >= fromMs) found.push(atMs);
  }
  return found;
}
