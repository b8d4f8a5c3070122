/**
 * A bound on everything under `logs/` and `crash/` together (lessons 19). Rotation bounds each log; this bounds how
 * many there are: logs of slots that are gone, old rotated files, old evidence. The current file of a log is never
 * removed, whatever it costs.
 */
import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';

export interface Removed {
  path: string;
  bytes: number;
}

export interface BudgetResult {
  /** What was there before. */
  totalBytes: number;
  removed: Removed[];
  /** Files that should go and could not, with the reason. */
  failed: { path: string; why: string }[];
}

interface Found {
  path: string;
  bytes: number;
  changedAtMs: number;
  removable: boolean;
}

/** Removes the oldest rotated logs and crash files until all fits. Directories that do not exist are empty. */
export function keepBudget({ logs, crash, budgetBytes }: { logs: string[]; crash: string[]; budgetBytes: number }): BudgetResult {
  const files = [...logs.flatMap((dir) => filesIn(dir, isRotated)), ...crash.flatMap((dir) => filesIn(dir, isEvidence))];
  const totalBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const result: BudgetResult = { totalBytes, removed: [], failed: [] };
  let left = totalBytes;
  for (const { path, bytes } of files.filter(({ removable }) => removable).toSorted((a, b) => a.changedAtMs - b.changedAtMs)) {
    if (left <= budgetBytes) break;
    try {
      rmSync(path);
      left -= bytes;
      result.removed.push({ path, bytes });
    } catch (thrown) {
      result.failed.push({ path, why: messageOf(thrown) });
    }
  }
  return result;
}

/** `agent.log.2`: an old file. */
const isRotated = (name: string): boolean => /\.log\.\d+$/.test(name);
/** `agent.json` is the last end of a slot, which `agent why` shows; what lies deeper are older ones. */
const isEvidence = (name: string): boolean => name.includes('/') || !name.endsWith('.json');

function filesIn(dir: string, isRemovable: (name: string) => boolean): Found[] {
  try {
    return readdirSync(dir, { recursive: true, encoding: 'utf8' }).flatMap((name) => {
      const path = join(dir, name);
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat?.isFile() ? [{ path, bytes: stat.size, changedAtMs: stat.mtimeMs, removable: isRemovable(name) }] : [];
    });
  } catch {
    return [];
  }
}
