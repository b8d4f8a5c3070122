/** The chats there are, newest first; a search in all that was said; kept fresh by the service's own events. */
import { useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useRouterState } from '@tanstack/react-router';
import { Archive, Plus, Search } from 'lucide-react';
import { useEffect, useMemo, useState, type KeyboardEvent } from 'react';
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import { age } from '../app/format.ts';
import { useConnection } from '../app/context.ts';
import { IconButton } from '../ui/button.tsx';
import { LazyMenu } from './lazyMenu.tsx';
import { SearchHits } from './searchHits.tsx';
import { titleOf } from './sessionTitle.ts';

/** Chats that come at once; the next ones as the list is scrolled to its end. */
const PAGE = 200;
/** Titles that a search looks through; beyond it finds what was said. */
const SEARCHED_MAX = 5_000;
/** Before the end of the list is seen. */
const AHEAD_PX = 400;
/** A finger needs no keyboard that opens by itself and hides what it came for. */
const fine = (): boolean => matchMedia('(pointer: fine)').matches;
/** Events after which the list looks different. */
const STALE_AFTER = new Set(['gateway.ready', 'sessions.changed', 'session.title', 'prompt.accepted', 'message.complete']);
/** A burst of them is one question. */
const SETTLE_MS = 300;

export function SessionList({ focused }: { focused: boolean }) {
  const connection = useConnection();
  const current = useRouterState({ select: ({ location }) => /^\/chat\/([^/]+)/.exec(location.pathname)?.[1] });
  const [filter, setFilter] = useState('');
  const [archived, setArchived] = useState(false);
  /** The chat that the arrow keys came to. */
  const [reached, setReached] = useState<string>();
  const { data, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['sessions', 'pages', archived],
    queryFn: ({ pageParam }) =>
      connection.callSafely('session.list', { limit: PAGE, offset: pageParam, ...(archived ? { archived: true } : {}) }),
    initialPageParam: 0,
    getNextPageParam: ({ total }, pages) => (pages.length * PAGE < total ? pages.length * PAGE : undefined),
  });
  useFreshList();
  const wanted = filter.trim().toLowerCase();
  const listed = useMemo(() => distinct(data?.pages.flatMap(({ sessions }) => sessions) ?? []), [data]);
  useEffect(() => {
    if (wanted !== '' && hasNextPage && !isFetchingNextPage && listed.length < SEARCHED_MAX) void fetchNextPage();
  }, [wanted, hasNextPage, isFetchingNextPage, listed.length, fetchNextPage]);
  const rows = listed.filter((row) => wanted === '' || titleOf(row).toLowerCase().includes(wanted) || row.source.includes(wanted));
  const stop = [reached, current].find((id) => rows.some((row) => row.id === id)) ?? rows[0]?.id;

  return (
    <section aria-label="Chats" className="flex min-h-0 flex-1 flex-col" onKeyDown={walk}>
      <div className="flex items-center gap-1 px-2 pb-2">
        <label className="relative min-w-0 flex-1">
          <span className="sr-only">Find a chat</span>
          <Search size={14} className="pointer-events-none absolute top-2.5 left-2.5 text-faint" />
          <input
            id={focused ? undefined : 'session-filter'}
            type="search"
            autoFocus={focused && fine()}
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
      <div
        className="min-h-0 flex-1 overflow-y-auto px-2 pb-2"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          if (scrollHeight - scrollTop - clientHeight < AHEAD_PX && hasNextPage && !isFetchingNextPage) void fetchNextPage();
        }}
      >
        {archived && <p className="px-3 pb-1 text-xs text-faint">Archive</p>}
        <ul aria-label={archived ? 'Archived chats' : 'Chats'}>
          {rows.map((row) => (
            <SessionEntry key={row.id} row={row} stop={row.id === stop} onFocus={() => setReached(row.id)} />
          ))}
        </ul>
        {hasNextPage && wanted === '' && (
          <button
            type="button"
            disabled={isFetchingNextPage}
            onClick={() => void fetchNextPage()}
            className="h-9 w-full rounded-lg px-3 text-left text-sm text-faint hover:bg-sunken hover:text-ink"
          >
            {isFetchingNextPage ? 'Reading older chats…' : 'Older chats'}
          </button>
        )}
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

/** A chat that moved up while pages were read stands in two of them. */
function distinct(rows: readonly SessionRow[]): SessionRow[] {
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

/** Tab stops at one of them, so that the conversation is not hundreds of keys away; arrow keys reach the others. */
function SessionEntry({ row, stop, onFocus }: { row: SessionRow; stop: boolean; onFocus: () => void }) {
  const elsewhere = row.source !== 'api' && row.source !== 'other';
  const title = titleOf(row);
  return (
    <li onFocus={onFocus} className="group relative [contain-intrinsic-size:auto_2.25rem] [content-visibility:auto]">
      <Link
        to="/chat/$sessionId"
        params={{ sessionId: row.id }}
        data-walk=""
        tabIndex={stop ? 0 : -1}
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
        <LazyMenu id={row.id} title={title} archived={row.archived} working={row.status !== 'idle'} tabIndex={stop ? 0 : -1} />
      </span>
    </li>
  );
}

function useFreshList(): void {
  const connection = useConnection();
  const queries = useQueryClient();
  useEffect(() => {
    let settle: ReturnType<typeof setTimeout> | undefined;
    const stop = connection.onEvent(({ type }) => {
      if (!STALE_AFTER.has(type)) return;
      clearTimeout(settle);
      settle = setTimeout(() => void queries.invalidateQueries({ queryKey: ['sessions'] }), SETTLE_MS);
    });
    return () => {
      clearTimeout(settle);
      stop();
    };
  }, [connection, queries]);
}
