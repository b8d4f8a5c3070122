/**
 * The supervisor's snapshot `run/status.json`, read without a call: it answers even while the
 * supervisor is busy. Says whether the one who wrote it still lives, and reads memory afresh.
 */
import { readFileSync } from 'node:fs';
import { checkedRows, type CheckedRow } from './checkedRows.ts';
import type { Status } from '../ipc/contracts/supervisor.ts';
import { readJson } from '../state/atomicFile.ts';
import { DEFAULT_PROFILE, listProfiles, type Home } from '../state/home.ts';
import { ownPause, readPause } from '../state/pause.ts';
import { isSameProcess } from '../state/processIdentity.ts';

export type WorkerRow = CheckedRow;

/** The pause of one profile alone; what holds all of them is `paused` of the status. */
export type ProfilePause = Omit<NonNullable<Status['paused']>, 'held'> & { profile: string };

export interface Snapshot {
  status: Omit<Status, 'workers'> & { workers: WorkerRow[] };
  /** The supervisor that wrote it still runs, and its rows are true. */
  live: boolean;
  supervisor: 'running' | 'not_responding' | 'gone';
  ageMs: number;
  /** Read now, as `paused` is. */
  pausedProfiles: ProfilePause[];
}

/** A supervisor of an older release does not know these. */
const NEWER_FIELDS = { liveness: null, lag_ms: null, fds: null, leak_bytes_per_hour: null };

/** Memory is read afresh for so many processes, 20 us each; for more the last sample will do. */
const FRESH_MAX = 32;

/** The last snapshot; undefined when there is none or it cannot be read. Pause and memory are read now. */
export function readSnapshot(home: Home, nowMs = Date.now()): Snapshot | undefined {
  const written = read(home.run.status);
  if (!written) return undefined;
  const live = isSameProcess(written.supervisor);
  const rows = live ? written.workers : checkedRows(home, written, false);
  const fresh = live && written.workers.length <= FRESH_MAX;
  const workers = rows.map((row) => ({
    // Twice: the order of the fields stays, what is known stays.
    ...row,
    ...NEWER_FIELDS,
    ...row,
    rss_bytes: fresh && row.pid !== null ? (residentBytes(row.pid) ?? row.rss_bytes) : row.rss_bytes,
  }));
  return {
    status: { ...written, paused: pauseNow(home, { nowMs, held: written.paused?.held ?? 0 }), workers },
    live,
    supervisor: live ? 'running' : 'gone',
    ageMs: Math.max(0, nowMs - Date.parse(written.at)),
    pausedProfiles: pausedProfiles(home, nowMs),
  };
}

/** Every slot that is meant to run is ready; one without a free descriptor refuses everything. */
export const allReady = ({ workers }: Pick<Status, 'workers'>): boolean =>
  workers.every(({ desired, state, liveness }) => desired !== 'up' || (state === 'ready' && liveness !== 'exhausted'));

function read(path: string): Status | undefined {
  try {
    const value = readJson(path) as Status | undefined;
    return value && Array.isArray(value.workers) && typeof value.supervisor === 'object' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** What holds every profile. */
export function pauseNow(home: Home, { nowMs = Date.now(), held = 0 }: { nowMs?: number; held?: number } = {}): Status['paused'] {
  const pause = readPause(home, 'default', nowMs);
  if (!pause) return null;
  const { path, reason, engaged_at, expires_at, scope } = pause;
  return { path, reason, engaged_at, expires_at, scope, held };
}

/** Never throws: a folder of profiles that cannot be read is told by the commands that need it. */
export function pausedProfiles(home: Home, nowMs = Date.now()): ProfilePause[] {
  return profilesOf(home).flatMap((profile) => {
    const pause = ownPause(home.profile(profile), nowMs);
    if (!pause) return [];
    const { path, reason, engaged_at, expires_at, scope } = pause;
    return { profile, path, reason, engaged_at, expires_at, scope };
  });
}

function profilesOf(home: Home): string[] {
  try {
    return listProfiles(home).filter((name) => name !== DEFAULT_PROFILE);
  } catch {
    return [];
  }
}

/** In kB whatever the page size is (16 KiB on some arm64 kernels, which /proc/<pid>/statm does not say). */
const RESIDENT = /^VmRSS:\s+(\d+) kB$/m;

function residentBytes(pid: number): number | undefined {
  if (process.platform !== 'linux') return undefined;
  try {
    const kilobytes = RESIDENT.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
    return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
  } catch {
    return undefined;
  }
}
