/**
 * What every slot uses, over time: the last ten minutes in memory for the black box, seven days on disk, and how
 * fast it grows. Rides on the heartbeat pulse: an idle service wakes up no more often for it.
 */
import { join } from 'node:path';
import { limits } from '../base/limits.ts';
import type { ResourceSample } from '../ipc/contracts/supervisor.ts';
import { readPoints, sampleOf, writePoint, type Point } from './history.ts';
import { judgeMemory, leakBytesPerHour, type MemoryVerdict } from './memory.ts';
import type { Sample } from './snapshot.ts';
import { UsageReader, type Usage } from './usage.ts';

/** A running process of a slot. */
export interface Running {
  slot: string;
  pid: number;
  lagMs: number | null;
}

export interface ResourceBookOptions {
  /** `run/history` of the home. */
  dir: string;
  now?: () => number;
  read?: (pids: readonly number[]) => Promise<Map<number, Usage>>;
  /** The history of a slot could not be written. */
  onFailure?: (thrown: unknown) => void;
}

/** One incarnation of a slot. */
interface Track {
  pid: number;
  cpuMs: number;
  /** The last ten minutes, oldest first. */
  recent: Point[];
  /** Samples since the last point of the history. */
  gathered: Point[];
  /** Samples until the next one: slots that began together are written at different times. */
  untilPoint: number;
  /** Ten-minute points of this incarnation, for the slope. */
  points: { atMs: number; rssBytes: number }[];
  leak: number | null;
}

const { sampleMs, recentMs, historyPointMs, leakMs } = limits.supervisor;
const RECENT_MAX = recentMs / sampleMs;
const SAMPLES_A_POINT = historyPointMs / sampleMs;
const LEAK_POINTS_MAX = leakMs / historyPointMs;

export class ResourceBook implements Disposable {
  readonly #dir: string;
  readonly #now: () => number;
  readonly #reader = new UsageReader();
  readonly #read: NonNullable<ResourceBookOptions['read']>;
  readonly #onFailure: (thrown: unknown) => void;
  readonly #tracks = new Map<string, Track>();
  #sampledAtMs = -Infinity;
  #began = 0;

  constructor({ dir, now = Date.now, read, onFailure = () => {} }: ResourceBookOptions) {
    this.#dir = dir;
    this.#now = now;
    this.#read = read ?? ((pids) => this.#reader.read(pids));
    this.#onFailure = onFailure;
  }

  [Symbol.dispose](): void {
    this.#reader[Symbol.dispose]();
  }

  /** Called at every heartbeat; answers samples of all that run when it is time for them. `pulseMs` is monotonic. */
  async onPulse(running: readonly Running[], pulseMs: number): Promise<Map<string, Sample> | undefined> {
    // The pulse comes at fixed beats, not at ours: the nearest one counts.
    if (pulseMs - this.#sampledAtMs < sampleMs - limits.worker.heartbeatMs / 2) return undefined;
    this.#sampledAtMs = pulseMs;
    return this.sample(running);
  }

  /** Samples now. */
  async sample(running: readonly Running[]): Promise<Map<string, Sample>> {
    const usage = await this.#read(running.map(({ pid }) => pid));
    const samples = new Map<string, Sample>();
    for (const process of running) {
      const used = usage.get(process.pid);
      if (used) samples.set(process.slot, this.#note(process, used));
    }
    const here = new Set(running.map(({ slot }) => slot));
    for (const slot of this.#tracks.keys()) if (!here.has(slot)) this.#tracks.delete(slot);
    return samples;
  }

  /** The last ten minutes of the current incarnation, oldest first. */
  recent(slot: string): ResourceSample[] {
    return (this.#tracks.get(slot)?.recent ?? []).map(sampleOf);
  }

  /** What is known of the last `sinceMs`, oldest first: ten-minute points, then the last minutes as sampled. */
  history(slot: string, sinceMs: number): ResourceSample[] {
    const nowMs = this.#now();
    const recent = this.#tracks.get(slot)?.recent ?? [];
    const freshFromMs = recent[0]?.atMs ?? nowMs;
    const older = readPoints(this.#path(slot), nowMs).filter(({ atMs }) => atMs < freshFromMs);
    return [...older, ...recent].filter(({ atMs }) => atMs >= nowMs - sinceMs).map(sampleOf);
  }

  /** What its memory says about the current incarnation. */
  judge(slot: string, limit: { softBytes: number | undefined; hardBytes: number | undefined }): MemoryVerdict {
    // Most slots have no limit: nothing is gathered for them.
    if (limit.softBytes === undefined && limit.hardBytes === undefined) return 'ok';
    return judgeMemory({ ...limit, rssBytes: (this.#tracks.get(slot)?.recent ?? []).map(({ rssBytes }) => rssBytes) });
  }

  #note({ slot, pid, lagMs }: Running, { rssBytes, cpuMs, fds }: Usage): Sample {
    const atMs = this.#now();
    const known = this.#tracks.get(slot);
    const track = known?.pid === pid ? known : this.#begin(slot, pid);
    const last = track.recent.at(-1);
    const cpuPercent = last && atMs > last.atMs ? Math.round((Math.max(0, cpuMs - track.cpuMs) / (atMs - last.atMs)) * 1_000) / 10 : 0;
    track.cpuMs = cpuMs;
    const point = { atMs, rssBytes, cpuPercent, lagMs, fds };
    track.recent.push(point);
    if (track.recent.length > RECENT_MAX) track.recent.shift();
    track.gathered.push(point);
    if (--track.untilPoint <= 0) this.#endPoint(slot, track);
    return { rssBytes, cpuPercent, fds, leakBytesPerHour: track.leak };
  }

  #begin(slot: string, pid: number): Track {
    const untilPoint = 1 + (this.#began++ % SAMPLES_A_POINT);
    const track: Track = { pid, cpuMs: 0, recent: [], gathered: [], untilPoint, points: [], leak: null };
    this.#tracks.set(slot, track);
    return track;
  }

  /** Ten minutes are over: one point for the history, and the slope anew. */
  #endPoint(slot: string, track: Track): void {
    const { gathered } = track;
    track.gathered = [];
    track.untilPoint = SAMPLES_A_POINT;
    const point = summary(gathered);
    track.points.push({ atMs: point.atMs, rssBytes: point.rssBytes });
    if (track.points.length > LEAK_POINTS_MAX) track.points.shift();
    track.leak = leakBytesPerHour(track.points);
    try {
      writePoint(this.#path(slot), point);
    } catch (thrown) {
      this.#onFailure(thrown);
    }
  }

  #path(slot: string): string {
    return join(this.#dir, `${slot}.ring`);
  }
}

/** Means of what adds up, the worst of what hurts. */
function summary(points: readonly Point[]): Point {
  const mean = (of: (point: Point) => number) => points.reduce((sum, point) => sum + of(point), 0) / points.length;
  const worst = (of: (point: Point) => number | null) => points.reduce<number | null>((most, point) => max(most, of(point)), null);
  return {
    atMs: points.at(-1)!.atMs,
    rssBytes: mean(({ rssBytes }) => rssBytes),
    cpuPercent: mean(({ cpuPercent }) => cpuPercent),
    lagMs: worst(({ lagMs }) => lagMs),
    fds: worst(({ fds }) => fds),
  };
}

const max = (a: number | null, b: number | null): number | null => (a === null || b === null ? (a ?? b) : Math.max(a, b));
