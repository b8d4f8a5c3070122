/**
 * Conversations as the model reads them, kept in memory: a turn of a long session reads only the rows that
 * are new. The store itself says what changed, by triggers of this connection, so that no writer can forget to.
 */
import type { ContextRow } from '../../agent/compress/plan.ts';
import type { ModelMessage, PromptFile, ToolCall } from '../../agent/ports.ts';
import { limits } from '../../base/limits.ts';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import type { Store } from './store.ts';

export interface ContextRecord extends ContextRow {
  /** The message with its writer's name before it, in chats of several people; else the message itself. */
  named: ModelMessage;
}

interface Row {
  id: number;
  position: number;
  role: 'user' | 'assistant' | 'system' | 'tool';
  content: string;
  tool_calls: string | null;
  tool_call_id: string | null;
  tool_name: string | null;
  is_error: number;
  author: string | null;
  kind: string;
  attachments: string | null;
}

interface Entry {
  rows: ContextRecord[];
  /** Rows up to this place have been read. */
  upTo: number;
  chars: number;
}

export class ContextCache {
  #store: Store;
  /** The least recently used first. */
  #sessions = new Map<string, Entry>();
  #chars = 0;

  constructor(store: Store) {
    this.#store = store;
    store.db.function('context_touched', (sessionId: unknown, position: unknown) => this.#touched(String(sessionId), Number(position)));
    const told = (row: string) => `BEGIN SELECT context_touched(${row}.session_id, ${row}.position); END`;
    store.db.exec(`
      CREATE TEMP TRIGGER context_added AFTER INSERT ON main.messages WHEN NEW.position IS NOT NULL ${told('NEW')};
      CREATE TEMP TRIGGER context_moved AFTER UPDATE ON main.messages WHEN NEW.position IS NOT NULL ${told('NEW')};
      CREATE TEMP TRIGGER context_changed AFTER UPDATE ON main.messages WHEN OLD.position IS NOT NULL ${told('OLD')};
      CREATE TEMP TRIGGER context_removed AFTER DELETE ON main.messages WHEN OLD.position IS NOT NULL ${told('OLD')};
    `);
  }

  rows(sessionId: string): readonly ContextRecord[] {
    const entry = this.#sessions.get(sessionId) ?? { rows: [], upTo: -1, chars: 0 };
    const fresh = this.#store.all<Row>(
      `SELECT id, position, role, content, tool_calls, tool_call_id, tool_name, is_error, author, kind, attachments FROM messages
       WHERE session_id = ? AND position > ? AND active = 1 AND compacted = 0 AND NOT (role = 'assistant' AND finish_reason IS NULL)
       ORDER BY position, id`,
      sessionId,
      entry.upTo,
    );
    const rows = fresh.flatMap((row): ContextRecord[] => {
      const message = toModelMessage(row);
      if (!message) return [];
      const named = row.author ? { ...message, content: `${row.author}: ${message.content}` } : message;
      return [{ id: row.id, message, named, asks: row.role === 'user' && row.kind !== 'steer' }];
    });
    const all = entry.rows.concat(rows);
    // What an open transaction has written may still be taken back.
    if (!this.#store.db.inTransaction) this.#keep(sessionId, entry, { all, fresh });
    return all;
  }

  #keep(sessionId: string, entry: Entry, { all, fresh }: { all: ContextRecord[]; fresh: Row[] }): void {
    const added = fresh.reduce((sum, row) => sum + row.content.length + (row.tool_calls?.length ?? 0), 0);
    this.#sessions.delete(sessionId);
    this.#sessions.set(sessionId, { rows: all, upTo: fresh.at(-1)?.position ?? entry.upTo, chars: entry.chars + added });
    this.#chars += added;
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= limits.turn.contextCacheSessions && this.#chars <= limits.turn.contextCacheMaxChars) break;
      this.#forget(oldest);
    }
  }

  #forget(sessionId: string): void {
    this.#chars -= this.#sessions.get(sessionId)?.chars ?? 0;
    this.#sessions.delete(sessionId);
  }

  #touched(sessionId: string, position: number): null {
    const entry = this.#sessions.get(sessionId);
    if (entry && position <= entry.upTo) this.#forget(sessionId);
    return null;
  }
}

function toModelMessage(row: Row): ModelMessage | undefined {
  switch (row.role) {
    case 'user':
      return { role: 'user', content: row.content, ...filesOf(row) };
    case 'assistant': {
      const toolCalls = row.tool_calls === null ? [] : (JSON.parse(row.tool_calls) as ToolCall[]);
      return row.content || toolCalls.length ? { role: 'assistant', content: row.content, toolCalls } : undefined;
    }
    case 'tool':
      return {
        role: 'tool',
        toolCallId: row.tool_call_id!,
        toolName: row.tool_name!,
        content: row.content,
        isError: row.is_error === 1,
        ...filesOf(row),
      };
    case 'system':
      // A system message in the middle of a conversation is refused by some providers.
      return row.kind === 'summary'
        ? { role: 'summary', content: row.content }
        : { role: 'user', content: `[Note of the service, not of the user: ${row.content}]` };
  }
}

function filesOf({ attachments }: Row): { files?: PromptFile[] } {
  if (attachments === null) return {};
  return { files: (JSON.parse(attachments) as Attachment[]).map(({ media_type, ...file }) => ({ ...file, mediaType: media_type })) };
}
