/** Shown when this tab has no valid token: how to get one, and where to put it. */
import { useState } from 'react';
import { keepToken } from '../token.ts';
import { Button } from '../ui/button.tsx';
import { Command } from '../ui/notice.tsx';

const PROBLEMS = {
  rejected: 'This code was used before, or has expired.',
  unreachable: 'The dashboard is unreachable. Check that the service runs, then try again.',
};

export function TokenScreen({ reason }: { reason: string | null }) {
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<'rejected' | 'unreachable' | null>(null);
  return (
    <main className="flex h-full items-center justify-center p-6">
      <form
        className="grid w-full max-w-md gap-4 rounded-2xl border border-line bg-surface p-8 shadow-raised"
        onSubmit={(event) => {
          event.preventDefault();
          void keepToken(text).then((outcome) => (outcome === 'kept' ? location.reload() : setProblem(outcome)));
        }}
      >
        <h1 className="font-serif text-2xl font-semibold">This browser has no access yet</h1>
        {reason && <p className="text-sm text-bad">{reason}</p>}
        {problem && <p className="text-sm text-bad">{PROBLEMS[problem]}</p>}
        <p className="text-soft">
          Run <Command>agent dashboard</Command> on the machine that runs the service. It prints an address with a code that is good once:
          open that, or paste it here.
        </p>
        <label className="grid gap-1.5 text-sm font-medium">
          Address or token
          <input
            type="password"
            autoComplete="off"
            autoFocus
            value={text}
            onChange={(event) => setText(event.target.value)}
            className="h-10 rounded-lg border border-edge bg-paper px-3 font-mono text-sm font-normal"
          />
        </label>
        <Button type="submit" weight="strong" className="h-10 justify-center" disabled={text.trim() === ''}>
          Open
        </Button>
      </form>
    </main>
  );
}
