/** Keys that a keyboard of glass lacks, below the shell on a phone: without them nothing could be interrupted or completed there. */
import { useObservable } from '../app/context.ts';
import type { Key } from './keys.ts';
import { press, setControl, shells } from './shells.ts';

const keys: readonly { key: Key; name: string; shown: string }[] = [
  { key: 'Esc', name: 'Escape', shown: 'Esc' },
  { key: 'Tab', name: 'Tab', shown: 'Tab' },
  { key: 'Up', name: 'Arrow up', shown: '↑' },
  { key: 'Down', name: 'Arrow down', shown: '↓' },
  { key: 'Left', name: 'Arrow left', shown: '←' },
  { key: 'Right', name: 'Arrow right', shown: '→' },
  { key: '|', name: 'Pipe', shown: '|' },
  { key: '/', name: 'Slash', shown: '/' },
  { key: '-', name: 'Hyphen', shown: '-' },
  { key: '~', name: 'Tilde', shown: '~' },
];

const look = 'h-11 min-w-11 shrink-0 rounded-lg px-2 font-mono text-sm text-ink active:bg-tint';

export function KeyBar({ id }: { id: number }) {
  const { control } = useObservable(shells);
  return (
    <div
      role="toolbar"
      aria-label="Keys"
      // The keyboard stays open: the focus is not taken.
      onPointerDown={(event) => event.preventDefault()}
      // Words for screen readers are placed in it, or they would widen the page by what is scrolled.
      className="relative flex shrink-0 gap-1 overflow-x-auto border-t border-line bg-paper px-2 py-1 pointer-fine:hidden"
    >
      <button
        type="button"
        aria-pressed={control}
        onClick={() => setControl(!control)}
        className={`${look} aria-pressed:bg-accent aria-pressed:text-on-accent`}
      >
        Ctrl <span className="sr-only">for the next key</span>
      </button>
      {keys.map(({ key, name, shown }) => (
        <button key={key} type="button" onClick={() => press(id, key)} className={look}>
          <span aria-hidden="true">{shown}</span>
          <span className="sr-only">{name}</span>
        </button>
      ))}
    </div>
  );
}
