/**
 * The proof of an outside scheduler that has no secret of ours: a short-lived JWT in `Authorization: Bearer`, signed
 * by an issuer whose public keys stand behind `cron.fire_jwt.jwks_url`, for this audience and this purpose alone.
 * Shared secrets and unsigned tokens are refused whatever the key set says.
 */
import { constants, verify as verifySignature, type KeyObject, type VerifyKeyObjectInput } from 'node:crypto';
import { z } from 'zod';
import { limits } from '../../../base/limits.ts';
import type { Config } from '../../../state/config/schema.ts';
import type { SigningKeys } from './signingKeys.ts';

export type FireTokenSettings = NonNullable<NonNullable<Config['cron']>['fire_jwt']>;

interface Algorithm {
  hash: 'sha256' | 'sha384' | 'sha512' | null;
  keyType: 'rsa' | 'ec' | 'ed25519';
  curve?: string;
  pss?: true;
}

const ALGORITHMS: ReadonlyMap<string, Algorithm> = new Map([
  ['RS256', { hash: 'sha256', keyType: 'rsa' }],
  ['RS384', { hash: 'sha384', keyType: 'rsa' }],
  ['RS512', { hash: 'sha512', keyType: 'rsa' }],
  ['PS256', { hash: 'sha256', keyType: 'rsa', pss: true }],
  ['PS384', { hash: 'sha384', keyType: 'rsa', pss: true }],
  ['PS512', { hash: 'sha512', keyType: 'rsa', pss: true }],
  ['ES256', { hash: 'sha256', keyType: 'ec', curve: 'prime256v1' }],
  ['ES384', { hash: 'sha384', keyType: 'ec', curve: 'secp384r1' }],
  ['ES512', { hash: 'sha512', keyType: 'ec', curve: 'secp521r1' }],
  ['EdDSA', { hash: null, keyType: 'ed25519' }],
  ['Ed25519', { hash: null, keyType: 'ed25519' }],
]);

/** NIST SP 800-131A: shorter ones do not sign any more. */
const RSA_MIN_BITS = 2_048;

/** A header with `crit` asks for what we do not know, and is refused (RFC 7515 §4.1.11). */
const Head = z.looseObject({ alg: z.string(), kid: z.string().optional(), crit: z.undefined().optional() });
const Claims = z.looseObject({
  exp: z.number(),
  nbf: z.number().optional(),
  iss: z.string().optional(),
  sub: z.string().optional(),
  aud: z.union([z.string(), z.array(z.string())]),
  purpose: z.string(),
});

/** Returns when the token is good; throws with the reason, which is for the log and not for the caller. */
export async function verifyFireToken(
  token: string,
  { settings, keys, nowMs = Date.now }: { settings: FireTokenSettings; keys: SigningKeys; nowMs?: () => number },
): Promise<void> {
  if (token.length > limits.cron.fireTokenMaxChars) throw new Error('the token is too long');
  const [, head64, body64, signature64] = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token) ?? [];
  if (head64 === undefined) throw new Error('the token is no signed JWT');
  const { alg, kid } = Head.parse(jsonOf(head64));
  const algorithm = ALGORITHMS.get(alg);
  if (!algorithm) throw new Error(`the token is signed with ${alg.slice(0, 20)}; ${[...ALGORITHMS.keys()].join(', ')} are accepted`);
  // Before the signature: what is not meant for us is no reason to ask the issuer for its keys.
  checkClaims(Claims.parse(jsonOf(body64!)), settings, nowMs() / 1_000);
  const fitting = (await keys.named(kid)).filter((one) => (one.alg === undefined || one.alg === alg) && fits(one.key, algorithm));
  if (fitting.length !== 1)
    throw new Error(`${fitting.length} keys of the issuer fit the token (kid ${String(kid).slice(0, 100)}); one must`);
  const signed = Buffer.from(`${head64}.${body64}`);
  if (!verifySignature(algorithm.hash, signed, parameters(algorithm, fitting[0]!.key), Buffer.from(signature64!, 'base64url')))
    throw new Error('the signature of the token is wrong');
}

function checkClaims(claims: z.infer<typeof Claims>, settings: FireTokenSettings, nowSeconds: number): void {
  const skew = limits.cron.fireTokenSkewSeconds;
  if (claims.exp + skew <= nowSeconds) throw new Error('the token has expired');
  if (claims.nbf !== undefined && claims.nbf - skew > nowSeconds) throw new Error('the token is not valid yet');
  const audiences = [claims.aud].flat();
  if (!audiences.includes(settings.audience))
    throw new Error(`the token is for ${quoted(audiences.join(', '))}, not for ${settings.audience}`);
  if (claims.purpose !== settings.purpose)
    throw new Error(`the purpose of the token is ${quoted(claims.purpose)}, not ${settings.purpose}`);
  if (settings.issuer !== undefined && claims.iss !== settings.issuer)
    throw new Error(`the token is of ${quoted(claims.iss)}, not of ${settings.issuer}`);
  if (settings.subject !== undefined && claims.sub !== settings.subject)
    throw new Error(`the token is about ${quoted(claims.sub)}, not about ${settings.subject}`);
}

const quoted = (text: string | undefined): string => JSON.stringify((text ?? '').slice(0, 100));

function fits(key: KeyObject, { keyType, curve }: Algorithm): boolean {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type !== keyType) return false;
  if (type === 'rsa') return (details?.modulusLength ?? 0) >= RSA_MIN_BITS;
  return curve === undefined || details?.namedCurve === curve;
}

/** JWT writes the two numbers of an elliptic signature side by side (RFC 7518 §3.4), not as DER. */
function parameters({ keyType, pss }: Algorithm, key: KeyObject): VerifyKeyObjectInput {
  if (keyType === 'ec') return { key, dsaEncoding: 'ieee-p1363' };
  if (!pss) return { key };
  return { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST };
}

const jsonOf = (part: string): unknown => JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
