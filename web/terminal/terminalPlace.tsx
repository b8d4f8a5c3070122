/** Shells of the machine, in the page. They end when their tab is closed or this place is left; a restart of the dashboard ends none. */
import { AArrowDown, AArrowUp, ClipboardPaste, Plus, X } from 'lucide-react';
import { useCallback, useEffect, useState } from 'react';
import { useObservable } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { theme } from '../app/theme.ts';
import { Button, IconButton } from '../ui/button.tsx';
import type { ScreenState } from './link.ts';
import { Screen } from './screen.tsx';

interface Tab {
  id: number;
  /** Rises when another shell is opened in it. */
  attempt: number;
}

const SIZES = { least: 10, usual: 14, most: 24 } as const;
const STORED = 'agent.terminal.size';
/** As many as one person may hold. */
const TABS_MAX = 8;

export function TerminalPlace() {
  const profile = useProfile();
  const [tabs, setTabs] = useState<readonly Tab[]>([{ id: 1, attempt: 0 }]);
  const [shown, setShown] = useState(1);
  const [states, setStates] = useState<Readonly<Record<number, ScreenState>>>({});
  const [fontSize, setFontSize] = useFontSize();
  const current = states[shown];

  const open = () => {
    const id = Math.max(0, ...tabs.map((tab) => tab.id)) + 1;
    setTabs([...tabs, { id, attempt: 0 }]);
    setShown(id);
  };
  const close = (id: number) => {
    const left = tabs.filter((tab) => tab.id !== id);
    const at = tabs.findIndex((tab) => tab.id === id);
    setTabs(left.length > 0 ? left : [{ id: id + 1, attempt: 0 }]);
    if (shown === id) setShown(left[Math.min(at, left.length - 1)]?.id ?? id + 1);
  };
  const keep = useCallback((id: number, state: ScreenState) => setStates((all) => ({ ...all, [id]: state })), []);

  return (
    <>
      <PlaceHeader title="Terminal">
        <span className="truncate text-sm text-faint max-sm:hidden">{current?.phase === 'open' ? current.text : ''}</span>
      </PlaceHeader>
      <div className="flex items-center gap-1 overflow-x-auto border-b border-line bg-surface px-2 py-1">
        <div role="tablist" aria-label="Shells" className="flex gap-1">
          {tabs.map(({ id }, n) => (
            <span key={id} className={`flex items-center rounded-lg ${id === shown ? 'bg-sunken' : ''}`}>
              <button
                type="button"
                role="tab"
                id={`shell-tab-${id}`}
                aria-selected={id === shown}
                aria-controls={`shell-${id}`}
                onClick={() => setShown(id)}
                className="h-8 px-3 text-sm whitespace-nowrap text-soft aria-selected:font-medium aria-selected:text-ink"
              >
                {nameOf(states[id], n)}
              </button>
            </span>
          ))}
        </div>
        <IconButton label="Another shell" disabled={tabs.length >= TABS_MAX} onClick={open}>
          <Plus size={16} />
        </IconButton>
        <span className="min-w-2 flex-1" />
        <PasteButton />
        <IconButton label="Smaller letters" disabled={fontSize <= SIZES.least} onClick={() => setFontSize(fontSize - 1)}>
          <AArrowDown size={17} />
        </IconButton>
        <IconButton label="Larger letters" disabled={fontSize >= SIZES.most} onClick={() => setFontSize(fontSize + 1)}>
          <AArrowUp size={17} />
        </IconButton>
        <IconButton label="Close this shell" onClick={() => close(shown)}>
          <X size={16} />
        </IconButton>
      </div>
      <main className="relative min-h-0 flex-1 bg-surface p-2 md:p-4">
        {tabs.map((tab) => (
          <Shell
            key={`${tab.id} ${tab.attempt}`}
            tab={tab}
            shown={tab.id === shown}
            state={states[tab.id]}
            profile={profile}
            fontSize={fontSize}
            onState={keep}
            onAgain={() => setTabs(tabs.map((one) => (one.id === tab.id ? { ...one, attempt: one.attempt + 1 } : one)))}
          />
        ))}
      </main>
    </>
  );
}

interface ShellProps {
  tab: Tab;
  shown: boolean;
  state: ScreenState | undefined;
  profile: string | undefined;
  fontSize: number;
  onState: (id: number, state: ScreenState) => void;
  onAgain: () => void;
}

function Shell({ tab: { id }, shown, state, profile, fontSize, onState, onAgain }: ShellProps) {
  const look = useObservable(theme);
  const told = useCallback((next: ScreenState) => onState(id, next), [id, onState]);
  useEffect(() => onState(id, { phase: 'opening', text: '' }), [id, onState]);
  return (
    <div role="tabpanel" id={`shell-${id}`} aria-labelledby={`shell-tab-${id}`} hidden={!shown} className="h-full">
      <Screen look={look} profile={profile} fontSize={fontSize} shown={shown} onState={told} />
      {(state?.phase === 'ended' || state?.phase === 'lost') && (
        <div
          role="status"
          className="absolute inset-x-4 bottom-4 flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-paper px-4 py-3 text-sm shadow-raised"
        >
          <span className={state.phase === 'lost' ? 'animate-breathe' : ''}>{state.text}</span>
          {state.phase === 'ended' && (
            <Button weight="strong" onClick={onAgain}>
              Open another
            </Button>
          )}
        </div>
      )}
    </div>
  );
}

/** For hands without a keyboard, and for browsers that take ctrl-V for themselves. */
function PasteButton() {
  // Browsers offer the clipboard on secure addresses only.
  if (!navigator.clipboard?.readText) return null;
  const paste = async () => {
    const text = await navigator.clipboard.readText().catch(() => '');
    const field = document.querySelector<HTMLTextAreaElement>('[role=tabpanel]:not([hidden]) .xterm-helper-textarea');
    if (!field || text === '') return;
    field.focus();
    const data = new DataTransfer();
    data.setData('text/plain', text);
    field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }));
  };
  return (
    <IconButton label="Paste" onClick={() => void paste()}>
      <ClipboardPaste size={16} />
    </IconButton>
  );
}

function nameOf(state: ScreenState | undefined, n: number): string {
  const shell = state?.phase === 'open' ? state.text.split('/').at(-1) : undefined;
  return `${n + 1} ${shell ?? 'shell'}`;
}

/** Remembered by this browser. */
function useFontSize(): [number, (size: number) => void] {
  const [size, setSize] = useState(() => {
    const stored = Number(localStorage.getItem(STORED));
    return stored >= SIZES.least && stored <= SIZES.most ? stored : SIZES.usual;
  });
  return [
    size,
    (next) => {
      localStorage.setItem(STORED, String(next));
      setSize(next);
    },
  ];
}
