/** What the dashboard says of itself: its document, and figures for a collector. */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';

export const getOpenapi = httpRoute('GET /api/openapi.json', {
  tag: 'Service',
  summary: 'This document.',
  result: z.looseObject({ openapi: z.string() }),
});

/** The token may also come as `Authorization: Bearer`, as collectors send it. */
export const getMetrics = httpRoute('GET /metrics', {
  tag: 'Service',
  summary: 'Prometheus text: slots, restarts, resources, queues.',
  access: 'outside',
  type: 'text/plain; version=0.0.4',
  errors: ['UNAUTHENTICATED'],
});
