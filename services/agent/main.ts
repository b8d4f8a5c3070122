/** Entry of the agent worker. */
import { runWorker } from '../worker.ts';
import { startAgent } from './agent.ts';

await runWorker('agent', startAgent);
