/**
 * What the supervisor looks at while nothing happens: files that people change, and the pulse on which signs of
 * life, resource samples and the log budget ride. Wake-ups where they can be had, one slow timer where not.
 */
import type { FSWatcher } from 'chokidar';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import { sleep, untilBeatMs } from '../base/time.ts';

/**
 * Calls back when one of the files was made, changed or removed: a hint, the file is the truth. The watch stands a
 * moment after this: programs that were just started get the processor first.
 */
export function watchHome(paths: string[], log: Logger, onChange: () => void): AsyncDisposable {
  const over = new AbortController();
  const opened = sleep(limits.supervisor.watchAfterMs, over.signal).then(
    () => watchFiles(paths, log, onChange),
    () => undefined,
  );
  return {
    async [Symbol.asyncDispose]() {
      over.abort();
      await (await opened)?.close();
    },
  };
}

/** Loaded here: 6 ms that the first start of a program would wait for. */
async function watchFiles(paths: string[], log: Logger, onChange: () => void): Promise<FSWatcher | undefined> {
  try {
    const { watch } = await import('chokidar');
    const files = watch(paths, { ignoreInitial: true, persistent: true });
    // What changed until the watch stood is seen by looking once more.
    files.on('all', onChange).on('ready', onChange);
    files.on('error', (thrown) => log.warn('watching the home failed', errorFields(thrown)));
    return files;
  } catch (thrown) {
    // The pulse looks at the files too.
    log.warn('watching the home failed', errorFields(thrown));
    return undefined;
  }
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
