/** What is being written, kept by this tab: it survives going to another place and a reload. */
import { useState } from 'react';

const nameOf = (key: string): string => `agent.draft.${key}`;

/** What belongs to it is gone. */
export const forgetDraft = (key: string): void => sessionStorage.removeItem(nameOf(key));

export function useDraft(key: string): [string, (text: string) => void] {
  const name = nameOf(key);
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? '');
  const set = (next: string) => {
    setText(next);
    try {
      if (next === '') sessionStorage.removeItem(name);
      else sessionStorage.setItem(name, next);
    } catch {
      // The browser's store is full: the text stands in its box.
    }
  };
  return [text, set];
}
