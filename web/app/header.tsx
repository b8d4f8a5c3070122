/** The head of a place: menu on a phone, title, what belongs to the place, and whether the service is there. */
import { Menu } from 'lucide-react';
import { createContext, useContext, type ReactNode } from 'react';
import { Badge, type Tone } from '../ui/notice.tsx';
import { IconButton } from '../ui/button.tsx';
import { useConnectionState } from './context.ts';
import type { ConnectionState } from '../connection.ts';

/** Opens the drawer that holds the navigation on a phone. */
export const DrawerContext = createContext<() => void>(() => {});

export function PlaceHeader({ title, children }: { title: string; children?: ReactNode }) {
  const openDrawer = useContext(DrawerContext);
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

function ConnectionBadge() {
  const { tone, text, busy } = described(useConnectionState());
  return (
    <span role="status" data-testid="connection">
      <Badge tone={tone} busy={busy}>
        {text}
      </Badge>
    </span>
  );
}

function described({ phase, known }: ConnectionState): { tone: Tone; text: string; busy: boolean } {
  switch (phase) {
    case 'ready':
      return { tone: 'good', text: 'Connected', busy: false };
    case 'agentAway':
      return known ? { tone: 'warn', text: 'Agent restarts…', busy: true } : { tone: 'neutral', text: 'Waiting for the agent…', busy: true };
    case 'dialling':
      return known ? { tone: 'warn', text: 'Reconnecting…', busy: true } : { tone: 'neutral', text: 'Connecting…', busy: true };
    case 'refused':
      return { tone: 'bad', text: 'Not signed in', busy: false };
  }
}
