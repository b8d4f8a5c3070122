/**
 * The rows of a snapshot that no supervisor keeps true: each process is checked by pid, start time and boot id, and
 * one that is gone is shown as gone.
 */
import type { Status } from '../ipc/contracts/supervisor.ts';
import { readJson } from '../state/atomicFile.ts';
import type { Home } from '../state/home.ts';
import { bootId, isSameProcess, startTimeOf, type ProcessIdentity } from '../state/processIdentity.ts';

type Row = Status['workers'][number];
export type CheckedRow = Row & {
  /** Its process has ended since the snapshot. */
  gone?: true;
};

export function checkedRows(home: Home, { supervisor, workers }: Status, isSupervised: boolean): CheckedRow[] {
  const records = recordedProcesses(home);
  const isSameBoot = supervisor.boot_id === bootId();
  return workers.map((row) => {
    if (row.pid === null) return row;
    const record = records.get(row.slot);
    const lives = record?.pid === row.pid ? isSameProcess(record) : isSameBoot && startTimeOf(row.pid) !== undefined;
    if (lives) return row;
    const when = !isSameBoot
      ? 'when the host restarted'
      : isSupervised
        ? 'while the supervisor did not respond'
        : 'while no supervisor ran';
    return { ...row, state: 'down', pid: null, gone: true, reason: `${row.slot} (process ${row.pid}) ended ${when}` };
  });
}

/** From `run/slots.json`, by slot; empty where it cannot be read. */
function recordedProcesses(home: Home): Map<string, ProcessIdentity> {
  try {
    const { slots } = readJson(home.run.slots) as { slots: (ProcessIdentity & { slot: string })[] };
    return new Map(slots.map((record) => [record.slot, record]));
  } catch {
    return new Map();
  }
}
