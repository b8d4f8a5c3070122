/** A shell of the machine, in the page. It ends when this place is left. */
import { useState } from 'react';
import { useObservable } from '../app/context.ts';
import { PlaceHeader } from '../app/header.tsx';
import { theme } from '../app/theme.ts';
import { Button } from '../ui/button.tsx';
import { Screen, type ScreenState } from './screen.tsx';

export function TerminalPlace() {
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<ScreenState>({ phase: 'opening', text: '' });
  const look = useObservable(theme);
  return (
    <>
      <PlaceHeader title="Terminal">
        <span className="truncate text-sm text-faint max-sm:hidden">{state.phase === 'open' ? state.text : ''}</span>
      </PlaceHeader>
      <main className="relative min-h-0 flex-1 bg-surface p-2 md:p-4">
        <Screen key={attempt} look={look} onState={setState} />
        {state.phase === 'ended' && (
          <div
            role="status"
            className="absolute inset-x-4 bottom-4 flex flex-wrap items-center justify-between gap-3 rounded-xl border border-line bg-paper px-4 py-3 text-sm shadow-raised"
          >
            <span>{state.text}</span>
            <Button
              weight="strong"
              onClick={() => {
                setState({ phase: 'opening', text: '' });
                setAttempt((n) => n + 1);
              }}
            >
              Open another
            </Button>
          </div>
        )}
      </main>
    </>
  );
}
