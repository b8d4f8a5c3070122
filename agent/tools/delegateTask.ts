/** `delegate_task`: pieces of work done by children in sessions of their own; their last words come back. */
import { z } from 'zod';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Delegation, Delegator } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const { delegateParallel, delegateTasksMax } = limits.tools;

const Task = z.object({
  goal: z.string().min(1).max(20_000),
  context: z.string().max(50_000).optional(),
  toolsets: z.array(z.string()).optional(),
});

export interface DelegateOptions {
  delegator: Delegator;
  /** `delegation.max_concurrent`. */
  parallel?: number | undefined;
}

const Args = z.object({
  goal: z.string().min(1).max(20_000).optional().describe('One task; or use tasks.'),
  context: z.string().max(50_000).optional().describe('All the child must know.'),
  toolsets: z.array(z.string()).optional().describe('Fewer than yours.'),
  tasks: z.array(Task).min(1).max(delegateTasksMax).optional(),
});

export function delegateTaskTool({ delegator, parallel = delegateParallel }: DelegateOptions): Tool {
  return defineTool({
    name: 'delegate_task',
    toolset: 'delegation',
    description: 'Gives work to children that see nothing of this conversation; answers what each reports. Several tasks run side by side.',
    args: Args,
    async run({ goal, context, toolsets, tasks }, run) {
      if (!tasks && !goal) throw new AgentError('BAD_REQUEST', 'give goal, or tasks');
      const all: Delegation[] = tasks ?? [{ goal: goal!, context, toolsets }];
      const results = await inParallel(all, parallel, (task, index) =>
        delegator.run(task, {
          ...run,
          progress: (text) => run.progress(all.length > 1 ? `${index + 1}: ${text}` : text),
          index,
          count: all.length,
        }),
      );
      const text = results.map(({ status, summary }, index) => {
        const head = all.length > 1 ? `Task ${index + 1} (${status}):\n` : status === 'complete' ? '' : `(${status})\n`;
        return head + (summary || 'It reported nothing.');
      });
      const data = { results: results.map((result, index) => ({ goal: all[index]!.goal, ...result })) };
      return { text: text.join('\n\n'), data, isError: results.every(({ status }) => status !== 'complete') };
    },
  });
}

async function inParallel<T, R>(items: readonly T[], width: number, work: (item: T, index: number) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const waiting = [...items.entries()];
  await Promise.all(
    Array.from({ length: Math.min(width, items.length) }, async () => {
      for (let next = waiting.shift(); next; next = waiting.shift()) results[next[0]] = await work(next[1], next[0]);
    }),
  );
  return results;
}
