/** `GET /api/status` (interface spec, http.1; reference/clients §1.3): what strangers may know of the service, and more for its user. */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';
import { WaitingWork } from '../peer.ts';

export const Pressure = z.enum(['ok', 'elevated', 'critical', 'unknown']);

/** Figures are for those who may read them anyway; whether it runs short is for all. */
const Memory = z.object({
  pressure: Pressure,
  gateway_rss_mb: z.number().nullable().optional(),
  system_total_mb: z.number().optional(),
  system_available_mb: z.number().optional(),
  swap_used_mb: z.number().nullable().optional(),
  sampled_at: z.string().optional(),
  /** A worker has ended abnormally since the machine booted. */
  last_boot_unclean: z.boolean(),
  /** … and lack of memory is why, as far as the kernel or the last measurement tells. */
  last_boot_suspected_oom: z.boolean(),
  boot_id: z.string().optional(),
});

const Disk = z.object({
  pressure: Pressure,
  total_mb: z.number().nullable().optional(),
  free_mb: z.number().nullable().optional(),
  used_percent: z.number().nullable().optional(),
});

export const getStatus = httpRoute('GET /api/status', {
  tag: 'Service',
  summary: 'Whether the service lives, and which parts of it do. Paths and reasons only for its user.',
  access: 'public',
  result: z.looseObject({
    version: z.string(),
    agent_home: z.string().optional(),
    config_path: z.string().optional(),
    env_path: z.string().optional(),
    config_version: z.number().optional(),
    latest_config_version: z.number().optional(),
    /** Sessions of the default profile in which something was said in the last five minutes; null while its agent worker does not answer. */
    active_sessions: z.number().nullable(),
    gateway_running: z.boolean(),
    gateway_state: z.string().nullable(),
    /** This house has one gateway a profile, and no address of its own for its health. */
    gateway_health_url: z.null(),
    gateway_shared_with: z.null(),
    gateway_updated_at: z.string().nullable(),
    gateway_pid: z.number().nullable().optional(),
    gateway_exit_reason: z.string().nullable().optional(),
    gateway_platforms: z.record(z.string(), z.looseObject({ state: z.string().optional() })),
    memory: Memory,
    disk: Disk,
    /** A sign-in stands before everything else. */
    auth_required: z.boolean(),
    auth_providers: z.array(z.string()),
    auth_flows: z.array(z.string()),
    can_update_agent: z.boolean(),
    /** Accepted work that `worker` keeps because `slot` cannot take it now. Only for its user. */
    waiting: z.array(WaitingWork.extend({ worker: z.string() })).optional(),
    paused: z.object({ reason: z.string().nullable(), engaged_at: z.string().nullable(), expires_at: z.string().nullable() }).nullable(),
    supervisor: z.object({
      state: z.enum(['running', 'gone', 'unknown']),
      seen_at: z.string().nullable(),
      started_at: z.string().nullable(),
    }),
    workers: z.array(z.object({ slot: z.string(), profile: z.string(), desired: z.string(), state: z.string() })),
  }),
});
