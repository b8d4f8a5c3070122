/** The list of suggestions over the composer. The text keeps the focus; the list is told by aria-activedescendant. */
import { useEffect, useRef } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import type { Suggestion } from './completion.ts';

export const MENU_ID = 'composer-suggestions';
export const optionId = (index: number): string => `${MENU_ID}-${index}`;

interface MenuProps {
  items: readonly Suggestion[];
  at: number;
  onPick: (index: number) => void;
}

export function CompletionMenu({ items, at, onPick }: MenuProps) {
  const list = useRef<HTMLUListElement>(null);
  useEffect(() => {
    list.current?.children[at]?.scrollIntoView({ block: 'nearest' });
  }, [at]);
  return (
    <ul
      ref={list}
      id={MENU_ID}
      role="listbox"
      aria-label="Suggestions"
      className="absolute inset-x-2 bottom-full z-10 mb-2 max-h-72 overflow-y-auto rounded-xl border border-line bg-paper p-1 shadow-raised"
    >
      {items.map(({ label, summary, text }, index) => (
        <li
          key={text}
          id={optionId(index)}
          role="option"
          aria-selected={index === at}
          // Before the text loses the focus.
          onMouseDown={(event) => {
            event.preventDefault();
            onPick(index);
          }}
          className={`flex cursor-pointer items-baseline gap-3 rounded-lg px-3 py-1.5 text-sm ${index === at ? 'bg-tint' : 'hover:bg-sunken'}`}
        >
          <span className="shrink-0 font-mono text-[0.8125rem]">{visibleText(label)}</span>
          <span className="min-w-0 truncate text-soft">{summary}</span>
        </li>
      ))}
    </ul>
  );
}
