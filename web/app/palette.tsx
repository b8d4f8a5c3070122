/** Ctrl+K or Cmd+K: every place, chat and action by its name, and everything that was said, without the pointer. */
import { Dialog } from '@base-ui/react/dialog';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { Marked, searchQuery, useRested } from '../chat/searchHits.tsx';
import { useConnection } from './context.ts';
import { useEntries, type Entry } from './paletteEntries.ts';

/** As many as one call answers with. */
const CHATS_MAX = 500;
/** Of each kind that fit what is typed. */
const FITTING_MAX = 50;
const HITS_MAX = 12;
/** Of each kind, while nothing narrows them down. */
const SHOWN = { Actions: 3, Places: 20, Chats: 8, 'Said in chats': HITS_MAX } as const;

export function Palette({ onClose }: { onClose: () => void }) {
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  useFocusBack();
  const groups = useGroups(query);
  const entries = groups.flatMap(({ entries: of }) => of);
  const chosen = Math.min(at, entries.length - 1);
  const choose = (index: number) => {
    setAt(index);
    list.current?.querySelector(`#${optionId(index)}`)?.scrollIntoView({ block: 'nearest' });
  };
  const run = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const keys: Record<string, () => void> = {
      ArrowDown: () => choose((chosen + 1) % entries.length),
      ArrowUp: () => choose((entries.length + chosen - 1) % entries.length),
      Home: () => choose(0),
      End: () => choose(entries.length - 1),
      Enter: () => run(entries[chosen]),
    };
    const act = keys[event.key];
    if (!act || entries.length === 0 || event.nativeEvent.isComposing) return;
    event.preventDefault();
    act();
  };
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-40 bg-[rgb(20_18_15/0.45)]" />
        <Dialog.Popup className="fixed inset-x-3 top-[8dvh] z-50 mx-auto grid max-h-[76dvh] max-w-xl grid-rows-[auto_minmax(0,1fr)] overflow-hidden rounded-2xl border border-line bg-paper shadow-raised">
          <Dialog.Title className="sr-only">Go to, or do</Dialog.Title>
          <input
            autoFocus
            role="combobox"
            aria-label="Go to a place or a chat, or do something"
            aria-expanded="true"
            aria-controls="palette-list"
            aria-activedescendant={entries.length > 0 ? optionId(chosen) : undefined}
            placeholder="Go to a place or a chat, or do something"
            value={query}
            onChange={({ target }) => {
              setQuery(target.value);
              setAt(0);
            }}
            onKeyDown={onKeyDown}
            className="h-13 border-b border-line bg-transparent px-5 placeholder:text-faint focus-visible:outline-none"
          />
          <div ref={list} id="palette-list" role="listbox" aria-label="Results" className="overflow-y-auto p-2">
            {groups.map(({ name, entries: of, from }) => (
              <div key={name} role="group" aria-label={name}>
                <p className="px-3 pt-2 pb-1 text-xs text-faint" aria-hidden="true">
                  {name}
                </p>
                {of.map((entry, index) => (
                  <Option
                    key={entry.key}
                    entry={entry}
                    query={query}
                    index={from + index}
                    chosen={from + index === chosen}
                    onPick={() => run(entry)}
                  />
                ))}
              </div>
            ))}
            {entries.length === 0 && <p className="px-3 py-6 text-center text-sm text-soft">Nothing has that name.</p>}
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

/** The focus goes back to where it was, unless the entry that was chosen has put it elsewhere. */
function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      requestAnimationFrame(() => {
        if (document.activeElement === document.body && before instanceof HTMLElement && before.isConnected) before.focus();
      });
    },
    [before],
  );
}

const optionId = (index: number): string => `palette-${index}`;

interface OptionProps {
  entry: Entry;
  query: string;
  index: number;
  chosen: boolean;
  onPick: () => void;
}

function Option({ entry: { label, about, icon: Icon }, query, index, chosen, onPick }: OptionProps) {
  return (
    <div
      id={optionId(index)}
      role="option"
      aria-selected={chosen}
      tabIndex={-1}
      onClick={onPick}
      onKeyDown={() => {}}
      className={`flex min-h-10 cursor-pointer items-center gap-3 rounded-lg px-3 py-1.5 text-sm ${chosen ? 'bg-tint' : 'hover:bg-sunken'}`}
    >
      <Icon size={16} className="shrink-0 text-soft" aria-hidden="true" />
      <span className="grid min-w-0 flex-1">
        <span className="truncate">{label}</span>
        {about && (
          <span className="truncate text-xs text-soft">
            <Marked text={about} query={query} />
          </span>
        )}
      </span>
    </div>
  );
}

interface Group {
  name: keyof typeof SHOWN;
  entries: readonly Entry[];
  /** Place of its first entry among all. */
  from: number;
}

function useGroups(query: string): Group[] {
  const connection = useConnection();
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const rested = useRested(query.trim());
  const chats = useQuery({
    queryKey: ['sessions', 'palette'],
    queryFn: () => connection.callSafely('session.list', { limit: CHATS_MAX }),
    placeholderData: keepPreviousData,
  });
  const hits = useQuery(searchQuery(connection, rested, HITS_MAX));
  const known = useEntries(chats.data?.sessions ?? [], query.trim().length > 1 ? (hits.data?.hits ?? []) : []);
  const fits = ({ label, about }: Entry) => words.every((word) => `${label} ${about}`.toLowerCase().includes(word));
  const narrowed = (name: Group['name'], entries: readonly Entry[]): Group => ({
    name,
    from: 0,
    entries: entries.filter(fits).slice(0, words.length > 0 ? FITTING_MAX : SHOWN[name]),
  });
  const groups: Group[] = [
    narrowed('Actions', known.actions),
    narrowed('Places', known.places),
    narrowed('Chats', known.chats),
    { name: 'Said in chats', entries: known.hits, from: 0 },
  ];
  const before = (at: number) => groups.slice(0, at).reduce((sum, { entries }) => sum + entries.length, 0);
  return groups.map((group, at) => ({ ...group, from: before(at) })).filter(({ entries }) => entries.length > 0);
}
