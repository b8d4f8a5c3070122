/** Memory: asked of the agent worker of the profile, with the same methods as `agent memory`. */
import * as contract from '../../../ipc/contracts/http/memory.ts';
import { memoryReset, memoryReview, memoryShow } from '../../../ipc/contracts/rpcTools.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function memoryRoutes({ agentOf, context: { log } }: Dashboard): HttpHandler[] {
  return [
    on(contract.showMemory, ({ profile, signal }) => agentOf(profile).call(memoryShow, {}, { signal })),
    on(contract.resetMemory, async ({ body: { target }, profile, signal, request }) => {
      const { kept } = await agentOf(profile).call(memoryReset, { target }, { signal });
      log.info('memory was emptied', { target, profile: profile.name, from: request.ip });
      return { ok: true as const, kept };
    }),
    on(contract.reviewMemory, ({ body: { decision, ids, all }, profile, signal }) =>
      agentOf(profile).call(memoryReview, { decision, ids, all }, { signal }),
    ),
  ];
}
