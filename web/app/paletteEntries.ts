/** What the palette offers: actions, places, chats, and what was said in them. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CirclePause, CirclePlay, MessageCircle, Monitor, Moon, Plus, Sun, TextSearch, type LucideIcon } from 'lucide-react';
import type { SessionRow } from '../../ipc/contracts/rpcRecords.ts';
import { request } from '../api.ts';
import { titleOf } from '../chat/sessionTitle.ts';
import type { Answer } from '../connection.ts';
import { toast } from '../ui/toast.tsx';
import { places } from './places.ts';
import { setTheme } from './theme.ts';

export interface Entry {
  key: string;
  label: string;
  about: string;
  icon: LucideIcon;
  run(): void;
}

type Hit = Answer<'session.search'>['hits'][number];

export function useEntries(
  sessions: readonly SessionRow[],
  hits: readonly Hit[],
): Record<'actions' | 'places' | 'chats' | 'hits', Entry[]> {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const seen = () => queries.invalidateQueries({ queryKey: ['pauses'] });
  const toChat = (sessionId: string, hash?: string) =>
    void navigate({ to: '/chat/$sessionId', params: { sessionId }, ...(hash === undefined ? {} : { hash }) });
  return {
    actions: [
      { key: 'new', label: 'New chat', about: 'begin with an empty conversation', icon: Plus, run: () => void navigate({ to: '/' }) },
      {
        key: 'pause',
        label: 'Pause automation',
        about: 'hold scheduled jobs, webhooks and chat platforms',
        icon: CirclePause,
        run: () =>
          void told(
            'Automation is paused; running work goes on.',
            request('POST /api/pause', { body: { reason: 'paused in the dashboard' } }).then(seen),
          ),
      },
      {
        key: 'resume',
        label: 'Resume automation',
        about: 'end the pause',
        icon: CirclePlay,
        run: () => void told('Automation goes on.', request('DELETE /api/pause').then(seen)),
      },
      { key: 'light', label: 'Light theme', about: 'theme, colours', icon: Sun, run: () => setTheme('light') },
      { key: 'dark', label: 'Dark theme', about: 'theme, colours', icon: Moon, run: () => setTheme('dark') },
      { key: 'system', label: 'Theme of the system', about: 'theme, colours', icon: Monitor, run: () => setTheme('system') },
    ],
    places: places.map(({ to, label, about, icon }) => ({ key: to, label, about, icon, run: () => void navigate({ to }) })),
    chats: sessions.map((row) => ({
      key: row.id,
      label: titleOf(row),
      about: row.source === 'api' ? '' : row.source,
      icon: MessageCircle,
      run: () => toChat(row.id),
    })),
    hits: hits.map(({ message_id, session_id, title, snippet }) => ({
      key: `hit${message_id}`,
      label: title ?? 'Untitled chat',
      about: snippet,
      icon: TextSearch,
      run: () => toChat(session_id, `m${message_id}`),
    })),
  };
}

/** Says what was done once it is, or why not. */
async function told(done: string, work: Promise<unknown>): Promise<void> {
  try {
    await work;
    toast(done);
  } catch (thrown) {
    toast(thrown instanceof Error ? thrown.message : String(thrown));
  }
}
