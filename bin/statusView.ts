/** The table of `agent status`, for people. */
import { formatDuration } from '../base/time.ts';
import type { Paint, Style } from '../base/paint.ts';
import { visibleText } from '../base/visibleText.ts';
import type { WaitingWork } from '../ipc/contracts/peer.ts';
import { resumeCommand } from '../state/pause.ts';
import type { ProfilePause, Snapshot, WorkerRow } from './snapshot.ts';
import { bytesForPeople, table } from './terminal.ts';

const stateStyle: Record<WorkerRow['state'], Style> = {
  ready: 'green',
  starting: 'yellow',
  draining: 'yellow',
  backoff: 'yellow',
  parked: 'red',
  down: 'dim',
};

export function statusView(snapshot: Snapshot, paint: Paint, nowMs = Date.now()): string {
  const { status, live, pausedProfiles } = snapshot;
  const { supervisor, paused, problems, workers } = status;
  const head = live
    ? `${paint('bold', 'agent')} ${supervisor.version}  supervisor ${supervisor.pid}, up ${since(supervisor.started_at, nowMs)}  ${paint('dim', supervisor.home)}`
    : staleHead(snapshot, paint);
  const rows = workers.map((row) => cells(row, live, paint, nowMs));
  const lines = [head, '', table([header.map((title) => paint('dim', title)), ...rows])];
  if (live)
    lines.push('', supervisor.dashboard ? `Dashboard: ${withoutToken(supervisor.dashboard)}` : paint('dim', 'Dashboard: not ready'));
  lines.push(...pauseLines(paused, pausedProfiles, nowMs).map((line) => paint('yellow', line)));
  for (const { slot, waiting = [] } of live ? workers : [])
    lines.push(...waiting.map((one) => paint('yellow', `${slot} ${waitingLine(one)}`)));
  for (const line of unreadyLines(live ? workers : [])) lines.push(`${paint('red', 'Not ready:')} ${line}`);
  for (const problem of problems) lines.push(problemLine(problem, paint));
  return lines.join('\n');
}

/** First line above rows that no supervisor keeps true. */
export function staleHead({ status, supervisor: state, ageMs }: Snapshot, paint: Paint): string {
  const { pid, home } = status.supervisor;
  const head = state === 'gone' ? `No supervisor runs on ${home}.` : `The supervisor (process ${pid}) of ${home} is not responding.`;
  return `${paint(state === 'gone' ? 'yellow' : 'red', head)} This is its last snapshot (${formatDuration(ageMs)} old), with every process checked now.`;
}

export const problemLine = ({ what, fix }: Snapshot['status']['problems'][number], paint: Paint): string =>
  `${paint('red', 'Problem:')} ${visibleText(`${what} — ${fix}`)}`;

/** Accepted work that is kept: how much, for which slot, and why. */
export const waitingLine = ({ held, slot, reason }: WaitingWork): string => `held: ${held}, waiting for ${slot} (${visibleText(reason)})`;

/** The wanted slots that are not ready, one sentence each. */
export function unreadyLines(workers: readonly WorkerRow[]): string[] {
  return workers
    .filter(({ desired, state }) => desired === 'up' && state !== 'ready')
    .map((row) => {
      const cause = causeOf(row);
      return `${row.slot} is ${row.shortage ? 'waiting' : row.state}${cause ? `: ${cause}` : ''}`;
    });
}

/** Why it is as it is; a reason that begins with the state's own name need not say it twice. What a program said in it steers no terminal. */
export function causeOf({ state, reason, last_exit }: WorkerRow): string | undefined {
  const cause = reason?.replace(`${state}: `, '') ?? last_exit?.summary;
  return cause === undefined ? undefined : visibleText(cause);
}

const header = ['SLOT', 'STATE', 'PID', 'UP', 'RESTARTS', 'MEMORY', 'CPU', 'FDS', 'NOTE'];

function cells(row: WorkerRow, live: boolean, paint: Paint, nowMs: number): string[] {
  const { slot, pid, restarts, rss_bytes: rss, cpu_percent: cpu, fds } = row;
  const here = pid !== null;
  return [
    slot,
    shownState(row, live, paint),
    pidText(row),
    upText(row, nowMs),
    String(restarts),
    rss === null || !here ? '-' : bytesForPeople(rss),
    cpu === null || !here ? '-' : `${cpu}%`,
    fds === null || !here ? '-' : String(fds),
    shortened(fateOf(row, nowMs)),
  ];
}

/** Without a supervisor that responds a worker may run on alone. */
export function shownState({ state, pid, liveness, gone }: WorkerRow, live: boolean, paint: Paint): string {
  if (gone) return paint('dim', 'gone');
  if (!live && pid !== null) return paint('yellow', 'alone');
  return liveness && liveness !== 'ok' ? paint('yellow', liveness) : paint(stateStyle[state], state);
}

export const pidText = ({ pid }: WorkerRow): string => (pid === null ? '-' : String(pid));

export const upText = ({ pid, state, since: at }: WorkerRow, nowMs: number): string =>
  pid !== null && state !== 'down' ? since(at, nowMs) : '-';

/** What became of it and what comes next; empty when there is nothing to say. */
export function fateOf(row: WorkerRow, nowMs: number): string {
  const { state, desired, reason, last_exit, next_start_at } = row;
  const next = next_start_at ? `next start in ${formatDuration(Math.max(0, Date.parse(next_start_at) - nowMs))}` : undefined;
  const ended = last_exit
    ? `${visibleText(last_exit.summary)}, ${since(last_exit.at, nowMs)} ago`
    : state === 'down' && desired === 'demand'
      ? 'starts when needed'
      : '';
  return [next, reason === null ? ended : causeOf(row)].filter(Boolean).join('; ');
}

/** What holds every profile first, then what holds one alone. */
export function pauseLines(all: Snapshot['status']['paused'], ofOne: readonly ProfilePause[], nowMs: number): string[] {
  return [...(all ? [pauseLine(all, nowMs)] : []), ...ofOne.map((pause) => pauseLine(pause, nowMs))];
}

function pauseLine(
  {
    reason,
    engaged_at,
    expires_at,
    scope,
    held: waiting = 0,
    profile,
  }: Partial<Pick<ProfilePause, 'profile'>> & Omit<ProfilePause, 'profile'> & { held?: number },
  nowMs: number,
): string {
  const what = scope.length ? visibleText(scope.join(' and ')) : 'automation';
  const [has, is] = scope.length > 1 ? ['have', 'are'] : ['has', 'is'];
  const held = engaged_at ? `${has} been held for ${since(engaged_at, nowMs)}` : `${is} held`;
  const count = waiting > 0 ? `, ${waiting} waiting` : '';
  const end = expires_at ? `, ends in ${formatDuration(Math.max(0, Date.parse(expires_at) - nowMs))}` : '';
  const whose = profile === undefined ? '' : ` of ${profile}`;
  return `Paused: ${what}${whose} ${held}${count}${end}${reason ? ` (${visibleText(reason)})` : ''} — ${resumeCommand(profile)} lifts it`;
}

/** A page address may carry the login token; a status that gets pasted somewhere must not. */
export const withoutToken = (address: string): string => address.replace(/[?#].*$/, '');

/** Longer notes would break the table; they stand in full below it. */
const NOTE_MAX = 70;
const shortened = (text: string): string => (text.length > NOTE_MAX ? `${text.slice(0, NOTE_MAX - 1)}…` : text);

const since = (at: string, nowMs: number): string => formatDuration(Math.max(0, nowMs - Date.parse(at)));
