/** Where one can go: a rail of places, and beside it the chats while one chats; on a phone both in a drawer. */
import { Link, useRouterState } from '@tanstack/react-router';
import { Monitor, Moon, Sun } from 'lucide-react';
import { lazy, Suspense } from 'react';
import { SessionList } from '../chat/sessionList.tsx';
import { IconButton } from '../ui/button.tsx';
import { useConnectionState, useObservable } from './context.ts';
import { places, type PlaceEntry } from './places.ts';
import { signedIn } from '../token.ts';
import { PausedSign, ProfilePicker } from './profilePicker.tsx';
import { setTheme, theme, type Theme } from './theme.ts';

/** Only where people sign in: no part of the first load. */
const Account = lazy(() => import('./signIn.tsx').then((module) => ({ default: module.Account })));

/** At the left of every place on a wide screen. */
export function Sidebar() {
  const inChat = useInChat();
  return (
    <div className="flex h-full min-h-0">
      <div className="flex h-full min-h-0 w-[5.25rem] shrink-0 flex-col border-r border-line">
        <div className="flex h-14 shrink-0 items-center justify-center">
          <Mark />
        </div>
        <nav aria-label="Places" className="grid min-h-0 flex-1 content-start gap-0.5 overflow-y-auto px-1.5 pb-2">
          {places.map((place) => (
            <RailLink key={place.to} place={place} active={place.to === '/' && inChat} />
          ))}
        </nav>
        <Foot />
      </div>
      {inChat && (
        <div className="flex h-full min-h-0 w-64 flex-col border-r border-line pt-3">
          <SessionList focused={false} />
        </div>
      )}
    </div>
  );
}

/** The same on a phone: names beside the signs, chats below. */
export function DrawerMenu() {
  const inChat = useInChat();
  return (
    <div className="flex h-full min-h-0 flex-col">
      <nav aria-label="Places" className="grid shrink-0 grid-cols-3 gap-1 border-b border-line p-2">
        {places.map((place) => (
          <RailLink key={place.to} place={place} active={place.to === '/' && inChat} />
        ))}
      </nav>
      <div className="flex min-h-0 flex-1 flex-col pt-2">
        <SessionList focused />
      </div>
      <Foot row />
    </div>
  );
}

function RailLink({ place: { to, label, icon: Icon }, active }: { place: PlaceEntry; active: boolean }) {
  return (
    <Link
      to={to}
      activeOptions={{ exact: true, includeSearch: false }}
      className={`grid h-12 justify-items-center gap-0.5 rounded-lg pt-1.5 text-[0.6875rem] leading-4 font-medium text-soft transition-colors hover:bg-sunken hover:text-ink aria-[current=page]:bg-tint aria-[current=page]:text-accent ${active ? 'bg-tint text-accent' : ''}`}
    >
      <Icon size={18} aria-hidden="true" />
      {label}
    </Link>
  );
}

const useInChat = (): boolean =>
  // What is shown, not where one is going: while a place is loaded, nothing moves.
  useRouterState({
    select: ({ matches, location }) => {
      const pathname = matches.at(-1)?.pathname ?? location.pathname;
      return pathname === '/' || pathname.startsWith('/chat/');
    },
  });

function Foot({ row = false }: { row?: boolean }) {
  const { version } = useConnectionState();
  return (
    <div
      className={`flex shrink-0 items-center justify-center gap-1 border-t border-line py-1.5 text-[0.6875rem] text-faint ${row ? 'px-4' : 'flex-col px-1.5'}`}
    >
      {signedIn && (
        <Suspense fallback={<span className="size-8" />}>
          <Account />
        </Suspense>
      )}
      <ProfilePicker />
      <span className="flex items-center">
        <PausedSign />
        <ThemeButton />
      </span>
      <span>{version ? `v${version}` : ' '}</span>
    </div>
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
    <svg viewBox="0 0 32 32" className="size-8" role="img" aria-label="Agent">
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
