/** The thread that copies a store and checks the copy, so that the loop of its worker is never held. */
import { parentPort, workerData } from 'node:worker_threads';
import { isAgentError, messageOf } from '../base/errors.ts';
import { copyStore, type CopyOrder } from '../state/db/copies.ts';

export type CopyReply = { path: string } | { code: string; message: string; fix: string | undefined };

let reply: CopyReply;
try {
  reply = { path: await copyStore(workerData as CopyOrder) };
} catch (thrown) {
  const { code, fix } = isAgentError(thrown) ? thrown : { code: 'INTERNAL', fix: undefined };
  reply = { code, message: messageOf(thrown), fix };
}
const port = parentPort!;
port.postMessage(reply);
