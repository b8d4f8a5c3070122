/** Methods of the gateway RPC about memory and the writes that wait for review. */
import { memoryCaps } from '../../../agent/tools/memory.ts';
import { memoryReset, memoryReview, memoryShow } from '../../../ipc/contracts/rpcTools.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import { writeFileAtomic } from '../../../state/atomicFile.ts';
import { join } from 'node:path';
import type { SessionParts } from '../sessions.ts';

export function memoryMethods({ context, staged, memory }: SessionParts): Handler[] {
  const pathOf = (target: 'memory' | 'user') => join(context.paths.memories, target === 'memory' ? 'MEMORY.md' : 'USER.md');
  return [
    handle(memoryShow, async () => ({
      stores: (['memory', 'user'] as const).map((target) => {
        const text = memory.read(target);
        return { target, path: pathOf(target), text, chars: text.trimEnd().length, cap: memoryCaps[target] };
      }),
      staged: await staged.list(),
      write_approval: context.config().config.memory?.write_approval === true,
    })),
    handle(memoryReset, ({ target }) => ({
      kept: (['memory', 'user'] as const).flatMap((one) => {
        const text = target === 'all' || target === one ? memory.read(one) : '';
        if (text === '') return [];
        const kept = `${pathOf(one)}.before-reset`;
        writeFileAtomic(kept, text);
        memory.write(one, '');
        return [kept];
      }),
    })),
    handle(memoryReview, async ({ decision, ids = [], all }) => {
      const { done, failed } = staged.review(decision, all ? 'all' : ids);
      return { done, failed, staged: await staged.list() };
    }),
  ];
}
