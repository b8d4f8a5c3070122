/** Keys of a token issuer, from a real server under a clock of the test. */
import t from 'tap';
import { createSigningKeys } from '../../services/dashboard/auth/signingKeys.ts';
import { jwkOf, keyPair, keyServer } from '../harness/keyServer.ts';

const MINUTE = 60_000;

t.test('a rotated key is found by its first token, and a made-up name asks the issuer at most every 30 s', async (t) => {
  await using issuer = await keyServer(jwkOf(keyPair('ES256', 'old')));
  let now = 0;
  const keys = createSigningKeys(issuer.address, () => now);
  t.equal((await keys.named('old')).length, 1);
  now += 31_000;
  issuer.keys = [jwkOf(keyPair('ES256', 'new'))];
  t.equal((await keys.named('new')).length, 1);
  t.equal((await keys.named('old')).length, 0, 'the withdrawn key is out');
  for (let guess = 0; guess < 20; guess++) t.equal((await keys.named(`guess ${guess}`)).length, 0);
  t.equal(issuer.asked, 2);
  now += 31_000;
  await Promise.all(Array.from({ length: 20 }, async (_, guess) => keys.named(`guess ${guess}`)));
  t.equal(issuer.asked, 3, 'many at once are one question');
});

t.test('a withdrawn key is out after ten minutes even when nobody names another', async (t) => {
  await using issuer = await keyServer(jwkOf(keyPair('ES256', 'old')));
  let now = 0;
  const keys = createSigningKeys(issuer.address, () => now);
  t.equal((await keys.named('old')).length, 1);
  issuer.keys = [];
  now += 9 * MINUTE;
  t.equal((await keys.named('old')).length, 1);
  now += 2 * MINUTE;
  t.equal((await keys.named('old')).length, 0);
});

t.test('while the issuer is away its keys are good for an hour, no longer', async (t) => {
  await using issuer = await keyServer(jwkOf(keyPair('ES256', 'old')));
  let now = 0;
  const keys = createSigningKeys(issuer.address, () => now);
  await keys.named('old');
  issuer.status = 500;
  now += 59 * MINUTE;
  t.equal((await keys.named('old')).length, 1);
  now += 2 * MINUTE;
  await t.rejects(keys.named('old'), { message: /cannot be had: it answers 500/ });
  issuer.status = 200;
  await t.rejects(keys.named('old'), { message: /cannot be had/ }, 'it is not asked again at once');
  now += 6_000;
  t.equal((await keys.named('old')).length, 1);
});

t.test('keys of another use, shared secrets and what is no key are passed over', async (t) => {
  const good = jwkOf(keyPair('RS256', 'same'));
  await using issuer = await keyServer(
    { kty: 'oct', k: 'c2VjcmV0', kid: 'same' },
    { ...jwkOf(keyPair('ES256', 'same')), use: 'enc' },
    { ...jwkOf(keyPair('ES256', 'same')), key_ops: ['sign'] },
    { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'same' },
    { kty: 'unheard of', kid: 'same' },
    good,
  );
  const found = await createSigningKeys(issuer.address).named('same');
  t.match(found, [{ kid: 'same', alg: 'RS256' }]);
  t.equal(found.length, 1);
});
