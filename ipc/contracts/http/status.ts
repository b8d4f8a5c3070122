/** `GET /api/status` (interface spec, http.1; reference/clients §1.3): what strangers may know of the service, and more for its user. */
import { z } from 'zod';
import { httpRoute } from '../../httpRoute.ts';

export const getStatus = httpRoute('GET /api/status', {
  tag: 'Service',
  summary: 'Whether the service lives, and which parts of it do. Paths and reasons only for its user.',
  access: 'public',
  result: z.looseObject({
    version: z.string(),
    agent_home: z.string().optional(),
    config_path: z.string().optional(),
    env_path: z.string().optional(),
    gateway_running: z.boolean(),
    gateway_state: z.string().nullable(),
    gateway_updated_at: z.string().nullable(),
    gateway_pid: z.number().nullable().optional(),
    gateway_exit_reason: z.string().nullable().optional(),
    gateway_platforms: z.record(z.string(), z.looseObject({ state: z.string().optional() })),
    /** A sign-in stands before everything else. */
    auth_required: z.boolean(),
    auth_providers: z.array(z.string()),
    auth_flows: z.array(z.string()),
    can_update_agent: z.boolean(),
    paused: z.object({ reason: z.string().nullable(), engaged_at: z.string().nullable(), expires_at: z.string().nullable() }).nullable(),
    supervisor: z.object({
      state: z.enum(['running', 'gone', 'unknown']),
      seen_at: z.string().nullable(),
      started_at: z.string().nullable(),
    }),
    workers: z.array(z.object({ slot: z.string(), profile: z.string(), desired: z.string(), state: z.string() })),
  }),
});
