/** The processes of the service: the table, the commands on a slot, its history. All of it is the supervisor's. */
import { z } from 'zod';
import { httpRoute } from '../../httpRoute.ts';
import { Receipt, ResourceSample, Status } from '../supervisor.ts';

const Slot = z.object({ slot: z.string().max(100) });
const Body = z.strictObject({ drain: z.boolean().optional() });
/** The receipt; `accepted` when it is the dashboard itself that ends. */
const Outcome = z.union([Receipt, z.object({ accepted: z.literal(true), slot: z.string(), action: z.string() })]);

export const listWorkers = httpRoute('GET /api/workers', {
  tag: 'Workers',
  summary: 'The whole table: state, process, resources, last end of every slot.',
  result: Status.extend({ live: z.boolean() }),
  errors: ['NO_SUPERVISOR'],
});

export const workerResources = httpRoute('GET /api/workers/:slot/resources', {
  tag: 'Workers',
  summary: 'Memory, CPU, loop lag and descriptors of a slot, oldest first; up to seven days back.',
  params: Slot,
  query: z.looseObject({
    since_ms: z.coerce
      .number()
      .int()
      .min(0)
      .max(7 * 86_400_000)
      .default(3_600_000),
  }),
  result: z.object({ samples: z.array(ResourceSample) }),
  errors: ['NO_SUPERVISOR', 'UNKNOWN_SLOT'],
});

const command = {
  tag: 'Workers',
  params: Slot,
  body: Body,
  result: Outcome,
  errors: ['NO_SUPERVISOR', 'UNKNOWN_SLOT', 'SUPERSEDED'],
} as const;

export const restartWorker = httpRoute('POST /api/workers/:slot/restart', {
  ...command,
  summary: 'Drains, stops and starts a slot; answers with the receipt.',
});
export const startWorker = httpRoute('POST /api/workers/:slot/start', { ...command, summary: 'Starts a slot; answers when it is ready.' });
export const stopWorker = httpRoute('POST /api/workers/:slot/stop', {
  ...command,
  summary: 'Drains and stops a slot; it stays stopped until it is started.',
});
