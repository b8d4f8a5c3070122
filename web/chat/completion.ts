/** What a half-written line may become: slash commands with their arguments, and paths after an @. */
import { useEffect, useState } from 'react';
import { useConnection } from '../app/context.ts';
import type { Connection } from '../connection.ts';

export interface Suggestion {
  label: string;
  summary: string;
  /** The whole text, and where the cursor stands, once it is taken. */
  text: string;
  cursor: number;
}

export interface Completion {
  items: readonly Suggestion[];
  at: number;
  move(by: 1 | -1): void;
  close(): void;
}

/** A slash and a name: `/usr/bin/x` and `/ 2` are prompts. */
export const isCommand = (text: string): boolean => /^\/[a-z?][a-z0-9_-]*(?:\s|$)/i.test(text);

const none: readonly Suggestion[] = [];

export function useCompletion(text: string, cursor: number, sessionId: string | null): Completion {
  const connection = useConnection();
  const [found, setFound] = useState<{ for: string; items: readonly Suggestion[] }>({ for: '', items: none });
  const [at, setAt] = useState(0);
  const [closed, setClosed] = useState('');
  const head = text.slice(0, cursor);
  const wanted = /^\/[^\n]*$/.test(head) || /(?:^|\s)@\S*$/.test(head);
  useEffect(() => {
    if (!wanted) return;
    let over = false;
    void suggestions(connection, { head, tail: text.slice(cursor), sessionId }).then((items) => {
      if (over) return;
      setFound({ for: head, items });
      setAt(0);
    });
    return () => void (over = true);
  }, [connection, wanted, head, text, cursor, sessionId]);
  // What was found for the letter before stays until the next answer: the list does not flicker.
  const near = head.startsWith(found.for) || found.for.startsWith(head);
  const items = wanted && near && closed !== head ? found.items : none;
  return {
    items,
    at: Math.min(at, items.length - 1),
    move: (by) => setAt((items.length + at + by) % items.length),
    close: () => setClosed(head),
  };
}

interface Asked {
  head: string;
  tail: string;
  sessionId: string | null;
}

async function suggestions(connection: Connection, { head, tail, sessionId }: Asked): Promise<readonly Suggestion[]> {
  const session = sessionId === null ? {} : { session_id: sessionId };
  try {
    const { replace_from, items } = head.startsWith('/')
      ? await connection.call('complete.slash', { text: head, surface: 'api', ...session })
      : await connection.call('complete.path', { text: head, ...session });
    return items
      .map(({ text, label, summary }) => {
        const whole = head.slice(0, replace_from) + text;
        return { label, summary, text: whole + tail, cursor: whole.length };
      })
      .filter((suggestion) => suggestion.text !== head + tail);
  } catch {
    // Typing goes on without them.
    return none;
  }
}
