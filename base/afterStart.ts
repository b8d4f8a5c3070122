/**
 * What a process does once its start is over. Its compile cache is written now rather than at its end,
 * where it would delay a first stop by half a second and be lost to SIGKILL. Then it gives memory that
 * only the start needed back to the system: V8 keeps it until the next allocation pressure, which an
 * idle process never has (measured: 4 to 9 MiB a process, 20 ms once).
 */
import { limits } from './limits.ts';

/** Loaded when the start is over: they cost it 2 ms. */
const builtin = process.getBuiltinModule;

type Collect = (options: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void;

export interface SettleOptions {
  /** Milliseconds from now. */
  afterMs?: number;
  /**
   * The work of this process never grows its heap: V8's own tidying while idle, a full collection of 15 ms
   * now and then, is switched off.
   */
  steady?: boolean;
}

/** Once, a few seconds from now; does not keep the process alive. */
export function settleAfterStart({ afterMs = limits.worker.trimMs, steady = false }: SettleOptions = {}): void {
  setTimeout(() => {
    builtin('node:module').flushCompileCache();
    giveMemoryBack();
    if (steady) builtin('node:v8').setFlagsFromString('--no-memory-reducer');
  }, afterMs).unref();
}

/** Collects what nobody needs any more and returns it to the system, now. Takes 10 to 20 ms. */
export function giveMemoryBack(): void {
  const { setFlagsFromString } = builtin('node:v8');
  setFlagsFromString('--expose-gc');
  (builtin('node:vm').runInNewContext('gc') as Collect)({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--no-expose-gc');
}
