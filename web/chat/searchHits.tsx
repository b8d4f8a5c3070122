/** Places in all chats where something was said, from the service's index. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { age } from '../app/format.ts';
import { useConnection } from '../app/context.ts';
import type { Connection } from '../connection.ts';

const HITS_MAX = 30;
/** Letters that follow each other are one question. */
const TYPING_MS = 180;

/** The query `value` once typing has rested. */
export function useRested(value: string): string {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const later = setTimeout(() => setRested(value), TYPING_MS);
    return () => clearTimeout(later);
  }, [value]);
  return rested;
}

export const searchQuery = (connection: Connection, query: string, limit = HITS_MAX) => ({
  queryKey: ['search', query, limit],
  queryFn: () => connection.callSafely('session.search', { query, limit }),
  enabled: query.length > 1,
  placeholderData: keepPreviousData,
});

export function SearchHits({ query }: { query: string }) {
  const rested = useRested(query);
  const { data, error } = useQuery(searchQuery(useConnection(), rested));
  if (error) return <p className="px-3 py-2 text-sm text-bad">{error.message}</p>;
  if (!data) return null;
  return (
    <>
      <p role="status" className="px-3 pt-3 pb-1 text-xs text-faint">
        {data.hits.length === 0 ? 'Nothing was said with these words.' : 'Said in chats'}
        {!data.ready && ` The index is being built: ${data.indexed} of ${data.total}.`}
      </p>
      <ul aria-label="Found in chats">
        {data.hits.map(({ session_id, message_id, title, snippet, timestamp }) => (
          <li key={message_id}>
            <Link
              to="/chat/$sessionId"
              params={{ sessionId: session_id }}
              hash={`m${message_id}`}
              data-walk=""
              className="grid gap-0.5 rounded-lg px-3 py-1.5 text-sm hover:bg-sunken"
            >
              <span className="flex gap-2">
                <span className="min-w-0 flex-1 truncate text-ink">{title ?? 'Untitled chat'}</span>
                <span className="shrink-0 text-xs text-faint">{age(timestamp)}</span>
              </span>
              <span className="line-clamp-2 text-xs break-words text-soft">
                <Marked text={snippet} query={rested} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The words that were looked for, set off. */
export function Marked({ text, query }: { text: string; query: string }) {
  const words = query.split(/\s+/).filter(Boolean).map(RegExp.escape);
  const parts = words.length > 0 ? text.split(new RegExp(`(${words.join('|')})`, 'gi')) : [text];
  return parts.map((part, index) =>
    index % 2 === 1 ? (
      <mark key={index} className="rounded-sm bg-warn-tint text-ink">
        {part}
      </mark>
    ) : (
      part
    ),
  );
}
