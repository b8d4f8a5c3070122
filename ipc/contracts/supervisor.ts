/** What the supervisor answers on `run/supervisor.sock`, and the shapes of status and receipts (contract §4). */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { method, notice } from '../method.ts';
import { WaitingWork } from './peer.ts';

export const slotStates = ['down', 'starting', 'ready', 'draining', 'backoff', 'parked'] as const;
export const SlotState = z.enum(slotStates);
export type SlotState = z.infer<typeof SlotState>;

export const LastExit = z.object({
  code: z.number().nullable(),
  signal: z.string().nullable(),
  at: z.string(),
  /** Groups ends of the same kind; equal signatures mean the same cause. */
  signature: z.string(),
  /** One sentence for a person. */
  summary: z.string(),
});
export type LastExit = z.infer<typeof LastExit>;

/**
 * What the signs of life say (contract §4, Liveness): `ok`; `suspect` = silent for a while; `blocked` = the main
 * loop stands still, its watchdog does not; `stopped` = SIGSTOP or a debugger; `livelocked` = busy without progress;
 * `silent` = nothing of it moves.
 */
export const livenessWords = ['ok', 'suspect', 'blocked', 'stopped', 'livelocked', 'silent', 'exhausted'] as const;
export const Liveness = z.enum(livenessWords);
export type Liveness = z.infer<typeof Liveness>;

/** What a start can lack that comes back without a person (contract §4, Restart policy). */
export const ShortageKind = z.enum(['space', 'processes', 'descriptors', 'memory', 'store', 'port', 'program']);
export type ShortageKind = z.infer<typeof ShortageKind>;

export interface Shortage {
  kind: ShortageKind;
  /** The address of a port, the path of a program file. */
  at?: string | undefined;
}

export const WorkerStatus = z.object({
  slot: z.string(),
  profile: z.string(),
  /** `sidecar` = a program of the user's. */
  kind: z.enum(['worker', 'sidecar']),
  /** `demand` = started when first needed. */
  desired: z.enum(['up', 'down', 'demand']),
  state: SlotState,
  pid: z.number().nullable(),
  since: z.string(),
  /** Spawn to ready of the current incarnation. */
  ready_ms: z.number().nullable(),
  /** Unplanned restarts since the supervisor started. */
  restarts: z.number(),
  code: z.string().nullable(),
  rss_bytes: z.number().nullable(),
  cpu_percent: z.number().nullable(),
  /** Delay of the main loop at the last heartbeat; null for a sidecar. */
  lag_ms: z.number().nullable(),
  /** Open file descriptors. */
  fds: z.number().nullable(),
  /** Growth of resident memory over the last hours; null while too little is known. */
  leak_bytes_per_hour: z.number().nullable(),
  liveness: Liveness.nullable(),
  /** Lines of a declared flood of its output that were not kept; absent while there are none. */
  log_lines_dropped: z.number().optional(),
  /** Accepted work that it keeps because another slot cannot take it now; absent while there is none. */
  waiting: z.array(WaitingWork).optional(),
  /** Taken over from an earlier supervisor. */
  adopted: z.boolean(),
  /** Why it is not ready, with the fix. */
  reason: z.string().nullable(),
  next_start_at: z.string().nullable(),
  /** In backoff: what it lacks; its cause is checked every few seconds. Absent when it lacks nothing. */
  shortage: ShortageKind.optional(),
  last_exit: LastExit.nullable(),
});
export type WorkerStatus = z.infer<typeof WorkerStatus>;

export const PauseStatus = z.object({
  path: z.string(),
  reason: z.string().nullable(),
  engaged_at: z.string().nullable(),
  expires_at: z.string().nullable(),
  scope: z.array(z.string()),
});

export const Status = z.object({
  supervisor: z.object({
    pid: z.number(),
    version: z.string(),
    code: z.string(),
    started_at: z.string(),
    home: z.string(),
    managed_by: z.enum(['systemd', 'launchd', 'container', 'none']),
    /** Workers taken over from an earlier supervisor. */
    adopted: z.number(),
    /** Kernel start time and boot id: with the pid they prove which process wrote this. */
    start_time: z.number(),
    boot_id: z.string(),
    /** Where the page is; null while no dashboard is ready. */
    dashboard: z.string().nullable(),
    demo: z.boolean(),
    /** How the dashboard is to be served (`agent up --host --port --insecure`); null = as configured. Absent of an older supervisor, and where there is no dashboard. */
    dashboard_start: z.object({ host: z.string().nullable(), port: z.number().nullable(), insecure: z.boolean() }).optional(),
  }),
  /** `held`: due jobs and messages that wait for its end, of all profiles. */
  paused: z.object({ ...PauseStatus.shape, held: z.number() }).nullable(),
  /** Things the operator should know: a bad config.yaml, a corrupt gateway_state.json, … */
  problems: z.array(z.object({ what: z.string(), fix: z.string() })),
  workers: z.array(WorkerStatus),
  /** When this snapshot was taken. */
  at: z.string(),
});
export type Status = z.infer<typeof Status>;

export const Receipt = z.object({
  slot: z.string(),
  action: z.enum(['start', 'stop', 'restart']),
  cause: z.string(),
  actor: z.string(),
  old_pid: z.number().nullable(),
  new_pid: z.number().nullable(),
  ok: z.boolean(),
  ready_ms: z.number().nullable(),
  downtime_ms: z.number().nullable(),
  drained_ms: z.number().nullable(),
  interrupted_turns: z.number(),
  at: z.string(),
  /** Why it failed; absent when ok. */
  error: z.string().optional(),
});
export type Receipt = z.infer<typeof Receipt>;

export const status = method('supervisor.status', { params: z.object({}), result: Status });

const SlotCommand = z.object({
  slot: z.string(),
  /** False: SIGTERM at once. */
  drain: z.boolean().default(true),
  /** Who asks, for the receipt: `cli`, `dashboard`, … */
  actor: z.string().default('unknown'),
  cause: z.string().default('command'),
});

/** Slot commands answer with the receipt when the result is known. Errors: UNKNOWN_SLOT, SUPERSEDED. */
export const startSlot = method('slot.start', { params: SlotCommand, result: Receipt, timeoutMs: 0 });
export const stopSlot = method('slot.stop', { params: SlotCommand, result: Receipt, timeoutMs: 0 });
export const restartSlot = method('slot.restart', { params: SlotCommand, result: Receipt, timeoutMs: 0 });

/** Starts an on-demand slot unless it runs; answers when it is ready. Errors: UNKNOWN_SLOT, START_FAILED, SLOT_PARKED. */
export const ensureSlot = method('slot.ensure', {
  params: z.object({ slot: z.string() }),
  result: z.object({ slot: z.string(), pid: z.number(), socket: z.string() }),
  timeoutMs: limits.ipc.startingMs + 10_000,
});

/** What is known about the last abnormal end of a slot (`agent why`). */
export const whySlot = method('slot.why', {
  params: z.object({ slot: z.string() }),
  result: z.object({ slot: z.string(), state: SlotState, sentence: z.string(), last_exit: LastExit.nullable(), tail: z.array(z.string()) }),
});

export const ResourceSample = z.object({
  at: z.string(),
  rss_bytes: z.number(),
  cpu_percent: z.number(),
  lag_ms: z.number().nullable(),
  fds: z.number().nullable(),
});
export type ResourceSample = z.infer<typeof ResourceSample>;

/** Memory, CPU, loop lag and descriptors of a slot, oldest first; up to seven days back. Errors: UNKNOWN_SLOT. */
export const resources = method('slot.resources', {
  params: z.object({ slot: z.string(), since_ms: z.number().int().min(0).default(3_600_000) }),
  result: z.object({ samples: z.array(ResourceSample) }),
});

/** Recent receipts, newest first. */
export const receipts = method('supervisor.receipts', {
  params: z.object({ slot: z.string().optional(), limit: z.number().int().min(1).max(1_000).default(50) }),
  result: z.object({ receipts: z.array(Receipt) }),
});

/** Where the dashboard is to be, as `agent up` was told; what is absent stays as configured. */
export const DashboardPlace = z.object({
  host: z.string().optional(),
  port: z.number().int().optional(),
  insecure: z.boolean().optional(),
});
export type DashboardPlace = z.infer<typeof DashboardPlace>;

/** What `agent up` asks of a service that runs. */
export const Joining = z.object({ demo: z.boolean().optional(), ...DashboardPlace.shape });
export type Joining = z.infer<typeof Joining>;

/** How a service was started; `full`: every boot slot is wanted, not only those of `agent chat`. Kept in `run/slots.json` for the next supervisor. */
export const ServiceStart = z.object({ full: z.boolean(), ...Joining.shape });
export type ServiceStart = z.infer<typeof ServiceStart>;

/** Errors: DRAINING while the service goes down. Makes a service that `agent chat` started into the full one: every boot slot is wanted, the dashboard where it is asked for, the rehearsal model on offer. */
export const wantAll = method('supervisor.want_all', {
  params: Joining,
  result: z.object({ changed: z.boolean() }),
});

/** Resolves when every wanted slot is ready, or says which are not when `timeout_ms` has passed. Errors: DRAINING. */
export const waitReady = method('supervisor.wait_ready', {
  params: z.object({ timeout_ms: z.number().int().min(0).default(limits.supervisor.upMs) }),
  result: z.object({ ready: z.boolean(), status: Status }),
  timeoutMs: 0,
});

/** Drains and stops every worker; answers when all are proved gone, then the supervisor leaves. */
export const down = method('supervisor.down', {
  params: z.object({ actor: z.string().default('unknown'), drain: z.boolean().default(true) }),
  result: z.object({ receipts: z.array(Receipt) }),
  timeoutMs: 0,
});

/** The supervisor alone starts again and adopts its workers, which run on. Errors: DRAINING, RESTART_REFUSED, PACKAGE_INCOMPLETE, DISK_FULL. */
export const restartSupervisor = method('supervisor.restart', {
  params: z.object({ actor: z.string().default('unknown') }),
  result: z.object({ pid: z.number() }),
});

// --- said by a worker on its own connection to the supervisor ---

/**
 * "I serve now": the first call of a worker, made once its socket accepts and its service works, and again to
 * every later supervisor (re-adoption). Errors: UNKNOWN_SLOT when this is not the incarnation on record.
 */
export const attach = method('worker.attach', {
  params: z.object({
    slot: z.string(),
    pid: z.number(),
    nonce: z.string(),
    code: z.string(),
    facts: z.record(z.string(), z.unknown()),
    /** A successor in a planned restart: loaded, serving nothing yet, waiting for `worker.activate`. */
    standby: z.boolean().optional(),
  }),
  /** How often to send `worker.heartbeat`, how long to work on without any supervisor, whether it may leave when nobody needs it, and whether the rehearsal model is on offer. */
  result: z.object({
    heartbeat_ms: z.number().optional(),
    orphan_ms: z.number().optional(),
    on_demand: z.boolean().optional(),
    demo: z.boolean().optional(),
  }),
});

/** Said to workers that run when `agent up --demo` joins a service that a chat started: the rehearsal model is on offer from now on. */
export const offerRehearsal = notice('worker.rehearsal', z.object({}));

/** Said to a waiting successor once the one before it is gone: serve now. */
export const activate = notice('worker.activate', z.object({}));

/** Progress of the main loop. */
export const heartbeat = notice(
  'worker.heartbeat',
  z.object({
    active: z.number().int(),
    /** Names of the first units of work in flight. */
    units: z.array(z.string()).optional(),
    lag_ms: z.number(),
    /** Counts steps of accepted work; a worker that is busy without counting up is livelocked. */
    progress: z.number().int().optional(),
    /** Share of the last interval in which the loop was busy, 0 to 1. */
    utilization: z.number().optional(),
    /** It could not open a file, for want of a descriptor. */
    descriptors_used_up: z.boolean().optional(),
  }),
);

/** What the worker reports about itself for status (platform states of the gateway, address of the dashboard, …). */
export const facts = notice('worker.facts', z.object({ facts: z.record(z.string(), z.unknown()) }));
