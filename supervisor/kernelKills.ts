/**
 * What the kernel killed for lack of memory: it counts such kills of the whole machine, under whichever cgroup
 * version, and names them in its log. SIGKILL itself names no sender. Null where neither can be read.
 */
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { oomKills } from '../state/supervisorRecord.ts';

export interface KernelKill {
  /** So many processes of the machine were killed around that moment; null = not known. */
  counted: number | null;
  /** The log names this very process: killed at the limit of its cgroup, or because the machine had no memory left. */
  logged: 'cgroup' | 'machine' | null;
}

export class KernelKills {
  /** The last two looks, the older first: a kill may be counted a moment before its end is seen here. */
  #marks: (number | null)[];
  readonly #count: () => number | null;

  constructor(count: () => number | null = oomKills) {
    this.#count = count;
    this.#marks = [count(), count()];
  }

  /** At every pulse. */
  mark(): void {
    this.#marks = [this.#marks[1]!, this.#count()];
  }

  /** For a process that was just seen to have ended. */
  of(pid: number): KernelKill {
    const before = this.#marks[0] ?? null;
    const now = this.#count();
    const counted = before === null || now === null ? null : now - before;
    return { counted, logged: counted === 0 ? null : loggedKill(readKernelLog(), pid) };
  }
}

/** The last mention counts: numbers of processes are used again. */
export function loggedKill(log: string, pid: number): KernelKill['logged'] {
  const line = log.split('\n').findLast((text) => text.includes(`Killed process ${pid} (`));
  if (!line) return null;
  return line.includes('Memory cgroup') ? 'cgroup' : 'machine';
}

const RECORD_BYTES = 8_192;
const RECORDS_MAX = 100_000;

/** One record a read, until there is none left; empty without the right to read it. */
function readKernelLog(): string {
  try {
    const fd = openSync('/dev/kmsg', constants.O_RDONLY | constants.O_NONBLOCK);
    const buffer = Buffer.alloc(RECORD_BYTES);
    let text = '';
    try {
      for (let record = 0; record < RECORDS_MAX; record++) {
        const line = buffer.toString('utf8', 0, readSync(fd, buffer, 0, RECORD_BYTES, null));
        if (line.includes('Killed process')) text += line;
      }
    } catch {
      // no more
    } finally {
      closeSync(fd);
    }
    return text;
  } catch {
    return '';
  }
}
