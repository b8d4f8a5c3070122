/** Words that open a door once: WebSocket tickets, the code in the address that `agent dashboard` opens. In memory, capped, short-lived. */
import { randomBytes } from 'node:crypto';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';

export interface OneTime<T> {
  /** `owner`: whose it is; beyond `limits.signIn.ticketsPerOwnerMax` its own oldest is dropped, never another's. */
  issue(value: T, owner?: string): string;
  /** The value, the first time and in time; undefined ever after. */
  take(word: string | null | undefined): T | undefined;
}

export function createOneTime<T>({ seconds }: { seconds: number }): OneTime<T> {
  const waiting = new Map<string, { value: T; untilMs: number; owner: string }>();
  return {
    issue(value, owner = '') {
      const word = randomBytes(32).toString('base64url');
      // The oldest stands first: all live equally long.
      for (const [key, { untilMs }] of waiting) {
        if (untilMs > performance.now() && waiting.size < limits.signIn.ticketsMax) break;
        waiting.delete(key);
      }
      const own = [...waiting].filter(([, entry]) => entry.owner === owner);
      if (own.length >= limits.signIn.ticketsPerOwnerMax) waiting.delete(own[0]![0]);
      waiting.set(digest(word), { value, untilMs: performance.now() + seconds * 1_000, owner });
      return word;
    },
    take(word) {
      if (!word) return undefined;
      // Found by its digest: how long the look takes says nothing about the word.
      const key = digest(word);
      const found = waiting.get(key);
      waiting.delete(key);
      return found && found.untilMs > performance.now() ? found.value : undefined;
    },
  };
}
