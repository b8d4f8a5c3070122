/**
 * Wrong proofs at one webhook route. Each address is held up by its own, so that a stranger who guesses does not keep
 * the real sender out. Over all addresses together they are bounded as well; who has proved itself lately passes there.
 */
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { limits } from '../../../base/limits.ts';
import { networkKey } from '../../../base/networkKey.ts';
import { MinuteRate } from './webhookAuth.ts';

const { webhookPerMinute, webhookGuessesPerMinute, webhookSendersMax, webhookKnownMs } = limits.gateway;

export class Guesses {
  /** Wrong ones by address; the address that was last heard stands last. */
  readonly #byAddress = new Map<string, MinuteRate>();
  readonly #all = new MinuteRate(webhookGuessesPerMinute);
  /** Addresses that have proved themselves, and when last; the latest stands last. */
  readonly #known = new Map<string, number>();

  /** 0, or the milliseconds until this address is heard again. */
  waitMs(address: string, nowMs: number): number {
    const own = this.#byAddress.get(address)?.waitMs(nowMs) ?? 0;
    const isKnown = nowMs - (this.#known.get(address) ?? -Infinity) < webhookKnownMs;
    return own > 0 || isKnown ? own : this.#all.waitMs(nowMs);
  }

  wrong(address: string, nowMs: number): void {
    const rate = this.#byAddress.get(address) ?? new MinuteRate(webhookPerMinute);
    rate.take(nowMs);
    remember(this.#byAddress, address, rate);
    this.#all.take(nowMs);
  }

  right(address: string, nowMs: number): void {
    remember(this.#known, address, nowMs);
  }
}

function remember<T>(map: Map<string, T>, address: string, value: T): void {
  map.delete(address);
  map.set(address, value);
  if (map.size > webhookSendersMax) map.delete(map.keys().next().value!);
}

/**
 * Under which name a sender is counted: its address, a /64 of IPv6 as one. Behind a proxy on this machine it is the
 * last one of X-Forwarded-For, which that proxy wrote; anybody else may write there what they like.
 */
export function senderOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
  const peer = networkKey(socket.remoteAddress ?? '');
  if (!isLoopback(socket.remoteAddress ?? '')) return peer;
  const last = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)!
    .trim();
  return isIP(last) === 0 ? peer : networkKey(last);
}

const isLoopback = (address: string): boolean => address === '::1' || /^(?:::ffff:)?127\./.test(address);
