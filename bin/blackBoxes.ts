/** The black boxes of a slot, read from `crash/` without a call: they tell with everything down. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BlackBox } from '../ipc/contracts/blackBox.ts';
import type { Home } from '../state/home.ts';

/** Newest first; what cannot be read is left out. */
export function readBoxes(home: Home, slot: string): BlackBox[] {
  return filesOf(home.crash)
    .filter((name) => name === `${slot}.json` || (name.startsWith(`${slot}.`) && /^\d+\.json$/.test(name.slice(slot.length + 1))))
    .flatMap((name) => read(join(home.crash, name)) ?? [])
    .filter((box) => box.slot === slot)
    .toSorted((a, b) => b.last_exit.at.localeCompare(a.last_exit.at));
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
    const box = JSON.parse(readFileSync(path, 'utf8')) as BlackBox;
    return typeof box.last_exit?.summary === 'string' && Array.isArray(box.tail) ? box : undefined;
  } catch {
    return undefined;
  }
}
