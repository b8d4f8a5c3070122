/** Where one can go: the places, and the chats there are. */
import { Link } from '@tanstack/react-router';
import { Activity, MessageCircle, Monitor, Moon, ScrollText, SquareTerminal, Sun } from 'lucide-react';
import type { ReactNode } from 'react';
import { SessionList } from '../chat/sessionList.tsx';
import { IconButton } from '../ui/button.tsx';
import { useConnectionState, useObservable } from './context.ts';
import { setTheme, theme, type Theme } from './theme.ts';

export function Sidebar({ inDrawer = false }: { inDrawer?: boolean }) {
  const { version } = useConnectionState();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <div className="flex h-14 shrink-0 items-center gap-2.5 px-4">
        <Mark />
        <span className="font-serif text-xl leading-none font-semibold tracking-tight">Agent</span>
      </div>
      <nav aria-label="Places" className="grid gap-0.5 px-2 pb-2">
        <Place to="/" icon={<MessageCircle size={17} />} label="Chat" />
        <Place to="/workers" icon={<Activity size={17} />} label="Workers" />
        <Place to="/logs" icon={<ScrollText size={17} />} label="Logs" />
        <Place to="/terminal" icon={<SquareTerminal size={17} />} label="Terminal" />
      </nav>
      <SessionList focused={inDrawer} />
      <div className="flex h-12 shrink-0 items-center justify-between border-t border-line px-4 text-xs text-faint">
        <span>{version ? `Version ${version}` : ' '}</span>
        <ThemeButton />
      </div>
    </div>
  );
}

function Place({ to, icon, label }: { to: '/' | '/workers' | '/logs' | '/terminal'; icon: ReactNode; label: string }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: true }}
      className="flex h-9 items-center gap-3 rounded-lg px-3 text-[0.9375rem] font-medium text-soft transition-colors hover:bg-sunken hover:text-ink aria-[current=page]:bg-tint aria-[current=page]:text-accent"
    >
      {icon}
      {label}
    </Link>
  );
}

const next: Record<Theme, Theme> = { system: 'light', light: 'dark', dark: 'system' };
const icons: Record<Theme, typeof Sun> = { system: Monitor, light: Sun, dark: Moon };

function ThemeButton() {
  const value = useObservable(theme);
  const Icon = icons[value];
  return (
    <IconButton label={`Theme: ${value}. Change to ${next[value]}`} onClick={() => setTheme(next[value])}>
      <Icon size={16} />
    </IconButton>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" className="size-7" aria-hidden="true">
      <rect width="32" height="32" rx="9" fill="var(--color-accent)" />
      <path
        d="M9.5 23 16 8.5 22.5 23"
        fill="none"
        stroke="var(--color-on-accent)"
        strokeWidth="2.8"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
      <circle cx="16" cy="19.2" r="1.9" fill="var(--color-on-accent)" />
    </svg>
  );
}
