/** Entry of the cron worker. */
import { runWorker } from '../worker.ts';
import { startCron } from './cron.ts';

await runWorker('cron', startCron);
