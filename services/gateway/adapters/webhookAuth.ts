/**
 * Who may post to a route: a sender that signs as GitHub, Stripe, Slack, Standard Webhooks or Grafana do, or that sends the
 * secret itself (a header, Bearer, the password of Basic). Also the bounded rate of a route.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';

/** Written as a route's secret, it opens the route to anybody; for tests on this machine. */
export const INSECURE_NO_AUTH = 'INSECURE_NO_AUTH';

/**
 * `secret` undefined = the route has none and refuses everything. The first scheme whose header is there decides; one that
 * signs its time is believed for `limits.gateway.webhookSkewMs`.
 */
export function isAuthentic(secret: string | undefined, headers: IncomingHttpHeaders, body: Buffer, nowMs: number = Date.now()): boolean {
  if (secret === INSECURE_NO_AUTH) return true;
  if (!secret) return false;
  for (const scheme of schemes) {
    const proof = scheme((name) => one(headers, name));
    if (proof === undefined) continue;
    if (proof.at !== undefined && !isRecent(proof.at, nowMs)) return false;
    const expected = hmac(keyOf(secret, proof), proof.prefix ?? '', body).toString(proof.encoding ?? 'hex');
    return proof.signatures.some((signature) => equal(signature, expected));
  }
  const given = givenSecret(headers);
  return given !== undefined && (equal(given, secret) || equal(given.replace(/^[^:]*:/, ''), secret));
}

interface Proof {
  /** Any of them is enough: senders send two while a secret is changed. */
  signatures: string[];
  encoding?: 'hex' | 'base64';
  /** Signed before the body. */
  prefix?: string;
  /** Seconds since the epoch, as sent; undefined where the scheme signs no time. */
  at?: string;
  /** The secret is base64 behind `whsec_`. */
  decoded?: boolean;
}

type Scheme = (header: (name: string) => string | undefined) => Proof | undefined;

const standard =
  (name: string): Scheme =>
  (header) => {
    const [id, at, signature] = ['id', 'timestamp', 'signature'].map((part) => header(`${name}-${part}`));
    if (signature === undefined) return undefined;
    const signatures = signature.split(' ').flatMap((part) => (part.startsWith('v1,') ? part.slice('v1,'.length) : []));
    return { signatures, encoding: 'base64', prefix: `${id}.${at}.`, at: at ?? '', decoded: true };
  };

const schemes: Scheme[] = [
  // GitHub, and whoever signs the body alone.
  (header) => {
    const signature = header('x-hub-signature-256') ?? header('x-webhook-signature');
    return signature === undefined ? undefined : { signatures: [signature.replace(/^sha256=/, '').toLowerCase()] };
  },
  // Stripe: `t=…,v1=…,v1=…`
  (header) => {
    const fields = header('stripe-signature')
      ?.split(',')
      .map((field) => field.split('=', 2) as [string, string?]);
    const at = fields?.find(([name]) => name === 't')?.[1] ?? '';
    return fields && { signatures: fields.flatMap(([name, value]) => (name === 'v1' && value ? value : [])), prefix: `${at}.`, at };
  },
  (header) => {
    const signature = header('x-slack-signature');
    const at = header('x-slack-request-timestamp') ?? '';
    return signature === undefined ? undefined : { signatures: [signature.replace(/^v0=/, '')], prefix: `v0:${at}:`, at };
  },
  standard('webhook'),
  standard('svix'),
  (header) => {
    const signature = header('x-grafana-alerting-signature');
    const at = header('x-grafana-alerting-timestamp');
    return signature === undefined ? undefined : { signatures: [signature], ...(at === undefined ? {} : { prefix: `${at}:`, at }) };
  },
];

const isRecent = (at: string, nowMs: number): boolean =>
  /^\d{1,12}$/.test(at) && Math.abs(nowMs - Number(at) * 1_000) <= limits.gateway.webhookSkewMs;

const hmac = (key: string | Buffer, prefix: string, body: Buffer): Buffer => createHmac('sha256', key).update(prefix).update(body).digest();

const keyOf = (secret: string, { decoded }: Proof): string | Buffer =>
  decoded && secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : secret;

/** Of Basic the whole `user:password`. */
function givenSecret(headers: IncomingHttpHeaders): string | undefined {
  const [, scheme, value] = /^(Bearer|Basic) +(\S+)$/i.exec(headers.authorization ?? '') ?? [];
  if (value !== undefined) return /^basic$/i.test(scheme!) ? Buffer.from(value, 'base64').toString('utf8') : value;
  return one(headers, 'x-webhook-secret') ?? one(headers, 'x-gitlab-token');
}

const DELIVERY_HEADERS = [
  'webhook-id',
  'svix-id',
  'x-github-delivery',
  'x-gitlab-event-uuid',
  'x-webhook-delivery',
  'idempotency-key',
  'x-request-id',
];

/** Senders that name the event in its body, and sign each repetition anew: Stripe's `id`, Slack's `event_id`. */
const EVENT_ID_FIELDS: Readonly<Record<string, string>> = { 'stripe-signature': 'id', 'x-slack-signature': 'event_id' };

/** The sender's id of this delivery, if it gives one. */
export function deliveryIdOf(headers: IncomingHttpHeaders, payload: unknown): string | undefined {
  const field = Object.entries(EVENT_ID_FIELDS).find(([header]) => headers[header] !== undefined)?.[1];
  const named = field === undefined ? undefined : (payload as Record<string, unknown> | null)?.[field];
  const ids: unknown[] = [...DELIVERY_HEADERS.map((name) => one(headers, name)), named];
  return ids.find((id): id is string => typeof id === 'string' && id !== '' && id.length <= ID_MAX_CHARS);
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
