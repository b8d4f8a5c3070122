/** Entry of the thread for heavy work of tools: one task, one answer, and it is gone. */
import { parentPort, workerData } from 'node:worker_threads';
import { performHeavyTask, type HeavyTask } from '../../agent/tools/heavyTask.ts';
import { messageOf } from '../../base/errors.ts';

try {
  parentPort?.postMessage({ result: await performHeavyTask(workerData as HeavyTask) }, []);
} catch (thrown) {
  parentPort?.postMessage({ failed: messageOf(thrown) }, []);
}
