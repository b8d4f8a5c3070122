/**
 * The time that deletion and expiry by age use. The wall clock can be wrong at a start or while the service runs (an empty
 * battery, a bad time server). A jump counts only after it was seen in 13 of the last 24 hours that the clock of the kernel
 * measured; time in suspend is measured too. Without jumps this is the wall time. Never later than the wall time.
 */
import { uptime } from 'node:os';
import { readJson, writeJsonAtomic } from './atomicFile.ts';
import type { Home } from './home.ts';
import { bootId } from './processIdentity.ts';

export interface Clocks {
  wallMs: number;
  /** Of the kernel: since boot, suspend included; never set by anyone. */
  uptimeMs: number;
  bootId: string;
}

/** `clock.json` in the root home. Written by the supervisor, or by a worker that has none. */
interface ClockRecord {
  /** Measured by the kernel between the first record and this one; nothing of a time that the machine was off. */
  proven_ms: number;
  uptime_ms: number;
  boot_id: string;
  /** Wall time minus proven time, one for each of the last hours of proven time, oldest first. */
  offsets_ms: number[];
}

const HOUR_MS = 3_600_000;
const HOURS = 24;

const readClocks = (): Clocks => ({ wallMs: Date.now(), uptimeMs: uptime() * 1_000, bootId: bootId() });

/** Milliseconds since the epoch, for comparing with times of rows and files before they are deleted or expire. */
export function confirmedNow(home: Pick<Home, 'clock'>, clocks: Clocks = readClocks()): number {
  const record = readRecord(home.clock);
  return record ? confirmed(record, clocks) : clocks.wallMs;
}

/** Notes the clocks. Answers how far the wall clock is ahead of the confirmed time. Errors: DISK_FULL, HOME_UNUSABLE. */
export function recordClocks(home: Pick<Home, 'clock'>, clocks: Clocks = readClocks()): number {
  const known = readRecord(home.clock);
  const record = known ? nextRecord(known, clocks) : firstRecord(clocks);
  writeJsonAtomic(home.clock, record);
  return clocks.wallMs - confirmed(record, clocks);
}

const firstRecord = ({ wallMs, uptimeMs, bootId: boot_id }: Clocks): ClockRecord => ({
  proven_ms: 0,
  uptime_ms: uptimeMs,
  boot_id,
  offsets_ms: Array<number>(HOURS).fill(wallMs),
});

function nextRecord(known: ClockRecord, clocks: Clocks): ClockRecord {
  const proven = provenMs(known, clocks);
  const offset = clocks.wallMs - proven;
  const isNewHour = Math.floor(proven / HOUR_MS) > Math.floor(known.proven_ms / HOUR_MS);
  const offsets_ms = isNewHour
    ? [...known.offsets_ms.slice(1), offset]
    : known.offsets_ms.with(HOURS - 1, nearest(known.offsets_ms, offset));
  return { proven_ms: proven, uptime_ms: clocks.uptimeMs, boot_id: clocks.bootId, offsets_ms };
}

/** What the last record says, and what the kernel has measured since. */
const provenMs = ({ proven_ms, uptime_ms, boot_id }: ClockRecord, { uptimeMs, bootId }: Clocks): number =>
  proven_ms + (boot_id === bootId ? Math.max(0, uptimeMs - uptime_ms) : 0);

/** An hour in which the clock was right for a while counts as right. */
function nearest(offsets: readonly number[], offset: number): number {
  const confirmed = lowerMedian(offsets);
  const last = offsets.at(-1)!;
  return Math.abs(offset - confirmed) < Math.abs(last - confirmed) ? offset : last;
}

/** Neither a jump forward nor one back moves it before it was seen for 13 hours. */
const lowerMedian = (offsets: readonly number[]): number => offsets.toSorted((a, b) => a - b)[HOURS / 2 - 1]!;

const confirmed = (record: ClockRecord, clocks: Clocks): number =>
  Math.min(clocks.wallMs, provenMs(record, clocks) + lowerMedian(record.offsets_ms));

/** None when it is absent or damaged: then the wall clock is all there is. */
function readRecord(path: string): ClockRecord | undefined {
  try {
    const record = readJson(path) as ClockRecord | undefined;
    const numbers = record && [record.proven_ms, record.uptime_ms, ...record.offsets_ms];
    return numbers?.length === HOURS + 2 && numbers.every(Number.isFinite) ? record : undefined;
  } catch {
    return undefined;
  }
}
