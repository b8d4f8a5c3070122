/** Shells of the machine, in the page. They go on while one looks elsewhere, over a reload and a restart of the dashboard; closing the tab of a shell ends it. */
import { AArrowDown, AArrowUp, Accessibility, ClipboardPaste, Plus, X } from 'lucide-react';
import { useEffect } from 'react';
import { useObservable } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { useProfile } from '../app/profile.ts';
import { theme } from '../app/theme.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { KeyBar } from './keyBar.tsx';
import type { ScreenState } from './link.ts';
import { Screen } from './screen.tsx';
import {
  closeShell,
  ensureShells,
  openShell,
  reopenShell,
  setFontSize,
  setReader,
  shells,
  showShell,
  SIZES,
  type Shell as ShellState,
} from './shells.ts';

/** As many as one person may hold. */
const TABS_MAX = 8;

export function TerminalPlace() {
  const profile = useProfile();
  const { list, shown, fontSize, reader } = useObservable(shells);
  useEffect(() => ensureShells(profile), [profile]);
  const current = list.find(({ id }) => id === shown)?.state;

  return (
    <>
      <PlaceHeader title="Terminal">
        <span className="truncate text-sm text-faint max-sm:hidden">{current?.phase === 'open' ? current.text : ''}</span>
      </PlaceHeader>
      <div className="flex shrink-0 items-center gap-1 overflow-x-auto border-b border-line bg-surface px-2 py-1">
        <div role="tablist" aria-label="Shells" className="flex gap-1">
          {list.map(({ id, state }, n) => (
            <span key={id} className={`flex items-center rounded-lg ${id === shown ? 'bg-sunken' : ''}`}>
              <button
                type="button"
                role="tab"
                id={`shell-tab-${id}`}
                aria-selected={id === shown}
                aria-controls={`shell-${id}`}
                onClick={() => showShell(id)}
                className="h-8 px-3 text-sm whitespace-nowrap text-soft aria-selected:font-medium aria-selected:text-ink"
              >
                {nameOf(state, n)}
              </button>
            </span>
          ))}
        </div>
        <IconButton label="Another shell" disabled={list.length >= TABS_MAX} onClick={() => openShell(profile)}>
          <Plus size={16} />
        </IconButton>
        <span className="min-w-2 flex-1" />
        <PasteButton />
        <IconButton
          label="Say the lines to a screen reader"
          aria-pressed={reader}
          className="max-sm:hidden aria-pressed:bg-tint aria-pressed:text-accent"
          onClick={() => setReader(!reader)}
        >
          <Accessibility size={16} />
        </IconButton>
        <IconButton label="Smaller letters" disabled={fontSize <= SIZES.least} onClick={() => setFontSize(fontSize - 1)}>
          <AArrowDown size={17} />
        </IconButton>
        <IconButton label="Larger letters" disabled={fontSize >= SIZES.most} onClick={() => setFontSize(fontSize + 1)}>
          <AArrowUp size={17} />
        </IconButton>
        <IconButton label="Close this shell" onClick={() => closeShell(shown, profile)}>
          <X size={16} />
        </IconButton>
      </div>
      <main className="relative min-h-0 flex-1 bg-surface p-2 md:p-4">
        {list.map((shell) => (
          <Shell
            key={shell.id}
            shell={shell}
            shown={shell.id === shown}
            fontSize={fontSize}
            onAgain={() => reopenShell(shell.id, profile)}
          />
        ))}
      </main>
      <KeyBar id={shown} />
    </>
  );
}

interface ShellProps {
  shell: ShellState;
  shown: boolean;
  fontSize: number;
  onAgain: () => void;
}

function Shell({ shell, shown, fontSize, onAgain }: ShellProps) {
  const look = useObservable(theme);
  const { id, state } = shell;
  return (
    <div role="tabpanel" id={`shell-${id}`} aria-labelledby={`shell-tab-${id}`} hidden={!shown} className="h-full">
      <Screen shell={shell} look={look} fontSize={fontSize} shown={shown} />
      {(state.phase === 'ended' || state.phase === 'lost') && (
        <div
          role="status"
          className="absolute inset-x-4 bottom-4 flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-paper px-4 py-3 text-sm shadow-raised"
        >
          <span className={state.phase === 'lost' ? 'animate-breathe' : ''}>{state.text}</span>
          {state.phase === 'ended' && (
            <Button weight="strong" autoFocus={shown} onClick={onAgain}>
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

function nameOf(state: ScreenState, n: number): string {
  const shell = state.phase === 'open' ? state.text.split('/').at(-1) : undefined;
  return `${n + 1} ${shell ?? 'shell'}`;
}
