/**
 * Who asks, and under which address they know us: behind a proxy both stand in X-Forwarded-…, which
 * counts only when the proxy is one of `dashboard.trusted_proxies`. The address is believed from those alone, because
 * tries of a password are counted by it; scheme and host also from this machine.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import { trustedList, type SignInSettings } from '../../../state/config/signIn.ts';

export interface Clients {
  /** The address of the browser; rightmost forwarded one that no trusted proxy has. */
  addressOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string;
  /** Whether that peer is this machine or a configured proxy: many users may come from it. */
  isTrusted(address: string): boolean;
  /** Scheme, host and port as the browser sees them. */
  originOf(request: Pick<IncomingMessage, 'headers' | 'socket'>): string;
}

export function createClients({ publicUrl, trustedProxies }: Pick<SignInSettings, 'publicUrl' | 'trustedProxies'>): Clients {
  const configured = trustedList(trustedProxies);
  const isListed = (list: BlockList, address: string): boolean =>
    isIP(address) !== 0 && list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  const isTrusted = (address: string): boolean => isListed(configured, address) || isListed(thisMachine, address);
  const peerOf = ({ socket }: Pick<IncomingMessage, 'socket'>) => plainAddress(socket.remoteAddress ?? '');
  return {
    addressOf(request) {
      let address = peerOf(request);
      for (const hop of listOf(request.headers['x-forwarded-for']).map(plainAddress).toReversed()) {
        if (!isListed(configured, address)) break;
        // A proxy that writes nonsense is as far as we can see.
        if (isIP(hop) === 0) break;
        address = hop;
      }
      return address;
    },
    isTrusted: (address) => isTrusted(plainAddress(address)),
    originOf(request) {
      if (publicUrl) return publicUrl.origin;
      const { headers } = request;
      const forwarded = isTrusted(peerOf(request));
      const scheme = (forwarded && listOf(headers['x-forwarded-proto'])[0]) || 'http';
      const host = (forwarded && listOf(headers['x-forwarded-host'])[0]) || headers.host || '';
      const direct = `http://${headers.host ?? ''}`;
      return URL.parse(/^https?$/.test(scheme) ? `${scheme}://${host}` : direct)?.origin ?? URL.parse(direct)?.origin ?? 'http://localhost';
    },
  };
}

const thisMachine = new BlockList();
thisMachine.addSubnet('127.0.0.0', 8, 'ipv4');
thisMachine.addAddress('::1', 'ipv6');

const listOf = (header: string | string[] | undefined): string[] =>
  (Array.isArray(header) ? header.join(',') : (header ?? ''))
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean);

/** `::ffff:10.0.0.1` is 10.0.0.1, `[::1]:443` is ::1, `10.0.0.1:5000` is 10.0.0.1. */
function plainAddress(text: string): string {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
  return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(bare)?.[1] ?? bare;
}
