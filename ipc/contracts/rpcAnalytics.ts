/** What conversations cost: tokens and money by day, model and source. Computed from state.db beside the turns. */
import { z } from '../../base/lazyZod.ts';
import { limits } from '../../base/limits.ts';
import { rpcMethod, type Method } from '../method.ts';

/** Sums of turns and side calls. Tokens are those that providers counted. */
export const UsageSums = z.object({
  /** Prompt tokens, cached ones included. */
  input_tokens: z.number(),
  output_tokens: z.number(),
  /** Part of the output. */
  reasoning_tokens: z.number(),
  /** Part of the input. */
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  /** US dollars by the price table; calls of models without a known price count as nothing. */
  estimated_cost: z.number(),
  /** What a provider said it took; null = no provider says. */
  actual_cost: z.number().nullable(),
  /** Model calls without a known price. */
  unpriced_calls: z.number(),
  api_calls: z.number(),
  turns: z.number(),
  tool_calls: z.number(),
});
export type UsageSums = z.infer<typeof UsageSums>;

const Params = z.strictObject({
  /** Whole days of this machine's clock, today included. */
  days: z.number().int().min(1).max(limits.analytics.daysMax).optional(),
  profile: z.string().optional(),
});

const Period = { period_days: z.number(), since: z.string(), until: z.string() };

/** Days without a word are left out. Errors: ANALYTICS_FAILED. */
export const analyticsUsage = rpcMethod('analytics.usage', {
  params: Params,
  result: z.object({
    ...Period,
    daily: z.array(UsageSums.extend({ day: z.string(), sessions: z.number() })),
    by_model: z.array(UsageSums.extend({ provider: z.string(), model: z.string() })),
    by_source: z.array(UsageSums.extend({ source: z.string(), sessions: z.number() })),
    totals: UsageSums.extend({ sessions: z.number() }),
  }),
  timeoutMs: limits.analytics.answerMs,
});

/** Models, the most used first, with the days of each. Errors: ANALYTICS_FAILED. */
export const analyticsModels = rpcMethod('analytics.models', {
  params: Params,
  result: z.object({
    ...Period,
    models: z.array(
      UsageSums.extend({
        provider: z.string(),
        model: z.string(),
        first_used: z.string(),
        last_used: z.string(),
        daily: z.array(z.object({ day: z.string(), input_tokens: z.number(), output_tokens: z.number(), estimated_cost: z.number() })),
      }),
    ),
    totals: UsageSums,
  }),
  timeoutMs: limits.analytics.answerMs,
});

export const analyticsMethods: readonly Method[] = [analyticsUsage, analyticsModels];
