/** Looking after the service over HTTP: checks, the cost of a prompt, the machine, and commands that take a while (reference/clients §1.4). */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { promptSize } from '../rpcSessions.ts';
import { Pressure } from './status.ts';

/** What a route that starts an action answers: its progress is polled at `GET /api/actions/<name>/status`. */
export const ActionStarted = z.object({ name: z.string(), ok: z.literal(true), pid: z.number() });
export type ActionStarted = z.infer<typeof ActionStarted>;

export const ActionStatus = z.object({
  name: z.string(),
  running: z.boolean(),
  pid: z.number(),
  /** Null while it runs, and when a signal ended it. */
  exit_code: z.number().nullable(),
  /** Why it was ended; null when it ended by itself. */
  error: z.string().nullable(),
  lines: z.array(z.string()),
  /** What a command with `--json` printed; null while it runs. */
  result: z.unknown(),
  started_at: z.string(),
  ended_at: z.string().nullable(),
});
export type ActionStatus = z.infer<typeof ActionStatus>;

export const actionStatus = httpRoute('GET /api/actions/:name/status', {
  tag: 'Operation',
  summary: 'A command that the page started: whether it runs, the last lines it said, its end.',
  params: z.object({ name: z.string().min(1).max(200) }),
  query: z.looseObject({ lines: z.coerce.number().int().min(0).max(limits.dashboard.actionLinesMax).default(200) }),
  result: ActionStatus,
  errors: ['NOT_FOUND'],
});

export const runDoctor = httpRoute('POST /api/ops/doctor', {
  tag: 'Operation',
  summary:
    'Starts `agent doctor --json`; the rows are the `result` of the action that is answered: `doctor`, of another profile `doctor-<profile>`.',
  profile: true,
  body: z.strictObject({ online: z.boolean().optional(), fix: z.boolean().optional(), profile: z.string().max(64).optional() }),
  result: ActionStarted,
  status: 202,
  errors: ['ACTION_RUNNING'],
});

export const getPromptSize = httpRoute('GET /api/ops/prompt-size', {
  tag: 'Operation',
  summary: 'What every prompt costs before anybody has said a word, in bytes and estimated tokens.',
  profile: true,
  query: z.looseObject({ platform: z.string().max(50).optional() }),
  result: promptSize.result,
});

export const getSystemStats = httpRoute('GET /api/system/stats', {
  tag: 'Operation',
  summary: 'The machine and this release: processors, load, memory, disk, versions.',
  result: z.object({
    version: z.string(),
    /** Content id of the code; `source` for a checkout. */
    code: z.string(),
    node: z.string(),
    os: z.string(),
    hostname: z.string(),
    cpus: z.number(),
    /** Of the last minute, five and fifteen. */
    load: z.array(z.number()),
    uptime_seconds: z.number(),
    memory: z.object({
      pressure: Pressure,
      total_mb: z.number(),
      available_mb: z.number(),
      swap_used_mb: z.number().nullable(),
      /** All workers together. */
      service_mb: z.number(),
    }),
    disk: z.object({
      pressure: Pressure,
      total_mb: z.number().nullable(),
      free_mb: z.number().nullable(),
      used_percent: z.number().nullable(),
    }),
    sampled_at: z.string(),
  }),
});
