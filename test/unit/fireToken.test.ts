/** The keys of a token issuer: when it is asked for them, from a real server. */
import t from 'tap';
import { createFireTokenCheck, type FireTokenSettings } from '../../services/dashboard/auth/fireToken.ts';
import { jwkOf, keyPair, keyServer, tokenOf, type KeyPair } from '../harness/keyServer.ts';

const settings = (address: string): FireTokenSettings => ({ jwks_url: address, audience: 'https://agent.example', purpose: 'cron_fire' });
const token = (pair: KeyPair) =>
  tokenOf(pair, { aud: 'https://agent.example', purpose: 'cron_fire', exp: Math.floor(Date.now() / 1_000) + 60 });

t.test('a rotated key is found by its first token, and the withdrawn one is out', async (t) => {
  const [old, next] = [keyPair('ES256', 'old'), keyPair('ES256', 'new')];
  await using issuer = await keyServer(jwkOf(old));
  const check = createFireTokenCheck({ pauseMs: 0 });
  await check(token(old), settings(issuer.address));
  issuer.keys = [jwkOf(next)];
  await check(token(next), settings(issuer.address));
  await t.rejects(check(token(old), settings(issuer.address)), /no applicable key/);
});

t.test('made-up names of keys do not make us ask the issuer, nor does an issuer that is away', async (t) => {
  const pair = keyPair();
  await using issuer = await keyServer(jwkOf(pair));
  const check = createFireTokenCheck();
  await check(token(pair), settings(issuer.address));
  for (let guess = 0; guess < 20; guess++)
    await t.rejects(check(token({ ...pair, kid: `guess ${guess}` }), settings(issuer.address)), /no applicable key/);
  t.equal(issuer.asked, 1);

  await using away = await keyServer();
  away.status = 500;
  for (let n = 0; n < 20; n++) await t.rejects(check(token(pair), settings(away.address)), /cannot be had: it answers 500/);
  t.equal(away.asked, 1);
});

t.test('another address has keys of its own', async (t) => {
  const [mine, other] = [keyPair('ES256', 'same'), keyPair('ES256', 'same')];
  await using issuer = await keyServer(jwkOf(mine));
  await using second = await keyServer(jwkOf(other));
  const check = createFireTokenCheck();
  await check(token(mine), settings(issuer.address));
  await check(token(other), settings(second.address));
  await t.rejects(check(token(mine), settings(second.address)), /signature verification failed/);
});

t.test('shared secrets, keys of another use and what is no key are passed over', async () => {
  const good = keyPair('RS256', 'same');
  await using issuer = await keyServer(
    { kty: 'oct', k: 'c2VjcmV0', kid: 'same' },
    { ...jwkOf(keyPair('RS256', 'same')), use: 'enc' },
    { ...jwkOf(keyPair('RS256', 'same')), key_ops: ['sign'] },
    { kty: 'unheard of', kid: 'same' },
    jwkOf(good),
  );
  await createFireTokenCheck()(token(good), settings(issuer.address));
});
