/**
 * `run/supervisor.json`: which process the supervisor is, written when it starts and again at a planned end. A record of
 * a dead process without that end means that it was killed or crashed; the next supervisor and `agent why` explain it.
 */
import { readFileSync, statSync } from 'node:fs';
import { digest } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { readRegularText } from '../base/regularFile.ts';
import { formatDuration } from '../base/time.ts';
import { readJson, writeJsonAtomic } from './atomicFile.ts';
import type { Home } from './home.ts';
import { bootId, isSameProcess, type ProcessIdentity } from './processIdentity.ts';

export interface SupervisorRecord extends ProcessIdentity {
  started_at: string;
  version: string;
  code: string;
  /** Processes that the kernel of this host had ended for lack of memory by then; null where it does not count. */
  oom_kills: number | null;
  /** Set at a planned end. */
  ended_at?: string;
}

/** Not durable: worth nothing after a power cut. Errors: DISK_FULL, HOME_UNUSABLE. */
export const writeSupervisorRecord = (home: Home, record: SupervisorRecord): void =>
  writeJsonAtomic(home.run.supervisor, record, { durable: false });

export interface UnplannedEnd {
  pid: number;
  /** When it was last known to run. */
  at: string;
  livedMs: number;
  /** A whole sentence. */
  summary: string;
  fix: string | null;
  signature: string;
  /** What it printed last, where its output was kept. */
  tail: string[];
  version: string;
  code: string;
}

/** The end of the last supervisor, unless it was planned or the process lives. Never throws. */
export function unplannedEnd(home: Home): UnplannedEnd | undefined {
  const record = read(home);
  if (!record || record.ended_at !== undefined || isSameProcess(record)) return undefined;
  const startedMs = Date.parse(record.started_at);
  const at = lastSeen(home) ?? record.started_at;
  const livedMs = Math.max(0, Date.parse(at) - startedMs);
  const tail = lastOutput(home, startedMs);
  const { cause, kind, fix } = causeOf(home, record, tail);
  return {
    pid: record.pid,
    at,
    livedMs,
    summary: `the supervisor (process ${record.pid}) ${cause}, after ${formatDuration(livedMs)}`,
    fix,
    signature: digest(`supervisor ${kind}`, 12),
    tail,
    version: record.version,
    code: record.code,
  };
}

function causeOf(home: Home, record: SupervisorRecord, tail: readonly string[]): { cause: string; kind: string; fix: string | null } {
  if (record.boot_id !== bootId()) return { cause: 'ended when the host restarted', kind: 'host restarted', fix: null };
  const memory = 'see `dmesg` for what the kernel ended, and give the host or the container more memory';
  if (tail.some((line) => /heap out of memory|Reached heap limit/.test(line)))
    return { cause: 'ran out of JavaScript heap memory', kind: 'heap', fix: 'report it with `agent logs supervisor`' };
  const { recorded, alive } = workersOf(home);
  // Later than that workers without a supervisor end by themselves.
  const isRecent = Date.now() - Date.parse(lastSeen(home) ?? record.started_at) < limits.worker.orphanMs;
  const together = recorded > 0 && alive === 0 && isRecent;
  const what = together
    ? `was killed or crashed, and none of the ${recorded} processes of the service is alive: the container or session was ended, or all were killed`
    : `was killed or crashed${alive > 0 ? `; ${alive} of ${recorded} processes of the service run on` : ''}`;
  const kills = (oomKills() ?? 0) - (record.oom_kills ?? 0);
  if (record.oom_kills !== null && kills > 0)
    return { cause: `${what}; the kernel of this host ended ${kills} processes for lack of memory meanwhile`, kind: 'memory', fix: memory };
  return { cause: what, kind: together ? 'all at once' : 'killed', fix: null };
}

/** Since the host was started. */
export function oomKills(): number | null {
  try {
    const count = /^oom_kill (\d+)$/m.exec(readFileSync('/proc/vmstat', 'utf8'))?.[1];
    return count === undefined ? null : Number(count);
  } catch {
    return null;
  }
}

function workersOf(home: Home): { recorded: number; alive: number } {
  try {
    const { slots } = readJson(home.run.slots) as { slots: ProcessIdentity[] };
    return { recorded: slots.length, alive: slots.filter(isSameProcess).length };
  } catch {
    return { recorded: 0, alive: 0 };
  }
}

function lastSeen(home: Home): string | undefined {
  try {
    const { at } = readJson(home.run.status) as { at: unknown };
    return typeof at === 'string' ? at : undefined;
  } catch {
    return undefined;
  }
}

/** The output of a supervisor in the background; the next start moves it to `.1`. */
function lastOutput(home: Home, startedMs: number): string[] {
  for (const path of [`${home.run.supervisorOutput}.1`, home.run.supervisorOutput]) {
    try {
      if (statSync(path).mtimeMs < startedMs) continue;
      const lines = readRegularText(path).split('\n').filter(Boolean);
      if (lines.length > 0) return lines.slice(-TAIL_LINES);
    } catch {
      // there is none
    }
  }
  return [];
}

const TAIL_LINES = 30;

function read(home: Home): SupervisorRecord | undefined {
  try {
    const record = readJson(home.run.supervisor) as SupervisorRecord | undefined;
    return typeof record?.pid === 'number' && typeof record.started_at === 'string' ? record : undefined;
  } catch {
    return undefined;
  }
}
