/** What is known of the ends of a slot: its black boxes, read from `crash/` without a call, and the sentence made of them. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readRegularText } from '../base/regularFile.ts';
import type { BlackBox } from './contracts/blackBox.ts';
import type { LastExit, SlotState, WorkerStatus } from './contracts/supervisor.ts';

/** Slots that have ended abnormally, also those that do not exist any more. `crash`: the folder of the home. */
export function slotsWithBoxes(crash: string): string[] {
  const names = filesOf(crash).flatMap((name) => /^(.+?)(?:\.\d+)?\.json$/.exec(name)?.[1] ?? []);
  return [...new Set(names)].toSorted();
}

/** Newest first; what cannot be read is left out. `crash`: the folder of the home. */
export function readBoxes(crash: string, slot: string): BlackBox[] {
  return filesOf(crash)
    .filter((name) => name === `${slot}.json` || (name.startsWith(`${slot}.`) && /^\d+\.json$/.test(name.slice(slot.length + 1))))
    .flatMap((name) => read(join(crash, name)) ?? [])
    .filter((box) => box.slot === slot)
    .toSorted((a, b) => b.last_exit.at.localeCompare(a.last_exit.at));
}

/** What `agent why --json` prints and `GET /api/workers/<slot>/why` answers. */
export interface Why {
  slot: string;
  /** Null when no supervisor has written what it knows. */
  state: SlotState | null;
  sentence: string;
  fix: string | null;
  last_exit: LastExit | null;
  /** Ends on record with the same signature as the last one, and the first of them. */
  times: number;
  first_at: string | null;
  tail: string[];
  /** Newest first. */
  ends: BlackBox[];
}

export interface Known {
  row: WorkerStatus | undefined;
  boxes: readonly BlackBox[];
  /** When the supervisor that wrote the row started. */
  watchedSince: string | undefined;
}

/** The last abnormal end of a slot, and the last `count` of them. */
export function explainSlot(slot: string, { row, boxes, watchedSince }: Known, count: number): Why {
  const last = boxes[0];
  const same = boxes.filter((box) => box.last_exit.signature === last?.last_exit.signature);
  return {
    slot,
    state: row?.state ?? null,
    sentence: row?.reason ?? last?.last_exit.summary ?? row?.last_exit?.summary ?? fine(slot, row, watchedSince),
    fix: last?.fix ?? null,
    last_exit: last?.last_exit ?? row?.last_exit ?? null,
    times: same.length,
    first_at: same.at(-1)?.last_exit.at ?? null,
    tail: last?.tail ?? [],
    ends: boxes.slice(0, count),
  };
}

function fine(slot: string, row: WorkerStatus | undefined, watchedSince: string | undefined): string {
  const now = row?.state === 'ready' ? ` It is ready since ${row.since}.` : '';
  return `${slot} has no abnormal end on record${watchedSince ? `; the supervisor watches it since ${watchedSince}` : ''}.${now}`;
}

function filesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function read(path: string): BlackBox | undefined {
  try {
    const box = JSON.parse(readRegularText(path)) as BlackBox;
    return typeof box.last_exit?.summary === 'string' && Array.isArray(box.tail) ? box : undefined;
  } catch {
    return undefined;
  }
}
