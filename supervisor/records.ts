/**
 * `run/slots.json`: which process is which incarnation. Written before a process counts as running, so
 * that the next supervisor can prove which processes are its predecessor's (house, "Workers outlive the
 * supervisor"), and which slots are to stay down. Lessons 23, 24, 27.
 */
import { rmSync } from 'node:fs';
import { messageOf } from '../base/errors.ts';
import { z } from '../base/lazyZod.ts';
import { ServiceStart } from '../ipc/contracts/supervisor.ts';
import { readJson } from '../state/atomicFile.ts';
import { bootId, groupAlive, isSameProcess, startTimeOf } from '../state/processIdentity.ts';
import type { IncarnationRecord } from './incarnation.ts';
import { OwnFile, unwritable } from './ownFile.ts';
import type { Problems } from './problems.ts';

const RecordFile = z.object({
  version: z.literal(1),
  boot_id: z.string().optional(),
  /** Stopped by the operator, or come to their end. */
  stopped: z.array(z.string()).optional(),
  start: ServiceStart.optional(),
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

export interface RecordHost {
  path: string;
  /** What runs now, and which slots are to stay down. */
  compose: () => { records: IncarnationRecord[]; stopped: string[]; start: ServiceStart };
  problems: Problems;
  /** A problem came or went. */
  told: () => void;
}

/** Keeps the file as what runs changes. A record that cannot be written is a problem, and tried again at each pulse. */
export class RecordBook {
  readonly #host: RecordHost;
  readonly #file: OwnFile;
  #isDue = false;
  #isClosed = false;

  constructor(host: RecordHost) {
    this.#host = host;
    this.#file = new OwnFile(host.path);
  }

  /** Once per turn of the loop. What was started and is not on record yet when this process is killed is found by its mark. */
  soon(): void {
    if (this.#isDue || this.#isClosed) return;
    this.#isDue = true;
    setImmediate(() => this.now());
  }

  now(): void {
    this.#isDue = false;
    this.#write();
  }

  /** At every pulse: a file that somebody damaged or removed, or that could not be written, is written again. */
  check(): void {
    if (!this.#isClosed && this.#file.isAmiss) this.#write();
  }

  /** On the way down nothing starts: a record of a process that has ended proves itself void. */
  close(): void {
    this.#isClosed = true;
  }

  remove(): void {
    rmSync(this.#file.path, { force: true });
  }

  #write(): void {
    const { compose, problems, told } = this.#host;
    const { records, ...rest } = compose();
    try {
      this.#file.write(`${JSON.stringify({ version: 1, boot_id: bootId(), slots: records, ...rest }, null, 2)}\n`);
      if (problems.delete('records')) told();
    } catch (thrown) {
      const what = `slots.json was not written: a new supervisor could not take these workers over: ${messageOf(thrown)}`;
      problems.set('records', what, unwritable(this.#file.path));
      told();
    }
  }
}

export interface FoundProcesses {
  /** Proved alive and ours. */
  alive: IncarnationRecord[];
  /** Dead themselves, but members of their group may live. */
  leftovers: IncarnationRecord[];
  /** On record and ended, whether or not something of their group lives; also those of before a restart of the host. */
  ended: IncarnationRecord[];
  /** Slots that are to stay down although they start at boot: nobody has booted since. */
  stopped: ReadonlySet<string>;
  /** How the service that left living processes was started; undefined when none lives, or its release did not record it. */
  start: ServiceStart | undefined;
}

/** What an earlier supervisor left running. A half-written or foreign file proves nothing and finds nothing. */
export function findProcesses(path: string): FoundProcesses {
  let records: IncarnationRecord[] = [];
  let stopped: string[] = [];
  let start: ServiceStart | undefined;
  try {
    const written = readJson(path);
    // Usually the service was stopped in good order, and there is nothing to check.
    const parsed = written === undefined ? undefined : RecordFile.safeParse(written);
    if (parsed?.success) {
      records = parsed.data.slots;
      start = parsed.data.start;
      if (parsed.data.boot_id === bootId()) stopped = parsed.data.stopped ?? [];
    }
  } catch {
    // unreadable: nothing in it can be trusted
  }
  const thisBoot = records.filter((record) => record.boot_id === bootId());
  const alive = thisBoot.filter(isSameProcess);
  const leftovers = thisBoot.filter((record) => !alive.includes(record) && hasLeftovers(record));
  return {
    alive,
    leftovers,
    ended: records.filter((record) => !alive.includes(record)),
    stopped: new Set(stopped),
    start: alive.length > 0 ? start : undefined,
  };
}

/** Its group lives on; or it has a cgroup, whose directory at least is to be removed. */
function hasLeftovers(record: IncarnationRecord): boolean {
  return record.cgroup !== undefined || (startTimeOf(record.pid) === undefined && groupAlive(record.pid));
}
