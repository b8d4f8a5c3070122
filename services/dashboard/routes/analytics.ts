/** Tokens and money: computed by the agent worker of the profile, beside its turns. */
import { getModels, getUsage } from '../../../ipc/contracts/http/analytics.ts';
import { analyticsModels, analyticsUsage } from '../../../ipc/contracts/rpcAnalytics.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function analyticsRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(getUsage, ({ query: { days }, profile, signal }) => agentOf(profile).call(analyticsUsage, { days }, { signal })),
    on(getModels, ({ query: { days }, profile, signal }) => agentOf(profile).call(analyticsModels, { days }, { signal })),
  ];
}
