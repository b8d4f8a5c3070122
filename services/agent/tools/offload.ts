/** Heavy tasks of tools, each in a thread of its own that ends with it, at its time limit or at the interrupt. */
import { Worker } from 'node:worker_threads';
import type { HeavyTask, Offload } from '../../../agent/tools/heavyTask.ts';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { within } from '../../../base/time.ts';

/** `entry`: path of services/agent/thread. */
export function createOffload(entry: string): Offload {
  const run = async <T>(task: HeavyTask, { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number }): Promise<T> => {
    signal.throwIfAborted();
    // No secret of ours: a thread gets a copy of the environment unless told otherwise.
    const thread = new Worker(entry, { workerData: task, env: {}, resourceLimits: { maxOldGenerationSizeMb: limits.tools.threadHeapMb } });
    try {
      return await within(answerOf<T>(thread), {
        ms: timeoutMs,
        signal,
        what: names[task.kind],
      });
    } finally {
      await thread.terminate();
    }
  };
  return {
    scan: (request, options) => run({ kind: 'scan', request }, options),
    htmlText: (html, url, options) => run({ kind: 'htmlText', html, url }, options),
    checkArguments: (task, options) => run({ kind: 'arguments', task }, options),
  };
}

const names: Record<HeavyTask['kind'], string> = {
  scan: 'the search',
  htmlText: 'converting the page',
  arguments: 'checking the arguments',
};

function answerOf<T>(thread: Worker): Promise<T> {
  return new Promise((resolve, reject) => {
    const failed = (message: string, cause?: unknown) => reject(new AgentError('BAD_REQUEST', message, { cause }));
    thread.once('message', (answer: { result?: T; failed?: string }) => {
      if (answer.failed === undefined) resolve(answer.result as T);
      else failed(answer.failed);
    });
    thread.once('error', (thrown: Error) => failed(`it took too much memory or failed: ${thrown.message}`, thrown));
    thread.once('exit', () => failed('the thread ended without an answer'));
  });
}
