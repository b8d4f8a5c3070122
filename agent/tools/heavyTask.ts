/** Work that would hold up every other conversation: done in a thread that can be ended (lesson 34). */
import { checkArguments, type ArgumentTask } from './argumentCheck.ts';
import { htmlText, type PageText } from './htmlText.ts';
import { scan, type ScanRequest, type ScanResult } from './scan.ts';

export type HeavyTask =
  | { kind: 'scan'; request: ScanRequest }
  | { kind: 'htmlText'; html: string; url: string }
  | { kind: 'arguments'; task: ArgumentTask };

/** Runs a task away from the main loop. Errors: TIMEOUT, the signal's reason, those of the task as BAD_REQUEST. */
export interface Offload {
  scan(request: ScanRequest, options: { signal: AbortSignal; timeoutMs: number }): Promise<ScanResult>;
  htmlText(html: string, url: string, options: { signal: AbortSignal; timeoutMs: number }): Promise<PageText>;
  /** What is wrong with the arguments of a foreign tool. */
  checkArguments(task: ArgumentTask, options: { signal: AbortSignal; timeoutMs: number }): Promise<string | undefined>;
}

/** In the thread. */
export async function performHeavyTask(task: HeavyTask): Promise<ScanResult | PageText | string | undefined> {
  switch (task.kind) {
    case 'scan':
      return scan(task.request);
    case 'htmlText':
      return htmlText(task.html, task.url);
    case 'arguments':
      return checkArguments(task.task);
  }
}
