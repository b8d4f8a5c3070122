/** The supervisor's record of itself, and the black boxes of what ended while no supervisor ran: the one before it, and workers. */
import type { Logger } from '../base/log.ts';
import { errorFields } from '../base/log.ts';
import { digest } from '../base/ids.ts';
import type { BlackBox } from '../ipc/contracts/blackBox.ts';
import type { Home } from '../state/home.ts';
import { bootId } from '../state/processIdentity.ts';
import { unplannedEnd, writeSupervisorRecord, type SupervisorRecord } from '../state/supervisorRecord.ts';
import { saveBox } from './blackBox.ts';
import type { IncarnationRecord } from './incarnation.ts';

/** Called before the record of the new supervisor replaces that of the old one. */
export function explainGap(home: Home, ended: readonly IncarnationRecord[]): void {
  const last = unplannedEnd(home);
  for (const record of ended) saveBox(home.crash, boxOfWorker(record, last?.at));
  if (!last) return;
  const { pid, at, signature, summary, fix, livedMs, tail, version, code } = last;
  saveBox(home.crash, {
    ...bare,
    slot: 'supervisor',
    pid,
    last_exit: { code: null, signal: null, at, signature, summary },
    fix,
    lived_ms: livedMs,
    tail,
    version,
    code,
  });
}

const bare = { permanent: false, ready_ms: null, active_work: 0, tail: [] };

/** What is known of a process whose end nobody saw. */
function boxOfWorker(record: IncarnationRecord, lastSeen: string | undefined): BlackBox {
  const { slot, pid, spawned_at, code } = record;
  const isSameBoot = record.boot_id === bootId();
  const when = isSameBoot ? 'while no supervisor ran, or with it; its exit status is unknown' : 'when the host restarted';
  const at = lastSeen ?? new Date().toISOString();
  return {
    ...bare,
    slot,
    pid,
    last_exit: {
      code: null,
      signal: null,
      at,
      signature: digest(`unwatched ${isSameBoot}`, 12),
      summary: `${slot} (process ${pid}) ended ${when}`,
    },
    fix: isSameBoot ? '`agent why supervisor` explains the end of the supervisor; `agent logs` shows what the worker wrote last' : null,
    lived_ms: Math.max(0, Date.parse(at) - Date.parse(spawned_at)),
    code,
  };
}

export class SelfRecord {
  readonly #home: Home;
  readonly #record: SupervisorRecord;
  readonly #log: Logger;

  constructor(home: Home, record: SupervisorRecord, log: Logger) {
    this.#home = home;
    this.#record = record;
    this.#log = log;
    this.#write(record);
  }

  /** A planned end. */
  end(): void {
    this.#write({ ...this.#record, ended_at: new Date().toISOString() });
  }

  #write(record: SupervisorRecord): void {
    try {
      writeSupervisorRecord(this.#home, record);
    } catch (thrown) {
      this.#log.warn('supervisor.json was not written: an end of this supervisor could not be explained', errorFields(thrown));
    }
  }
}
