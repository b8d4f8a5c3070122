/**
 * What the supervisor looks at while nothing happens: files that people change, signs of life, and
 * resource samples. Wake-ups where they can be had, slow timers where not.
 */
import { watch as watchFiles } from 'chokidar';
import pidusage from 'pidusage';
import { limits } from '../base/limits.ts';
import { errorFields, type Logger } from '../base/log.ts';
import type { Sample } from './snapshot.ts';
import type { SlotRunner } from './slotRunner.ts';

/** Calls back when one of the files was made, changed or removed: a hint, the file is the truth. */
export function watchHome(paths: string[], log: Logger, onChange: () => void): AsyncDisposable {
  const files = watchFiles(paths, { ignoreInitial: true, persistent: true });
  files.on('all', onChange);
  files.on('error', (thrown) => log.warn('watching the home failed', errorFields(thrown)));
  return { [Symbol.asyncDispose]: () => files.close() };
}

/**
 * Calls back at every heartbeat interval, except when this process itself was asleep: the workers'
 * beats then wait unread in the sockets, and silence proves nothing.
 */
export function startPulse(onPulse: (nowMs: number) => void): Disposable {
  let expectedAt = performance.now() + limits.worker.heartbeatMs;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const wasAsleep = nowMs - expectedAt > limits.worker.heartbeatMs / 2;
    expectedAt = nowMs + limits.worker.heartbeatMs;
    if (!wasAsleep) onPulse(nowMs);
  }, limits.worker.heartbeatMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Memory and CPU of every running worker, now and then. */
export function startSampling(runners: () => SlotRunner[], onSamples: (samples: Map<string, Sample>) => void): Disposable {
  const sample = async () => {
    const samples = new Map<string, Sample>();
    for (const runner of runners()) {
      if (!runner.incarnation) continue;
      try {
        const { memory, cpu } = await pidusage(runner.incarnation.pid);
        samples.set(runner.spec.slot, { rssBytes: memory, cpuPercent: Math.round(cpu * 10) / 10 });
      } catch {
        // it ended while it was looked at
      }
    }
    onSamples(samples);
  };
  const timer = setInterval(() => void sample(), limits.supervisor.sampleMs);
  return {
    [Symbol.dispose]() {
      clearInterval(timer);
      pidusage.clear();
    },
  };
}
