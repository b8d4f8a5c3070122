/**
 * The public keys of a token issuer, from its JWKS address: fetched when the first token comes, kept, and asked
 * for again when they are old or a token names a key that is not among them, at a limited rate. An issuer that is
 * away for a while does not take the keys away that it has shown.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { boundedFetch } from './oidc.ts';

export interface SigningKey {
  kid: string | undefined;
  /** What the issuer says it signs with; undefined = it does not say. */
  alg: string | undefined;
  key: KeyObject;
}

export interface SigningKeys {
  /** Those that go by this id; for a token that names none, all. Errors: when no keys can be had. */
  named(kid: string | undefined): Promise<SigningKey[]>;
}

/** `nowMs`: a clock that only goes forward. */
export function createSigningKeys(address: string, nowMs: () => number = () => performance.now()): SigningKeys {
  let known: { keys: SigningKey[]; atMs: number } | undefined;
  let asking: Promise<void> | undefined;
  /** When the issuer may be asked again. */
  let nextMs = 0;
  let failure = '';

  const ask = async (): Promise<void> => {
    try {
      known = { keys: await fetchKeys(address), atMs: nowMs() };
      nextMs = nowMs() + limits.cron.fireKeysPauseMs;
    } catch (thrown) {
      const { cause } = thrown as { cause?: unknown };
      failure = `${messageOf(thrown)}${cause === undefined ? '' : ` (${messageOf(cause)})`}`;
      nextMs = nowMs() + limits.cron.fireKeysRetryMs;
    }
  };
  /** Many tokens at once are one question. */
  const refresh = async (): Promise<void> => {
    if (!asking && nowMs() < nextMs) return;
    await (asking ??= ask().finally(() => (asking = undefined)));
  };
  const find = (kid: string | undefined): SigningKey[] => {
    if (known && nowMs() - known.atMs > limits.cron.fireKeysMaxMs) known = undefined;
    return known?.keys.filter((one) => kid === undefined || one.kid === kid) ?? [];
  };

  return {
    async named(kid) {
      const found = find(kid);
      if (found.length > 0 && known && nowMs() - known.atMs < limits.cron.fireKeysFreshMs) return found;
      await refresh();
      const again = find(kid);
      if (!known) throw new Error(`the keys at ${address} cannot be had: ${failure}`);
      return again;
    },
  };
}

const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(limits.cron.fireKeysCountMax) });
const Usable = z.looseObject({
  kid: z.string().optional(),
  alg: z.string().optional(),
  use: z.literal('sig').optional(),
  key_ops: z
    .array(z.string())
    .refine((operations) => operations.includes('verify'))
    .optional(),
});

async function fetchKeys(address: string): Promise<SigningKey[]> {
  const answer = await boundedFetch(address, { headers: { Accept: 'application/json' }, redirect: 'error' });
  if (!answer.ok) throw new Error(`it answers ${answer.status}`);
  const { keys } = KeySet.parse(await answer.json());
  return keys.map(signingKeyOf).filter((key) => key !== undefined);
}

/** Undefined for a key of another use, a shared secret, and what node:crypto cannot read. */
function signingKeyOf(jwk: z.infer<typeof KeySet>['keys'][number]): SigningKey | undefined {
  const usable = Usable.safeParse(jwk);
  if (!usable.success || jwk.kty === 'oct') return undefined;
  try {
    return { kid: usable.data.kid, alg: usable.data.alg, key: createPublicKey({ key: jwk, format: 'jwk' }) };
  } catch {
    return undefined;
  }
}
