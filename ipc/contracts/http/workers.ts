/** The processes of the service: the table, the commands on a slot, its history. All of it is the supervisor's. */
import { z } from '../../../base/lazyZod.ts';
import { levels } from '../../../base/closedWords.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { LastExit, Receipt, ResourceSample, SlotState, Status, WorkerStatus } from '../supervisor.ts';

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

export const getWorker = httpRoute('GET /api/workers/:slot', {
  tag: 'Workers',
  summary: 'One row of the table.',
  params: Slot,
  result: WorkerStatus.extend({ live: z.boolean() }),
  errors: ['NO_SUPERVISOR', 'UNKNOWN_SLOT'],
});

/** An end on record; the whole of it is a black box (ipc/contracts/blackBox.ts). */
const End = z.object({
  slot: z.string(),
  pid: z.number(),
  last_exit: LastExit,
  fix: z.string().nullable(),
  lived_ms: z.number(),
  ready_ms: z.number().nullable(),
  active_work: z.number(),
  tail: z.array(z.string()),
});

export const whyWorker = httpRoute('GET /api/workers/:slot/why', {
  tag: 'Workers',
  summary: 'Why a slot ended or does not start, in a sentence, and the evidence; read from the files, whatever runs.',
  params: Slot,
  query: z.looseObject({ last: z.coerce.number().int().min(1).max(limits.supervisor.boxesPerSlotMax).default(1) }),
  result: z.object({
    slot: z.string(),
    state: SlotState.nullable(),
    sentence: z.string(),
    fix: z.string().nullable(),
    last_exit: LastExit.nullable(),
    times: z.number(),
    first_at: z.string().nullable(),
    tail: z.array(z.string()),
    ends: z.array(End),
  }),
  errors: ['UNKNOWN_SLOT'],
});

export const workerReceipts = httpRoute('GET /api/workers/:slot/receipts', {
  tag: 'Workers',
  summary: 'Starts, stops and restarts of a slot that somebody asked for, newest first.',
  params: Slot,
  query: z.looseObject({ limit: z.coerce.number().int().min(1).max(200).default(20) }),
  result: z.object({ receipts: z.array(Receipt) }),
  errors: ['NO_SUPERVISOR', 'UNKNOWN_SLOT'],
});

export const workerLogs = httpRoute('GET /api/workers/:slot/logs', {
  tag: 'Workers',
  summary: 'The last lines of the log that a slot writes.',
  params: Slot,
  query: z.looseObject({
    lines: z.coerce.number().int().min(0).max(limits.dashboard.logLinesMax).default(200),
    level: z.enum(levels).optional(),
  }),
  result: z.object({ file: z.string(), lines: z.array(z.string()) }),
  errors: ['UNKNOWN_SLOT'],
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
