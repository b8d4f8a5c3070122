/**
 * Passwords at rest: `scrypt$N$r$p$salt$key`, the parameters beside the result, so that old hashes stay
 * valid when the cost rises. Salt and key are base64 (either alphabet) or hexadecimal.
 */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { limits } from './limits.ts';

export interface PasswordHash {
  cost: number;
  blockSize: number;
  parallel: number;
  salt: Buffer;
  key: Buffer;
}

const HASH = /^scrypt\$(\d{1,8})\$(\d{1,3})\$(\d{1,3})\$([A-Za-z0-9+/_-]+={0,2})\$([A-Za-z0-9+/_-]+={0,2})$/;

/** Undefined for anything that is no hash of this form, or would cost more than a sign-in may. */
export function parsePasswordHash(text: string): PasswordHash | undefined {
  const [, cost, blockSize, parallel, salt, key] = HASH.exec(text.trim()) ?? [];
  if (salt === undefined || key === undefined) return undefined;
  const hash = { cost: Number(cost), blockSize: Number(blockSize), parallel: Number(parallel), salt: bytesOf(salt), key: bytesOf(key) };
  return isAffordable(hash) ? hash : undefined;
}

/** Node wants a power of two; the memory is 128 · N · r bytes. */
function isAffordable({ cost, blockSize, parallel, salt, key }: PasswordHash): boolean {
  const { memoryMaxBytes, parallelMax, saltMinBytes, keyMinBytes } = limits.passwordHash;
  const isPowerOfTwo = cost > 1 && (cost & (cost - 1)) === 0;
  if (!isPowerOfTwo || blockSize < 1 || parallel < 1 || parallel > parallelMax) return false;
  return 128 * cost * blockSize <= memoryMaxBytes && salt.length >= saltMinBytes && key.length >= keyMinBytes && key.length <= 128;
}

const bytesOf = (text: string): Buffer => Buffer.from(text, /^(?:[0-9a-f]{2})+$/.test(text) ? 'hex' : 'base64');

/** A new hash with today's cost. */
export async function hashPassword(password: string): Promise<string> {
  const { cost, blockSize, parallel, saltBytes, keyBytes } = limits.passwordHash;
  const salt = randomBytes(saltBytes);
  const key = await derive(password, { cost, blockSize, parallel, salt, key: Buffer.alloc(keyBytes) });
  return ['scrypt', cost, blockSize, parallel, salt.toString('base64url'), key.toString('base64url')].join('$');
}

/** In constant time. The same characters written in another way of Unicode count as the same password. */
export async function verifyPassword(password: string, hash: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await derive(password, hash), hash.key);
}

/** A hash that no password matches, as costly as any other: for names that do not exist. */
export function dummyHash(like?: PasswordHash): PasswordHash {
  const { cost, blockSize, parallel, saltBytes, keyBytes } = limits.passwordHash;
  const shape = like ?? { cost, blockSize, parallel, key: { length: keyBytes } };
  return { ...shape, salt: randomBytes(saltBytes), key: randomBytes(shape.key.length) };
}

function derive(password: string, { cost, blockSize, parallel, salt, key }: PasswordHash): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N: cost, r: blockSize, p: parallel, maxmem: 2 * limits.passwordHash.memoryMaxBytes };
    scrypt(password.normalize('NFC'), salt, key.length, options, (failed, derived) => (failed ? reject(failed) : resolve(derived)));
  });
}
