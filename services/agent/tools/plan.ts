/** The todo list of a session in its row: list, revision and event are one transaction. */
import type { PlanStore, TodoItem } from '../../../agent/ports.ts';
import type { Plan } from '../../../ipc/contracts/rpcRecords.ts';
import type { EventLog } from '../events.ts';
import type { Store } from '../store.ts';

/** Errors: DISK_FULL, STORE_BUSY; nothing is written then. */
export function planStore(store: Store, events: EventLog, sessionId: string): PlanStore {
  return {
    read: () => planOf(store, sessionId).todos,
    write(todos) {
      events.atomically(sessionId, () => {
        store.run('UPDATE sessions SET todos = ?, todo_revision = todo_revision + 1 WHERE id = ?', JSON.stringify(todos), sessionId);
        events.emit(sessionId, null, 'todo.updated', { ...planOf(store, sessionId) });
      });
    },
  };
}

export function planOf(store: Store, sessionId: string): Plan {
  const row = store.one<{ todos: string | null; todo_revision: number }>(
    'SELECT todos, todo_revision FROM sessions WHERE id = ?',
    sessionId,
  );
  return { todos: row?.todos ? (JSON.parse(row.todos) as TodoItem[]) : [], revision: row?.todo_revision ?? 0 };
}
