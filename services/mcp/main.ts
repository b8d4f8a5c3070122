/** Entry of the `mcp` worker. */
import { runWorker } from '../worker.ts';
import { startBroker } from './broker.ts';

await runWorker('mcp', startBroker);
