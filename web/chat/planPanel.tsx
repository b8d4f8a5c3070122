/** The agent's list of what is to do in this chat, folded to its current step. */
import { Ban, Circle, CircleCheck, CircleDot, ListTodo } from 'lucide-react';
import type { Plan, TodoItem } from '../../ipc/contracts/rpcRecords.ts';

const signs = { pending: Circle, in_progress: CircleDot, completed: CircleCheck, cancelled: Ban } as const;
const words = { pending: 'to do', in_progress: 'under way', completed: 'done', cancelled: 'left out' } as const;
const looks = { pending: 'text-soft', in_progress: 'text-ink font-medium', completed: 'text-faint', cancelled: 'text-faint line-through' };

export function PlanPanel({ plan: { todos } }: { plan: Plan }) {
  const over = todos.filter(({ status }) => status === 'completed' || status === 'cancelled').length;
  const current = todos.find(({ status }) => status === 'in_progress') ?? todos.find(({ status }) => status === 'pending');
  return (
    <details className="rounded-xl bg-sunken text-sm" data-testid="plan">
      <summary className="flex min-h-9 list-none items-center gap-2.5 px-4 py-1.5 [&::-webkit-details-marker]:hidden">
        <ListTodo size={15} className="shrink-0 text-soft" />
        <span className="font-medium">
          Plan {over}/{todos.length}
        </span>
        <span className="min-w-0 flex-1 truncate text-soft">{current?.content ?? 'All of it is done.'}</span>
      </summary>
      <ul className="grid max-h-56 gap-1 overflow-y-auto px-4 pb-3">
        {todos.map((item) => (
          <PlanLine key={item.id} item={item} />
        ))}
      </ul>
    </details>
  );
}

function PlanLine({ item: { content, status, parent } }: { item: TodoItem }) {
  const Sign = signs[status];
  return (
    <li className={`flex items-start gap-2.5 ${parent === undefined ? '' : 'pl-6'} ${looks[status]}`}>
      <Sign size={15} className={`mt-1 shrink-0 ${status === 'completed' ? 'text-good' : ''}`} role="img" aria-label={words[status]} />
      <span className="min-w-0 break-words">{content}</span>
    </li>
  );
}
