/**
 * What the supervisor looks at while nothing happens: files that people change, and the pulse on which signs of
 * life, resource samples and the log budget ride. Wake-ups where they can be had, one slow timer where not.
 */
import { watch as watchFiles } from 'chokidar';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import { untilBeatMs } from '../base/time.ts';

/** Calls back when one of the files was made, changed or removed: a hint, the file is the truth. */
export function watchHome(paths: string[], log: Logger, onChange: () => void): AsyncDisposable {
  const files = watchFiles(paths, { ignoreInitial: true, persistent: true });
  // What changed while the watch was being set up is seen by looking once more.
  files.on('all', onChange).on('ready', onChange);
  files.on('error', (thrown) => log.warn('watching the home failed', errorFields(thrown)));
  return { [Symbol.asyncDispose]: () => files.close() };
}

/**
 * Calls back at every heartbeat interval, except when this process itself was asleep: the workers'
 * beats then wait unread in the sockets, and silence proves nothing.
 */
export function startPulse(onPulse: (nowMs: number) => void, every: number = limits.worker.heartbeatMs): Disposable {
  let timer: NodeJS.Timeout;
  const arm = () => {
    // Just after the workers' common beat: one wake-up serves both.
    const waitMs = untilBeatMs(Date.now(), every) + AFTER_BEAT_MS;
    const expectedAt = performance.now() + waitMs;
    timer = setTimeout(() => {
      const nowMs = performance.now();
      if (nowMs - expectedAt < every / 2) onPulse(nowMs);
      arm();
    }, waitMs);
  };
  arm();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}

/** The beats of all workers have arrived by then. */
const AFTER_BEAT_MS = 20;
