/**
 * Gives memory that only the start needed back to the system: V8 keeps it until the next allocation
 * pressure, which an idle process never has (measured: 4 to 9 MiB a process, 20 ms once).
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { limits } from './limits.ts';

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

/** Once, a few seconds from now; does not keep the process alive. */
export function trimHeapSoon(afterMs: number = limits.worker.trimMs): void {
  setTimeout(() => {
    setFlagsFromString('--expose-gc');
    (runInNewContext('gc') as Collect)({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    setFlagsFromString('--no-expose-gc');
  }, afterMs).unref();
}
