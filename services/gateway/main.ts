/** Entry of the gateway worker. */
import { runWorker } from '../worker.ts';
import { startGateway } from './gateway.ts';

await runWorker('gateway', startGateway);
