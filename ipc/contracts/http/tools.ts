/** Toolsets over HTTP (reference/clients §1.4). */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';
import { ToolsetRow } from '../rpcTools.ts';

const Row = ToolsetRow.extend({
  /** Listed in agent.disabled_toolsets: off everywhere, by the switch. */
  switched_off: z.boolean(),
});

export const listToolsets = httpRoute('GET /api/tools/toolsets', {
  tag: 'Tools',
  summary: 'The toolsets of a place, whether each is on, and what refuses it.',
  profile: true,
  query: z.looseObject({ platform: z.string().max(64).optional() }),
  result: z.object({ platform: z.string(), toolsets: z.array(Row) }),
});

export const switchToolset = httpRoute('PUT /api/tools/toolsets/:name', {
  tag: 'Tools',
  summary: 'Takes a toolset out of agent.disabled_toolsets, or puts it there; in force at the next turn.',
  profile: true,
  params: z.object({ name: z.string().max(100) }),
  body: z.strictObject({ enabled: z.boolean(), profile: z.string().max(64).optional() }),
  result: z.object({ ok: z.literal(true), name: z.string(), disabled_toolsets: z.array(z.string()) }),
  errors: ['NOT_FOUND', 'CONFIG_INVALID', 'DISK_FULL'],
});
