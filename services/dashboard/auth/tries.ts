/** Brute force: so many tries of a password from one address in a minute, right or wrong, and so many from one network of IPv6. */
import { isIP } from 'node:net';
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
      const now = nowMs();
      const counted = boundsOf(address).map(({ key, most }) => ({ recent: recentOf(key, now), most }));
      for (const { recent, most } of counted) if (recent.length >= most) throw tooMany(WINDOW_MS - (now - recent.at(-most)!));
      for (const { recent } of counted) recent.push(now);
    },
    forget: (address) => void seen.delete(networkKey(address)),
  };

  function recentOf(key: string, now: number): number[] {
    const recent = (seen.get(key) ?? []).filter((atMs) => now - atMs < WINDOW_MS);
    seen.delete(key);
    seen.set(key, recent);
    if (seen.size > limits.signIn.addressesMax) seen.delete(seen.keys().next().value!);
    return recent;
  }
}

/** A /64 of IPv6 is one host; whoever owns a /48 has 65,536 of them. */
function boundsOf(address: string): { key: string; most: number }[] {
  const key = networkKey(address);
  const host = { key, most: limits.signIn.triesPerMinute };
  return isIP(address) === 6 && key !== address
    ? [host, { key: `net ${networkKey(address, 3)}`, most: limits.signIn.triesPerNetwork }]
    : [host];
}

function tooMany(retryAfterMs: number): AgentError {
  return new AgentError('TOO_MANY_TRIES', 'too many sign-ins were tried from this address', {
    retryAfterMs,
    fix: `wait ${Math.ceil(retryAfterMs / 1_000)} seconds`,
  });
}
