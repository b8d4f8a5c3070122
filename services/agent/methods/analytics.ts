/** Methods of the gateway RPC about what conversations cost. */
import { limits } from '../../../base/limits.ts';
import { analyticsModels, analyticsUsage } from '../../../ipc/contracts/rpcAnalytics.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { createAnalytics } from '../analytics.ts';
import { refuseOtherProfile } from '../conversations.ts';
import type { SessionParts } from '../sessions.ts';

export function analyticsHandlers({ context, store }: Pick<SessionParts, 'context' | 'store'>): Handler[] {
  const analytics = createAnalytics(store.path);
  return [
    handle(analyticsUsage, async ({ days = limits.analytics.daysDefault, profile }) => {
      refuseOtherProfile(context, profile);
      return (await analytics(days)).usage;
    }),
    handle(analyticsModels, async ({ days = limits.analytics.daysDefault, profile }) => {
      refuseOtherProfile(context, profile);
      return (await analytics(days)).models;
    }),
  ];
}
