/** What conversations cost, over HTTP (reference/clients §1.4). `agent usage` prints the same. */
import { z } from '../../../base/lazyZod.ts';
import { limits } from '../../../base/limits.ts';
import { httpRoute } from '../../httpRoute.ts';
import { analyticsModels, analyticsUsage } from '../rpcAnalytics.ts';

const Query = z.looseObject({
  days: z.coerce.number().int().min(1).max(limits.analytics.daysMax).default(limits.analytics.daysDefault),
});

export const getUsage = httpRoute('GET /api/analytics/usage', {
  tag: 'Analytics',
  summary: 'Tokens and money by day, model and source.',
  profile: true,
  query: Query,
  result: analyticsUsage.result,
  errors: ['ANALYTICS_FAILED'],
});

export const getModels = httpRoute('GET /api/analytics/models', {
  tag: 'Analytics',
  summary: 'Tokens and money of each model, with its days.',
  profile: true,
  query: Query,
  result: analyticsModels.result,
  errors: ['ANALYTICS_FAILED'],
});
