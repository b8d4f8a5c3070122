/** Scheduled jobs over HTTP (interface spec, http.11–13; contract §10). */
import { z } from 'zod';
import { httpRoute } from '../../httpRoute.ts';

/** Read after the proof: the signature covers the bytes as they came, so this route is put up by hand. */
export const FireBody = z.strictObject({
  job_id: z.string().min(1).max(200),
  scheduled_at: z.iso.datetime({ offset: true }).optional(),
  idempotency_key: z.string().max(200).optional(),
});

export const fireCron = httpRoute('POST /api/cron/fire', {
  tag: 'Automation',
  summary: 'An outside scheduler claims one occurrence of a job: 202 when this call claimed it, 200 when it was claimed before.',
  access: 'outside',
  body: FireBody,
  result: z.union([z.object({ claimed: z.literal(true), execution_id: z.string().nullable() }), z.object({ claimed: z.literal(false) })]),
  status: 202,
  errors: ['UNAUTHENTICATED', 'PAUSED', 'UNKNOWN_JOB'],
});
