/** Brute force: so many tries of a password from one address in a minute, right or wrong. */
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { networkKey } from '../../../base/networkKey.ts';

const WINDOW_MS = 60_000;

export interface Tries {
  /** Counts one. Errors: TOO_MANY_TRIES with the time until the next is heard. */
  count(address: string): void;
  /** The right password: its owner's slips are forgotten. */
  forget(address: string): void;
}

export function createTries(nowMs: () => number = () => performance.now()): Tries {
  /** Times of the tries that still count. The address that was last heard stands last. */
  const seen = new Map<string, number[]>();
  return {
    count(address) {
      const key = networkKey(address);
      const now = nowMs();
      const recent = (seen.get(key) ?? []).filter((atMs) => now - atMs < WINDOW_MS);
      seen.delete(key);
      seen.set(key, recent);
      if (seen.size > limits.signIn.addressesMax) seen.delete(seen.keys().next().value!);
      if (recent.length >= limits.signIn.triesPerMinute) throw tooMany(WINDOW_MS - (now - recent[0]!));
      recent.push(now);
    },
    forget: (address) => void seen.delete(networkKey(address)),
  };
}

function tooMany(retryAfterMs: number): AgentError {
  return new AgentError('TOO_MANY_TRIES', 'too many sign-ins were tried from this address', {
    retryAfterMs,
    fix: `wait ${Math.ceil(retryAfterMs / 1_000)} seconds`,
  });
}
