/** `todo`: the plan of a session as a list of items, read, replaced or merged; what does not fit together is put right and said. */
import { z } from 'zod';
import { limits } from '../../base/limits.ts';
import type { PlanStore, TodoItem } from '../ports.ts';
import { defineTool, type Tool } from './registry.ts';

const STATUSES = ['pending', 'in_progress', 'completed', 'cancelled'] as const;

const Item = z.object({
  id: z.string().min(1).max(100),
  content: z.string().max(limits.tools.todoMaxChars).optional(),
  status: z.enum(STATUSES).optional(),
  parent: z.string().nullable().optional().describe('Id of the item it belongs to; null clears it.'),
});
export type TodoInput = z.infer<typeof Item>;

const Args = z.object({
  todos: z.array(Item).max(limits.tools.todoMax).optional(),
  merge: z.boolean().optional(),
});

export function todoTool(plan: PlanStore): Tool {
  return defineTool({
    name: 'todo',
    toolset: 'todo',
    description:
      'The task list of this session, for work of several steps. Without todos it is read; with them it is replaced, or with merge changed by id. Keep one item in_progress.',
    args: Args,
    async run({ todos, merge = false }) {
      if (todos === undefined) return answer(plan.read(), []);
      const { items, notes } = merge ? merged(plan.read(), todos) : replaced(todos);
      plan.write(items);
      return answer(items, notes);
    },
  });
}

export interface Settled {
  items: TodoItem[];
  /** What was put right, for the model. */
  notes: string[];
}

export function replaced(inputs: readonly TodoInput[]): Settled {
  return settled(inputs, []);
}

/** Items of a known id keep what is not given; others are added at the end. */
export function merged(current: readonly TodoItem[], inputs: readonly TodoInput[]): Settled {
  return settled(inputs, current);
}

function settled(inputs: readonly TodoInput[], current: readonly TodoItem[]): Settled {
  const notes: string[] = [];
  const byId = new Map(current.map((item) => [item.id, item]));
  for (const input of inputs) {
    const before = byId.get(input.id);
    const content = input.content ?? before?.content;
    if (content === undefined) {
      notes.push(`${input.id} has no content and was left out`);
      continue;
    }
    // Given = set or cleared, left out = as it was.
    const parent = input.parent === undefined ? before?.parent : (input.parent ?? undefined);
    byId.set(input.id, { id: input.id, content, status: input.status ?? before?.status ?? 'pending', ...(parent ? { parent } : {}) });
  }
  const all = [...byId.values()];
  const kept = all.slice(0, limits.tools.todoMax);
  if (kept.length < all.length) notes.push(`the list holds ${kept.length} items; the last ${all.length - kept.length} were left out`);
  const items = withSoundParents(kept, notes);
  const working = items.filter((item) => item.status === 'in_progress').map(({ id }) => id);
  if (working.length > 1) notes.push(`${working.join(', ')} are all in_progress; keep one`);
  return { items, notes };
}

/** No item is its own ancestor, and every parent exists. Of a cycle the first item of the list loses its parent. */
function withSoundParents(items: readonly TodoItem[], notes: string[]): TodoItem[] {
  const parents = new Map(items.map(({ id, parent }) => [id, parent]));
  for (const { id, parent } of items) {
    if (parent === undefined) continue;
    const why =
      parent === id ? 'it named itself' : parents.has(parent) ? isInCycle(id, parents) && 'it closed a circle' : `there is no ${parent}`;
    if (!why) continue;
    parents.set(id, undefined);
    notes.push(`the parent of ${id} was dropped: ${why}`);
  }
  return items.map(({ id, content, status }) => {
    const parent = parents.get(id);
    return { id, content, status, ...(parent === undefined ? {} : { parent }) };
  });
}

function isInCycle(id: string, parents: ReadonlyMap<string, string | undefined>): boolean {
  const seen = new Set<string>();
  for (let at = parents.get(id); at !== undefined && !seen.has(at); at = parents.get(at)) {
    if (at === id) return true;
    seen.add(at);
  }
  return false;
}

const SIGNS: Record<TodoItem['status'], string> = { pending: '[ ]', in_progress: '[>]', completed: '[x]', cancelled: '[-]' };

function answer(todos: TodoItem[], notes: string[]) {
  const lines = todos.map(({ id, content, status, parent }) => `${SIGNS[status]} ${id}: ${content}${parent ? ` (of ${parent})` : ''}`);
  const text = [lines.join('\n') || 'The list is empty.', ...notes.map((note) => `[${note}]`)].join('\n');
  return { text, data: { todos, notes }, isError: false };
}
