/** The head of a place: menu on a phone, title, what belongs to the place, and whether the service is there. */
import { Link } from '@tanstack/react-router';
import { Menu } from 'lucide-react';
import { createContext, useContext, useEffect, useState, type ReactNode } from 'react';
import { Badge, type Tone } from '../ui/notice.tsx';
import { IconButton } from '../ui/button.tsx';
import { staysAway, useAgentSlot } from './agentSlot.ts';
import { useConnectionState } from './context.ts';
import type { Phase } from '../connection.ts';

/** Opens the drawer that holds the navigation on a phone. */
export const DrawerContext = createContext<() => void>(() => {});

export function PlaceHeader({ title, children }: { title: string; children?: ReactNode }) {
  const openDrawer = useContext(DrawerContext);
  useEffect(() => {
    document.title = title.trim() === '' ? 'Agent' : `${title} · Agent`;
  }, [title]);
  return (
    <header className="flex h-14 shrink-0 items-center gap-2 border-b border-line px-3 md:px-6">
      <IconButton label="Menu" className="md:hidden" onClick={openDrawer}>
        <Menu size={18} />
      </IconButton>
      <h1 className="min-w-0 flex-1 truncate text-[0.9375rem] font-semibold">{title}</h1>
      {children}
      <ConnectionBadge />
    </header>
  );
}

/** A worker is back within a second or two; after this long something is wrong. */
const LONG_MS = 10_000;

function ConnectionBadge() {
  const { phase, known } = useConnectionState();
  const [long, setLong] = useState(false);
  useEffect(() => {
    setLong(false);
    if (phase === 'ready') return;
    const later = setTimeout(() => setLong(true), LONG_MS);
    return () => clearTimeout(later);
  }, [phase]);
  const stays = staysAway(useAgentSlot().worker);
  const { tone, text, busy } = stays ? stopped : described(phase, known, long);
  const badge = (
    <Badge tone={tone} busy={busy}>
      {text}
    </Badge>
  );
  return (
    <span role="status" data-testid="connection">
      {phase === 'agentAway' && (long || stays) ? (
        <Link to="/workers" title="See the workers">
          {badge}
        </Link>
      ) : (
        badge
      )}
    </span>
  );
}

const stopped: ReturnType<typeof described> = { tone: 'bad', text: 'Agent is down', busy: false };

function described(phase: Phase, known: boolean, long: boolean): { tone: Tone; text: string; busy: boolean } {
  switch (phase) {
    case 'ready':
      return { tone: 'good', text: 'Connected', busy: false };
    case 'agentAway':
      if (long) return { tone: 'bad', text: 'Agent is down', busy: false };
      return known
        ? { tone: 'warn', text: 'Agent restarts…', busy: true }
        : { tone: 'neutral', text: 'Waiting for the agent…', busy: true };
    case 'dialling':
      if (long) return { tone: 'bad', text: 'Service is away', busy: true };
      return known ? { tone: 'warn', text: 'Reconnecting…', busy: true } : { tone: 'neutral', text: 'Connecting…', busy: true };
    case 'refused':
      return { tone: 'bad', text: 'Not signed in', busy: false };
  }
}
