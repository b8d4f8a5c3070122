/** What was opened or closed by hand in a conversation: it stays so while its row is off the screen. */
import { useState } from 'react';

/** More than anybody opens by hand and comes back to. */
const KEPT_MAX = 2_000;
const chosen = new Map<string, boolean>();

/** Null as long as nobody chose. */
export function useRemembered(key: string): [boolean | null, (value: boolean) => void] {
  const [, redraw] = useState(0);
  const choose = (value: boolean) => {
    if (chosen.get(key) === value) return;
    chosen.set(key, value);
    if (chosen.size > KEPT_MAX) chosen.delete(chosen.keys().next().value!);
    redraw((count) => count + 1);
  };
  return [chosen.get(key) ?? null, choose];
}
