/**
 * Seven days of one slot at ten-minute points, in a file of fixed size: each point has its place by its time, so
 * nothing is ever moved or rewritten, and a broken record harms itself only.
 */
import { closeSync, constants, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { readRegularFile } from '../base/regularFile.ts';
import { limits } from '../base/limits.ts';
import type { ResourceSample } from '../ipc/contracts/supervisor.ts';

/** A sample as numbers. */
export interface Point {
  atMs: number;
  rssBytes: number;
  cpuPercent: number;
  lagMs: number | null;
  fds: number | null;
}

const { historyMs, historyPointMs } = limits.supervisor;
const POINTS = historyMs / historyPointMs;
const RECORD_BYTES = 20;

const placeOf = (atMs: number): number => (Math.floor(atMs / historyPointMs) % POINTS) * RECORD_BYTES;

/** Errors: those of the file system. */
export function writePoint(path: string, point: Point): void {
  const record = Buffer.alloc(RECORD_BYTES);
  record.writeUInt32LE(Math.floor(point.atMs / 1_000), 0);
  record.writeUInt32LE(Math.min(0xffff_ffff, Math.round(point.rssBytes / 1_024)), 4);
  record.writeFloatLE(point.cpuPercent, 8);
  record.writeFloatLE(point.lagMs ?? Number.NaN, 12);
  record.writeInt32LE(point.fds ?? -1, 16);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const fd = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  try {
    writeSync(fd, record, 0, RECORD_BYTES, placeOf(point.atMs));
  } finally {
    closeSync(fd);
  }
}

/** Points of the last seven days, oldest first; none when there is no file or it cannot be read. */
export function readPoints(path: string, nowMs: number): Point[] {
  let file: Buffer;
  try {
    file = readRegularFile(path);
  } catch {
    return [];
  }
  const points: Point[] = [];
  for (let at = 0; at + RECORD_BYTES <= Math.min(file.length, POINTS * RECORD_BYTES); at += RECORD_BYTES) {
    const atMs = file.readUInt32LE(at) * 1_000;
    if (atMs > nowMs || atMs <= nowMs - historyMs || placeOf(atMs) !== at) continue;
    const [lagMs, fds] = [file.readFloatLE(at + 12), file.readInt32LE(at + 16)];
    points.push({
      atMs,
      rssBytes: file.readUInt32LE(at + 4) * 1_024,
      cpuPercent: rounded(file.readFloatLE(at + 8)),
      lagMs: Number.isFinite(lagMs) ? rounded(lagMs) : null,
      fds: fds < 0 ? null : fds,
    });
  }
  return points.toSorted((a, b) => a.atMs - b.atMs);
}

/** As other programs read it. */
export const sampleOf = ({ atMs, rssBytes, cpuPercent, lagMs, fds }: Point): ResourceSample => ({
  at: new Date(atMs).toISOString(),
  rss_bytes: rssBytes,
  cpu_percent: cpuPercent,
  lag_ms: lagMs,
  fds,
});

/** One decimal; a broken number is none. */
const rounded = (value: number): number => (Number.isFinite(value) ? Math.round(value * 10) / 10 : 0);
