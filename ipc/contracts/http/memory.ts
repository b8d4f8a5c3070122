/** The memory of a profile over HTTP, and the writes that wait for its owner. It is the agent worker's. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';
import { MemoryShown, StagedWrite } from '../rpcTools.ts';

const tag = 'Memory';
export const showMemory = httpRoute('GET /api/memory', {
  tag,
  summary: 'MEMORY.md and USER.md, how full they are, and the writes that wait for review.',
  profile: true,
  result: MemoryShown,
});

export const resetMemory = httpRoute('POST /api/memory/reset', {
  tag,
  summary: 'Empties the memory, or a part of it; what it held is kept beside it.',
  profile: true,
  body: z.strictObject({ target: z.enum(['all', 'memory', 'user']), profile: Profile }),
  result: z.object({ ok: z.literal(true), kept: z.array(z.string()) }),
  errors: ['DISK_FULL'],
});

export const reviewMemory = httpRoute('POST /api/memory/review', {
  tag,
  summary: 'Writes, or drops, what waits for review: those named, or all.',
  profile: true,
  body: z.strictObject({
    decision: z.enum(['approve', 'reject']),
    ids: z.array(z.string().max(100)).max(limits.approvals.stagedMax).optional(),
    all: z.boolean().optional(),
    profile: Profile,
  }),
  result: z.object({
    done: z.array(z.string()),
    failed: z.array(z.object({ id: z.string(), message: z.string() })),
    staged: z.array(StagedWrite),
  }),
  errors: ['DISK_FULL'],
});
