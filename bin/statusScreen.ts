/**
 * The screen of `agent status --watch`: as many columns as the terminal is wide, as many rows as it is high, and a
 * trend of memory kept by the watcher itself. Pure: what was seen goes in, lines come out.
 */
import { formatDuration } from '../base/time.ts';
import type { Paint } from '../base/paint.ts';
import { visibleText } from '../base/visibleText.ts';
import type { Snapshot, WorkerRow } from './snapshot.ts';
import { causeOf, fateOf, pauseLines, pidText, problemLine, shownState, staleHead, upText } from './statusView.ts';
import { bytesForPeople, cutToWidth, visibleWidth } from './terminal.ts';

export interface Screen {
  columns: number;
  rows: number;
}

/** Memory of each slot as it was seen, newest last. */
export type Trend = Map<string, { pid: number | null; rss: number[] }>;

const BARS = '▁▂▃▄▅▆▇█';
const TREND_MAX = 12;

/** Adds what is seen now; a new process begins a new line. */
export function noteTrend(trend: Trend, workers: readonly WorkerRow[]): void {
  for (const { slot, pid, rss_bytes: rss } of workers) {
    const known = trend.get(slot);
    const line = known && known.pid === pid ? known : { pid, rss: [] };
    if (rss !== null) line.rss.push(rss);
    if (line.rss.length > TREND_MAX) line.rss.shift();
    trend.set(slot, line);
  }
}

/** Flat while it moves less than a twentieth: a picture of noise says nothing. */
export function sparkline(values: readonly number[]): string {
  const low = Math.min(...values);
  const span = Math.max(Math.max(...values) - low, low / 20, 1);
  return values.map((value) => BARS[Math.round(((value - low) / span) * (BARS.length - 1))]).join('');
}

interface Column {
  title: string;
  cell: (row: WorkerRow) => string;
  right?: boolean;
  /** The higher, the sooner it makes room. */
  spare: number;
}

/** All lines of the screen, none longer than it is wide, no more than it is high. */
export function statusScreen(
  snapshot: Snapshot,
  { screen, trend, paint, nowMs }: { screen: Screen; trend: Trend; paint: Paint; nowMs: number },
): string[] {
  const { status, live, pausedProfiles } = snapshot;
  const { supervisor, workers, paused, problems } = status;
  const head = live
    ? `${paint('bold', 'agent')} ${supervisor.version}  supervisor ${supervisor.pid}, up ${formatDuration(nowMs - Date.parse(supervisor.started_at))}  ${paint('dim', supervisor.home)}`
    : staleHead(snapshot, paint);
  const foot = footer({ workers, paused, pausedProfiles, problems, live, paint, nowMs });
  const room = Math.max(1, screen.rows - foot.length - 5);
  const shown = workers.length > room ? workersWithTrouble(workers).slice(0, room - 1) : workers;
  const table = tableLines(shown, { live, trend, paint, nowMs }, screen.columns);
  const hidden = workers.length - shown.length;
  const lines = [head, '', ...table, ...(hidden > 0 ? [paint('dim', `… and ${hidden} more, all well`)] : []), '', ...foot];
  return lines.slice(0, screen.rows).map((line) => cutToWidth(line, screen.columns));
}

/** Those that are not well stand first when not all can be shown. */
function workersWithTrouble(workers: readonly WorkerRow[]): WorkerRow[] {
  const isWell = ({ desired, state, liveness }: WorkerRow) => (desired !== 'up' || state === 'ready') && (liveness ?? 'ok') === 'ok';
  return [...workers.filter((row) => !isWell(row)), ...workers.filter(isWell)];
}

interface Look {
  live: boolean;
  trend: Trend;
  paint: Paint;
  nowMs: number;
}

function tableLines(rows: readonly WorkerRow[], look: Look, width: number): string[] {
  let columns = columnsFor(rows, look);
  for (;;) {
    const lines = laidOut(rows, columns, look.paint);
    // The note stands last and may be cut, as long as its beginning fits.
    const least = columns.at(-1)?.title === 'NOTE' ? [...columns.slice(0, -1), shortNote] : columns;
    const fits = laidOut(rows, least, look.paint).every((line) => visibleWidth(line) <= width);
    if (columns.length <= 2 || fits) return lines;
    const most = Math.max(...columns.map(({ spare }) => spare));
    columns = columns.filter(({ spare }) => spare !== most);
  }
}

function columnsFor(rows: readonly WorkerRow[], { live, trend, paint, nowMs }: Look): Column[] {
  const number = (value: number | null, unit = ''): string => (value === null ? '-' : `${value}${unit}`);
  const noted = rows.some((row) => fateOf(row, nowMs) !== '');
  return [
    { title: 'SLOT', cell: ({ slot }) => slot, spare: 0 },
    { title: 'STATE', cell: (row) => shownState(row, live, paint), spare: 0 },
    { title: 'UP', cell: (row) => upText(row, nowMs), right: true, spare: 1 },
    { title: 'MEMORY', cell: ({ rss_bytes: rss }) => (rss === null ? '-' : bytesForPeople(rss)), right: true, spare: 2 },
    { title: 'CPU', cell: ({ cpu_percent: cpu }) => number(cpu, '%'), right: true, spare: 3 },
    { title: 'RESTARTS', cell: ({ restarts }) => (restarts === 0 ? '0' : paint('yellow', String(restarts))), right: true, spare: 4 },
    { title: 'LAG', cell: ({ lag_ms: lag }) => (lag === null ? '-' : `${Math.round(lag)} ms`), right: true, spare: 6 },
    { title: 'FDS', cell: ({ fds }) => number(fds), right: true, spare: 7 },
    { title: 'PID', cell: (row) => pidText(row), right: true, spare: 8 },
    { title: 'TREND', cell: ({ slot }) => paint('cyan', sparkline(trend.get(slot)?.rss ?? [])), spare: 5 },
    { title: 'GROWTH', cell: ({ leak_bytes_per_hour: leak }) => growthText(leak), right: true, spare: 9 },
    ...(noted ? [{ title: 'NOTE', cell: (row: WorkerRow) => fateOf(row, nowMs), spare: 3.5 }] : []),
  ];
}

const shortNote: Column = { title: 'NOTE', cell: () => '.'.repeat(20), spare: 0 };

/** Nothing under a megabyte an hour is worth a look. */
const growthText = (leak: number | null): string =>
  leak === null || Math.abs(leak) < 1024 ** 2 ? '' : `${leak > 0 ? '+' : '-'}${bytesForPeople(Math.abs(leak))}/h`;

function laidOut(rows: readonly WorkerRow[], columns: readonly Column[], paint: Paint): string[] {
  const cells = [columns.map(({ title }) => paint('dim', title)), ...rows.map((row) => columns.map(({ cell }) => cell(row)))];
  const used = columns.map((_, i) => i).filter((i) => cells.slice(1).some((row) => row[i] !== '') || rows.length === 0);
  const widths = new Map(used.map((i) => [i, Math.max(...cells.map((row) => visibleWidth(row[i]!)))]));
  return cells.map((row) =>
    used
      .map((i) => {
        const gap = ' '.repeat(widths.get(i)! - visibleWidth(row[i]!));
        return columns[i]!.right ? gap + row[i]! : row[i]! + gap;
      })
      .join('  ')
      .trimEnd(),
  );
}

interface FootFacts extends Pick<Snapshot['status'], 'workers' | 'paused' | 'problems'>, Pick<Snapshot, 'pausedProfiles'> {
  live: boolean;
  paint: Paint;
  nowMs: number;
}

function footer({ workers, paused, pausedProfiles, problems, live, paint, nowMs }: FootFacts): string[] {
  const unwell = (live ? workers : []).filter(({ desired, state }) => desired === 'up' && state !== 'ready');
  const last = workers
    .flatMap(({ last_exit }) => (last_exit ? [last_exit] : []))
    .toSorted((a, b) => Date.parse(b.at) - Date.parse(a.at))[0];
  return [
    ...pauseLines(paused, pausedProfiles, nowMs)
      .slice(0, 3)
      .map((line) => paint('yellow', line)),
    ...unwell
      .slice(0, 3)
      .map((row) => `${paint('red', 'Not ready:')} ${row.slot} is ${row.state}${causeOf(row) ? `: ${causeOf(row)}` : ''}`),
    ...problems.slice(0, 3).map((problem) => problemLine(problem, paint)),
    ...(last ? [`${paint('dim', 'Last event:')} ${visibleText(last.summary)}, ${formatDuration(nowMs - Date.parse(last.at))} ago`] : []),
    paint('dim', 'q or ctrl-C ends'),
  ];
}
