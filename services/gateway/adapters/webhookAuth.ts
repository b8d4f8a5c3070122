/**
 * Who may post to a route: an HMAC-SHA256 of the body (`X-Hub-Signature-256`, `X-Webhook-Signature`) or
 * the secret itself (`X-Webhook-Secret`, `X-Gitlab-Token`). Also the bounded rate of a route.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { digest } from '../../../base/ids.ts';

/** Written as a route's secret, it opens the route to anybody; for tests on this machine. */
export const INSECURE_NO_AUTH = 'INSECURE_NO_AUTH';

/** `secret` undefined = the route has none and refuses everything. */
export function isAuthentic(secret: string | undefined, headers: IncomingHttpHeaders, body: Buffer): boolean {
  if (secret === INSECURE_NO_AUTH) return true;
  if (!secret) return false;
  const signature = one(headers, 'x-hub-signature-256') ?? one(headers, 'x-webhook-signature');
  if (signature !== undefined)
    return equal(signature.replace(/^sha256=/, '').toLowerCase(), createHmac('sha256', secret).update(body).digest('hex'));
  const token = one(headers, 'x-webhook-secret') ?? one(headers, 'x-gitlab-token');
  return token !== undefined && equal(token, secret);
}

/** The sender's id of this delivery, if it gives one. */
export function deliveryIdOf(headers: IncomingHttpHeaders): string | undefined {
  const names = ['x-github-delivery', 'x-gitlab-event-uuid', 'x-webhook-delivery', 'idempotency-key', 'x-request-id'];
  return names.map((name) => one(headers, name)).find((id) => id !== undefined && id !== '' && id.length <= ID_MAX_CHARS);
}

const ID_MAX_CHARS = 200;

const one = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
};

/** In constant time whatever the lengths. */
const equal = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(digest(a)), Buffer.from(digest(b)));

/** At most `max` in any 60 s. */
export class MinuteRate {
  readonly #max: number;
  #times: number[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** Counts one; answers 0, or the milliseconds until there is room (and counts nothing). */
  take(nowMs: number): number {
    this.#times = this.#times.filter((at) => at > nowMs - 60_000);
    if (this.#times.length >= this.#max) return this.#times[0]! + 60_000 - nowMs;
    this.#times.push(nowMs);
    return 0;
  }

  /** Whether one would be refused; counts nothing. */
  waitMs(nowMs: number): number {
    const recent = this.#times.filter((at) => at > nowMs - 60_000);
    return recent.length >= this.#max ? recent[0]! + 60_000 - nowMs : 0;
  }
}
