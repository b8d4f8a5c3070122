/** Work that would hold up every other conversation: done in a thread that can be ended (lesson 34). */
import { htmlText, type PageText } from './htmlText.ts';
import { scan, type ScanRequest, type ScanResult } from './scan.ts';

export type HeavyTask = { kind: 'scan'; request: ScanRequest } | { kind: 'htmlText'; html: string; url: string };

/** Runs a task away from the main loop. Errors: TIMEOUT, the signal's reason, those of the task as BAD_REQUEST. */
export interface Offload {
  scan(request: ScanRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<ScanResult>;
  htmlText(html: string, url: string, options: { signal: AbortSignal; timeoutMs: number }): Promise<PageText>;
}

/** In the thread. */
export function performHeavyTask(task: HeavyTask): Promise<ScanResult | PageText> {
  return task.kind === 'scan' ? Promise.resolve().then(() => scan(task.request)) : htmlText(task.html, task.url);
}
