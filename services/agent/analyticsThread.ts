/** Entry of the thread that reads a period of state.db: one question, one answer, and it is gone. */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../../base/errors.ts';
import { readAnalytics, type Analytics } from './analyticsSql.ts';

export interface AnalyticsQuestion {
  path: string;
  days: number;
}
export type AnalyticsReply = { answer: Analytics } | { failed: string };

const { path, days } = workerData as AnalyticsQuestion;
let reply: AnalyticsReply;
try {
  reply = { answer: readAnalytics(path, days) };
} catch (thrown) {
  reply = { failed: messageOf(thrown) };
}
parentPort?.postMessage(reply, []);
