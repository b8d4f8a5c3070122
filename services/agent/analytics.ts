/** Analytics as the worker sees them: a long history is read in a thread of its own, once for all who ask meanwhile (lessons 34). */
import { dirname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Analytics } from './analyticsSql.ts';
import type { AnalyticsQuestion, AnalyticsReply } from './analyticsThread.ts';

/** Answers of the last moments stay good: a page asks for several views of one period. */
export function createAnalytics(path: string): (days: number) => Promise<Analytics> {
  const known = new Map<number, { answer: Promise<Analytics>; at: number }>();
  return (days) => {
    const now = performance.now();
    const fresh = known.get(days);
    if (fresh && now - fresh.at < limits.analytics.keepMs) return fresh.answer;
    // One thread at a time: the next waits for the one before.
    const before = [...known.values()].at(-1)?.answer.catch(() => {}) ?? Promise.resolve();
    const answer = before.then(() => readInThread({ path, days }));
    known.clear();
    known.set(days, { answer, at: now });
    answer.catch(() => known.delete(days));
    return answer;
  };
}

/** Errors: ANALYTICS_FAILED. */
function readInThread(question: AnalyticsQuestion): Promise<Analytics> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(entry(), { workerData: question, resourceLimits: { maxOldGenerationSizeMb: limits.analytics.heapMb } });
    const timer = setTimeout(() => fail('it took too long; ask for fewer days'), limits.analytics.threadMs);
    const fail = (why: string) => {
      clearTimeout(timer);
      void thread.terminate();
      reject(new AgentError('ANALYTICS_FAILED', `the usage could not be computed: ${why}`, { fix: '`agent logs agent` shows more' }));
    };
    thread.once('message', (reply: AnalyticsReply) => {
      clearTimeout(timer);
      if ('failed' in reply) fail(reply.failed);
      else resolve(reply.answer);
    });
    thread.once('error', (thrown) => fail((thrown as Error).message));
    thread.once('exit', (code) => fail(`its thread ended with ${code}`));
    thread.unref();
  });
}

const entry = (): string =>
  import.meta.filename.endsWith('.ts')
    ? join(import.meta.dirname, 'analyticsThread.ts')
    : join(dirname(process.argv[1]!), 'analyticsThread.js');
