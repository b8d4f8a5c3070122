/** Identifiers: random, sortable where order matters. */
import { createHash, randomBytes, randomUUID } from 'node:crypto';

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** `n` hexadecimal characters. */
export const hexId = (n: number): string =>
  randomBytes(Math.ceil(n / 2))
    .toString('hex')
    .slice(0, n);

export const uuid = (): string => randomUUID();

/** `<prefix>_<time><random>`: 10 characters of time and 10 of chance in Crockford base 32; sorts by creation. */
export function sortableId(prefix: string, nowMs: number = Date.now()): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32]! + time;
  let chance = '';
  for (const byte of randomBytes(10)) chance += ALPHABET[byte % 32]!;
  return `${prefix}_${time}${chance}`;
}

/** First `n` hexadecimal characters of the SHA-256 of `text`. */
export const digest = (text: string | Uint8Array, n = 64): string =>
  createHash('sha256').update(text).digest('hex').slice(0, n);
