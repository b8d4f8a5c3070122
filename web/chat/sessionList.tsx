/** The chats there are, newest first, with a filter; kept fresh by the service's own events. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Plus, Search } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import { age } from '../app/format.ts';
import { useConnection } from '../app/context.ts';

const LISTED_MAX = 200;
/** Events after which the list looks different. */
const STALE_AFTER = new Set(['gateway.ready', 'sessions.changed', 'session.title', 'prompt.accepted', 'message.complete']);
/** A burst of them is one question. */
const SETTLE_MS = 300;

export const titleOf = ({ title, preview }: Pick<SessionRow, 'title' | 'preview'>): string =>
  title?.trim() || preview.trim() || 'Untitled chat';

export function SessionList({ focused }: { focused: boolean }) {
  const connection = useConnection();
  const [filter, setFilter] = useState('');
  const { data } = useQuery({ queryKey: ['sessions'], queryFn: () => connection.callSafely('session.list', { limit: LISTED_MAX }) });
  useFreshList();
  const wanted = filter.trim().toLowerCase();
  const rows = (data?.sessions ?? []).filter(
    (row) => wanted === '' || titleOf(row).toLowerCase().includes(wanted) || row.source.includes(wanted),
  );

  return (
    <section aria-label="Chats" className="flex min-h-0 flex-1 flex-col border-t border-line pt-3">
      <div className="flex items-center gap-1 px-2 pb-2">
        <label className="relative min-w-0 flex-1">
          <span className="sr-only">Find a chat</span>
          <Search size={14} className="pointer-events-none absolute top-2.5 left-2.5 text-faint" />
          <input
            id={focused ? undefined : 'session-filter'}
            type="search"
            autoFocus={focused}
            value={filter}
            onChange={(event) => setFilter(event.target.value)}
            placeholder="Find a chat"
            title="Find a chat (Ctrl K)"
            className="h-8 w-full rounded-lg bg-sunken pr-2 pl-8 text-sm placeholder:text-faint"
          />
        </label>
        <Link
          to="/"
          aria-label="New chat"
          title="New chat"
          className="inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-sunken hover:text-ink"
        >
          <Plus size={18} />
        </Link>
      </div>
      <ul className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        {rows.map((row) => (
          <SessionEntry key={row.id} row={row} />
        ))}
        {data && rows.length === 0 && (
          <li className="px-3 py-2 text-sm text-faint">{wanted ? 'No chat has that name.' : 'No chats yet.'}</li>
        )}
      </ul>
    </section>
  );
}

function SessionEntry({ row }: { row: SessionRow }) {
  const elsewhere = row.source !== 'api' && row.source !== 'other';
  return (
    <li>
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: row.id }}
        className="flex h-9 items-center gap-2 rounded-lg px-3 text-sm text-soft hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
      >
        <span className="min-w-0 flex-1 truncate">{titleOf(row)}</span>
        {row.status === 'waiting' && <span className="size-1.5 rounded-full bg-warn" role="img" aria-label="waiting for your answer" />}
        {row.status === 'working' && <span className="size-1.5 animate-breathe rounded-full bg-accent" role="img" aria-label="working" />}
        <span className="shrink-0 text-xs text-faint">{elsewhere ? row.source : age(row.last_active)}</span>
      </Link>
    </li>
  );
}

function useFreshList(): void {
  const connection = useConnection();
  const queries = useQueryClient();
  const settle = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(
    () =>
      connection.onEvent(({ type }) => {
        if (!STALE_AFTER.has(type)) return;
        clearTimeout(settle.current);
        settle.current = setTimeout(() => void queries.invalidateQueries({ queryKey: ['sessions'] }), SETTLE_MS);
      }),
    [connection, queries],
  );
}
