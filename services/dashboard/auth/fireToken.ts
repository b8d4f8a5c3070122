/**
 * The proof of an outside scheduler that has no secret of ours: a short-lived JWT in `Authorization: Bearer`, signed
 * by an issuer whose public keys stand behind `cron.fire_jwt.jwks_url`, for this audience and this purpose alone.
 * Shared secrets and unsigned tokens are refused whatever the key set says. `jose` is loaded with the first token.
 */
import type { createRemoteJWKSet } from 'jose';
import { messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import type { Config } from '../../../state/config/schema.ts';
import { boundedFetch } from './oidc.ts';

export type FireTokenSettings = NonNullable<NonNullable<Config['cron']>['fire_jwt']>;

/** Returns when the token is good; throws with the reason, which is for the log and not for the caller. */
export type FireTokenCheck = (token: string, settings: FireTokenSettings) => Promise<void>;

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'];

/** Keys are kept between tokens; `pauseMs`: how often a key that is not among them asks the issuer. */
export function createFireTokenCheck({ pauseMs = limits.cron.fireKeysPauseMs }: { pauseMs?: number } = {}): FireTokenCheck {
  let known: { address: string; keys: ReturnType<typeof createRemoteJWKSet> } | undefined;
  return async (token, { jwks_url: address, audience, purpose, issuer, subject }) => {
    if (token.length > limits.cron.fireTokenMaxChars) throw new Error('the token is too long');
    const jose = await import('jose');
    if (known?.address !== address) {
      const keys = jose.createRemoteJWKSet(new URL(address), {
        timeoutDuration: limits.signIn.providerMs,
        cacheMaxAge: limits.cron.fireKeysFreshMs,
        cooldownDuration: pauseMs,
        [jose.customFetch]: askIssuer(),
      });
      known = { address, keys };
    }
    const { payload } = await jose.jwtVerify(token, known.keys, {
      algorithms: ALGORITHMS,
      audience,
      requiredClaims: ['exp', 'purpose'],
      clockTolerance: limits.cron.fireTokenSkewSeconds,
      ...(issuer === undefined ? {} : { issuer }),
      ...(subject === undefined ? {} : { subject }),
    });
    if (payload.purpose !== purpose)
      throw new Error(`the purpose of the token is ${JSON.stringify(payload.purpose).slice(0, 100)}, not ${purpose}`);
  };
}

/** An issuer that is away is not asked again for a moment, whoever sends tokens. */
function askIssuer(): (address: string, options: RequestInit) => Promise<Response> {
  let failed: { error: Error; untilMs: number } | undefined;
  return async (address, options) => {
    if (failed && performance.now() < failed.untilMs) throw failed.error;
    try {
      const answer = await boundedFetch(address, { ...options, redirect: 'error' });
      if (!answer.ok) throw new Error(`it answers ${answer.status}`);
      failed = undefined;
      return answer;
    } catch (cause) {
      const why = cause instanceof Error && cause.cause !== undefined ? ` (${messageOf(cause.cause)})` : '';
      const error = new Error(`the keys at ${address} cannot be had: ${messageOf(cause)}${why}`, { cause });
      failed = { error, untilMs: performance.now() + limits.cron.fireKeysRetryMs };
      throw error;
    }
  };
}
