/** Methods of the gateway RPC about memory and the writes that wait for review. */
import { memoryCaps } from '../../../agent/tools/memory.ts';
import { memoryReview, memoryShow } from '../../../ipc/contracts/rpcTools.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { join } from 'node:path';
import type { SessionParts } from '../sessions.ts';

export function memoryMethods({ context, staged, memory }: SessionParts): Handler[] {
  return [
    handle(memoryShow, async () => ({
      stores: (['memory', 'user'] as const).map((target) => {
        const text = memory.read(target);
        const path = join(context.paths.memories, target === 'memory' ? 'MEMORY.md' : 'USER.md');
        return { target, path, text, chars: text.trimEnd().length, cap: memoryCaps[target] };
      }),
      staged: await staged.list(),
      write_approval: context.config().config.memory?.write_approval === true,
    })),
    handle(memoryReview, async ({ decision, ids = [], all }) => {
      const { done, failed } = staged.review(decision, all ? 'all' : ids);
      return { done, failed, staged: await staged.list() };
    }),
  ];
}
