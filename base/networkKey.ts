/** Under which name an address is counted, where one sender must not look like many. */
import { isIPv6 } from 'node:net';

/** One host of IPv6 has a whole /64 (four groups) to itself; an IPv4 address inside IPv6 is that address. */
export function networkKey(address: string, groupsCounted = 4): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped) return mapped;
  if (!isIPv6(address)) return address;
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::');
  const groups = head.split(':').filter(Boolean);
  const after = tail === undefined ? [] : tail.split(':').filter(Boolean);
  const whole =
    tail === undefined ? groups : [...groups, ...Array<string>(Math.max(0, 8 - groups.length - after.length)).fill('0'), ...after];
  return whole
    .slice(0, groupsCounted)
    .map((group) => group.replace(/^0+(?=.)/, ''))
    .join(':');
}
