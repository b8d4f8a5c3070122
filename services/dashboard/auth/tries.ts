/** Brute force: so many tries of a password from one address in a minute, right or wrong. */
import { isIPv6 } from 'node:net';
import { AgentError } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';

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

/** One host of IPv6 has a whole /64 to itself; an IPv4 address inside IPv6 is that address. */
function networkKey(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::');
  const groups = head.split(':').filter(Boolean);
  const after = tail === undefined ? [] : tail.split(':').filter(Boolean);
  const whole =
    tail === undefined ? groups : [...groups, ...Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0'), ...after];
  return whole
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
