/**
 * `run/slots.json`: which process is which incarnation. Written before a process counts as running, so
 * that the next supervisor can prove which processes are its predecessor's (house, "Workers outlive the
 * supervisor"). Lessons 23, 24, 27.
 */
import { z } from 'zod';
import { readJson, writeJsonAtomic } from '../state/atomicFile.ts';
import { bootId, groupAlive, isSameProcess, startTimeOf } from '../state/processIdentity.ts';
import type { IncarnationRecord } from './incarnation.ts';

const RecordFile = z.object({
  version: z.literal(1),
  slots: z.array(
    z.object({
      slot: z.string(),
      pid: z.number().int().positive(),
      start_time: z.number(),
      boot_id: z.string(),
      nonce: z.string(),
      code: z.string(),
      spawned_at: z.string(),
      ready: z.boolean().optional(),
      mark: z.string().optional(),
      watchdog: z.boolean().optional(),
      cgroup: z.string().optional(),
    }),
  ),
});

export function writeRecords(path: string, records: IncarnationRecord[]): void {
  writeJsonAtomic(path, { version: 1, slots: records }, { durable: false });
}

export interface FoundProcesses {
  /** Proved alive and ours. */
  alive: IncarnationRecord[];
  /** Dead themselves, but members of their group may live. */
  leftovers: IncarnationRecord[];
}

/** What an earlier supervisor left running. A half-written or foreign file proves nothing and finds nothing. */
export function findProcesses(path: string): FoundProcesses {
  let records: IncarnationRecord[] = [];
  try {
    const parsed = RecordFile.safeParse(readJson(path));
    if (parsed.success) records = parsed.data.slots;
  } catch {
    // unreadable: nothing in it can be trusted
  }
  const thisBoot = records.filter((record) => record.boot_id === bootId());
  const alive = thisBoot.filter(isSameProcess);
  return { alive, leftovers: thisBoot.filter((record) => !alive.includes(record) && hasLeftovers(record)) };
}

/** Its group lives on; or it has a cgroup, whose directory at least is to be removed. */
function hasLeftovers(record: IncarnationRecord): boolean {
  return record.cgroup !== undefined || (startTimeOf(record.pid) === undefined && groupAlive(record.pid));
}
