/** Identifiers: random, sortable where order matters. */

/** Loaded when first needed: it costs 5 ms that a command which only reads does not have. */
const crypto = () => process.getBuiltinModule('node:crypto');

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';

/** The characters of a UUID before its version: random all of them. */
const UUID_HEAD = 12;

/** `n` hexadecimal characters. Short ones are cut from UUIDs, which Node makes 128 at a time: 2.5 µs against 10 (measured, cold). */
export const hexId = (n: number): string =>
  n <= UUID_HEAD
    ? crypto().randomUUID().replace('-', '').slice(0, n)
    : crypto()
        .randomBytes(Math.ceil(n / 2))
        .toString('hex')
        .slice(0, n);

export const uuid = (): string => crypto().randomUUID();

/** `<prefix>_<time><random>`: 9 characters of time and 8 of chance in Crockford base 32; sorts by creation. Short, because every frame carries one. */
export function sortableId(prefix: string, nowMs: number = Date.now()): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 9; i++, rest = Math.floor(rest / 32)) time = ALPHABET[rest % 32]! + time;
  let chance = '';
  for (const byte of crypto().randomBytes(8)) chance += ALPHABET[byte % 32]!;
  return `${prefix}_${time}${chance}`;
}

/** First `n` hexadecimal characters of the SHA-256 of `text`. */
export const digest = (text: string | Uint8Array, n = 64): string => crypto().hash('sha256', text, 'hex').slice(0, n);
