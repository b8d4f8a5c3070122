/**
 * What browsers keep for us: signed, so that it can be read and not changed (who is signed in), or sealed,
 * so that it cannot even be read (the secrets of a sign-in under way, refresh tokens). One key per purpose.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';

export interface Seal {
  sign(value: unknown): string;
  /** Undefined for anything that was not signed with this key. */
  verify(text: string | undefined): unknown;
  seal(value: unknown): string;
  unseal(text: string | undefined): unknown;
}

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** `purpose` keeps a cookie of one kind from passing as another. */
export function createSeal(secret: string, purpose: string): Seal {
  const key = (kind: string) => Buffer.from(hkdfSync('sha256', secret, 'agent dashboard', `${kind} ${purpose}`, 32));
  const signing = key('sign');
  const sealing = key('seal');
  const mac = (body: string) => createHmac('sha256', signing).update(body).digest();
  return {
    sign(value) {
      const body = Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${body}.${mac(body).toString('base64url')}`;
    },
    verify(text = '') {
      const [body = '', signature = '', ...more] = text.split('.');
      const given = Buffer.from(signature, 'base64url');
      const wanted = mac(body);
      if (more.length || given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
      return parsed(Buffer.from(body, 'base64url'));
    },
    seal(value) {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', sealing, iv);
      const hidden = Buffer.concat([cipher.update(JSON.stringify(value)), cipher.final()]);
      return Buffer.concat([iv, cipher.getAuthTag(), hidden]).toString('base64url');
    },
    unseal(text = '') {
      const bytes = Buffer.from(text, 'base64url');
      if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, IV_BYTES));
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      try {
        return parsed(Buffer.concat([decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]));
      } catch {
        return undefined;
      }
    },
  };
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown;
  } catch {
    return undefined;
  }
}
