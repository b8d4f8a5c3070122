/** Which addresses are the public web: everything but what is reserved for this machine, this network, or nobody. */
import { BlockList, isIPv4 } from 'node:net';

const reserved: readonly [string, number, 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'],
  ['10.0.0.0', 8, 'ipv4'],
  // Shared by the customers of a provider (RFC 6598), and of overlay networks.
  ['100.64.0.0', 10, 'ipv4'],
  ['127.0.0.0', 8, 'ipv4'],
  // Link-local; clouds answer with credentials on 169.254.169.254.
  ['169.254.0.0', 16, 'ipv4'],
  ['172.16.0.0', 12, 'ipv4'],
  ['192.0.0.0', 24, 'ipv4'],
  ['192.0.2.0', 24, 'ipv4'],
  ['192.88.99.0', 24, 'ipv4'],
  ['192.168.0.0', 16, 'ipv4'],
  ['198.18.0.0', 15, 'ipv4'],
  ['198.51.100.0', 24, 'ipv4'],
  ['203.0.113.0', 24, 'ipv4'],
  // Multicast, reserved, broadcast.
  ['224.0.0.0', 3, 'ipv4'],
];

let blockedOnce: BlockList | undefined;

function blocked(): BlockList {
  if (blockedOnce) return blockedOnce;
  blockedOnce = new BlockList();
  for (const [net, prefix, family] of reserved) blockedOnce.addSubnet(net, prefix, family);
  return blockedOnce;
}

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !blocked().check(address, 'ipv4');
  return isPublicIpv6(address);
}

/**
 * Of IPv6 only global unicast (2000::/3) is public, without documentation and without the forms that hold an
 * IPv4 address (6to4, Teredo): what they lead to is decided elsewhere.
 */
function isPublicIpv6(address: string): boolean {
  const groups = groupsOf(address);
  if (!groups || (groups[0]! & 0xe000) !== 0x2000) return false;
  if (groups[0] === 0x2002) return false;
  if (groups[0] === 0x2001 && (groups[1]! < 0x0200 || groups[1] === 0x0db8)) return false;
  return groups[0] !== 0x3fff;
}

/** The eight groups; undefined for what is no address. */
function groupsOf(address: string): number[] | undefined {
  const host = URL.parse(`http://[${address.replace(/%.*$/, '')}]/`)?.hostname.slice(1, -1);
  if (host === undefined) return undefined;
  const [head, tail] = host.split('::') as [string, string | undefined];
  const numbers = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const front = numbers(head);
  if (tail === undefined) return front;
  const back = numbers(tail);
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back];
}
