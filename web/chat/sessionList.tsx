/** The chats there are, newest first; a search in all that was said; kept fresh by the service's own events. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Archive, Plus, Search } from 'lucide-react';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import { age } from '../app/format.ts';
import { useConnection } from '../app/context.ts';
import { IconButton } from '../ui/button.tsx';
import { LazyMenu } from './lazyMenu.tsx';
import { SearchHits } from './searchHits.tsx';
import { titleOf } from './sessionTitle.ts';

const LISTED_MAX = 200;
/** Events after which the list looks different. */
const STALE_AFTER = new Set(['gateway.ready', 'sessions.changed', 'session.title', 'prompt.accepted', 'message.complete']);
/** A burst of them is one question. */
const SETTLE_MS = 300;

export function SessionList({ focused }: { focused: boolean }) {
  const connection = useConnection();
  const [filter, setFilter] = useState('');
  const [archived, setArchived] = useState(false);
  const { data, error } = useQuery({
    queryKey: ['sessions', archived],
    queryFn: () => connection.callSafely('session.list', { limit: LISTED_MAX, ...(archived ? { archived: true } : {}) }),
  });
  useFreshList();
  const wanted = filter.trim().toLowerCase();
  const rows = (data?.sessions ?? []).filter(
    (row) => wanted === '' || titleOf(row).toLowerCase().includes(wanted) || row.source.includes(wanted),
  );

  return (
    <section aria-label="Chats" className="flex min-h-0 flex-1 flex-col" onKeyDown={walk}>
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
            placeholder="Find in chats"
            data-walk=""
            className="h-8 w-full rounded-lg bg-sunken pr-2 pl-8 text-sm placeholder:text-faint"
          />
        </label>
        <IconButton
          label={archived ? 'Show the current chats' : 'Show the archive'}
          aria-pressed={archived}
          className="aria-pressed:bg-tint aria-pressed:text-accent"
          onClick={() => setArchived(!archived)}
        >
          <Archive size={16} />
        </IconButton>
        <Link
          to="/"
          aria-label="New chat"
          title="New chat"
          className="inline-flex size-8 shrink-0 items-center justify-center rounded-lg text-soft hover:bg-sunken hover:text-ink"
        >
          <Plus size={18} />
        </Link>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-2">
        {archived && <p className="px-3 pb-1 text-xs text-faint">Archive</p>}
        <ul aria-label={archived ? 'Archived chats' : 'Chats'}>
          {rows.map((row) => (
            <SessionEntry key={row.id} row={row} />
          ))}
        </ul>
        {data && rows.length === 0 && (
          <p className="px-3 py-2 text-sm text-faint">
            {wanted ? 'No chat has that name.' : archived ? 'The archive is empty.' : 'No chats yet.'}
          </p>
        )}
        {error && <p className="px-3 py-2 text-sm text-bad">{error.message}</p>}
        {wanted.length > 1 && <SearchHits query={filter.trim()} />}
      </div>
    </section>
  );
}

/** Arrow keys go from the search to the chats and from one to the next. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const stops = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-walk]')];
  const at = stops.indexOf(document.activeElement as HTMLElement);
  const next = stops[at + (event.key === 'ArrowDown' ? 1 : -1)];
  if (at < 0 || !next) return;
  event.preventDefault();
  next.focus();
}

function SessionEntry({ row }: { row: SessionRow }) {
  const elsewhere = row.source !== 'api' && row.source !== 'other';
  const title = titleOf(row);
  return (
    <li className="group relative">
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: row.id }}
        data-walk=""
        title={title}
        className="flex h-9 items-center gap-2 rounded-lg px-3 text-sm text-soft hover:bg-sunken hover:text-ink aria-[current=page]:bg-sunken aria-[current=page]:font-medium aria-[current=page]:text-ink"
      >
        <span className="min-w-0 flex-1 truncate">{title}</span>
        {row.status === 'waiting' && <span className="size-1.5 rounded-full bg-warn" role="img" aria-label="waiting for your answer" />}
        {row.status === 'working' && <span className="size-1.5 animate-breathe rounded-full bg-accent" role="img" aria-label="working" />}
        <span className="shrink-0 text-xs text-faint group-focus-within:invisible group-hover:invisible pointer-coarse:mr-9 pointer-coarse:visible!">
          {elsewhere ? row.source : age(row.last_active)}
        </span>
      </Link>
      <span className="absolute top-0.5 right-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:-top-0.5 pointer-coarse:opacity-100">
        <LazyMenu id={row.id} title={title} archived={row.archived} working={row.status !== 'idle'} />
      </span>
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
