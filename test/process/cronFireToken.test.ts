/** `POST /api/cron/fire` with a JWT (contract §10), through the real cron and dashboard and a JWKS server. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { createJob, listRuns } from '../../ipc/contracts/cron.ts';
import { engagePause, liftPause } from '../../state/pause.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { hmacTokenOf, jwkOf, keyPair, keyServer, tokenOf } from '../harness/keyServer.ts';
import { fireHeaders } from '../harness/fireSignature.ts';
import { startWorker } from '../harness/worker.ts';

const seconds = () => Math.floor(Date.now() / 1_000);
const claims = (change: object = {}) => ({
  iss: 'https://scheduler.example',
  sub: 'scheduler',
  aud: 'https://agent.example',
  purpose: 'cron_fire',
  exp: seconds() + 60,
  ...change,
});
const configOf = (address: string) => `cron:
  fire_jwt: { jwks_url: "${address}", audience: "https://agent.example", purpose: cron_fire, issuer: "https://scheduler.example", subject: scheduler }
`;

const fire = (dashboard: TestDashboard, body: unknown, headers: Record<string, string>) =>
  dashboard.ask('/api/cron/fire', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    token: false,
  });
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });

t.test('a scheduler that signs with a key of its own fires a job; every other token is refused before anything else', async (t) => {
  const keys = { ec: keyPair('ES256', 'ec'), rsa: keyPair('RS256', 'rsa'), pss: keyPair('PS256', 'pss'), ed: keyPair('EdDSA', 'ed') };
  const weak = keyPair('RS256', 'weak', 1_024);
  await using issuer = await keyServer(...[...Object.values(keys), weak, keyPair('ES256', 'ec of next year')].map(jwkOf));
  using home = testHome({ 'config.yaml': configOf(issuer.address), 'scripts/ok.sh': '#!/bin/sh\necho done\n' });
  await using cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  using link = await cron.dial();
  const { job } = await link.call(createJob, { schedule: '0 3 1 1 *', script: 'ok.sh' });
  const occurrence = (day: number) => ({ job_id: job.id, scheduled_at: `2026-01-0${day}T03:00:00Z` });
  const none = (given: object) =>
    `${[{ alg: 'none' }, given].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`;
  const tampered = tokenOf(keys.ec, claims()).split('.');
  tampered[1] = Buffer.from(JSON.stringify(claims({ exp: seconds() + 9_999 }))).toString('base64url');

  const wrong = [
    { name: 'no token', headers: {} },
    { name: 'no JWT', headers: bearer('abc') },
    { name: 'another scheme', headers: { Authorization: `Basic ${tokenOf(keys.ec, claims())}` } },
    { name: 'expired', headers: bearer(tokenOf(keys.ec, claims({ exp: seconds() - 31 }))) },
    { name: 'without an end', headers: bearer(tokenOf(keys.ec, claims({ exp: undefined }))) },
    { name: 'not valid yet', headers: bearer(tokenOf(keys.ec, claims({ nbf: seconds() + 90 }))) },
    { name: 'another audience', headers: bearer(tokenOf(keys.ec, claims({ aud: 'https://agent.example/' }))) },
    { name: 'no audience', headers: bearer(tokenOf(keys.ec, claims({ aud: undefined }))) },
    { name: 'another purpose', headers: bearer(tokenOf(keys.ec, claims({ purpose: 'cron_fire_all' }))) },
    { name: 'no purpose', headers: bearer(tokenOf(keys.ec, claims({ purpose: undefined }))) },
    { name: 'a purpose in a list', headers: bearer(tokenOf(keys.ec, claims({ purpose: ['cron_fire'] }))) },
    { name: 'another issuer', headers: bearer(tokenOf(keys.ec, claims({ iss: 'https://other.example' }))) },
    { name: 'another subject', headers: bearer(tokenOf(keys.ec, claims({ sub: undefined }))) },
    { name: 'alg none', headers: bearer(none(claims())) },
    { name: 'alg none with a signature', headers: bearer(tokenOf(keys.ec, claims(), { alg: 'none' })) },
    { name: 'HS256 with the public key as its secret', headers: bearer(hmacTokenOf(keys.rsa, claims())) },
    { name: 'an algorithm of another key type', headers: bearer(tokenOf(keys.ec, claims(), { alg: 'RS256' })) },
    { name: 'another algorithm than the key names', headers: bearer(tokenOf(keys.rsa, claims(), { alg: 'PS256' })) },
    { name: 'a short RSA key', headers: bearer(tokenOf(weak, claims())) },
    { name: 'a stranger under a known name', headers: bearer(tokenOf(keyPair('ES256', 'ec'), claims())) },
    { name: 'an unknown kid', headers: bearer(tokenOf(keyPair('ES256', 'nobody'), claims())) },
    { name: 'no kid while two keys fit', headers: bearer(tokenOf(keys.ec, claims(), { kid: undefined })) },
    { name: 'a header that must be understood', headers: bearer(tokenOf(keys.ec, claims(), { crit: ['b64'], b64: false })) },
    { name: 'other claims under the signature', headers: bearer(tampered.join('.')) },
    { name: 'very long', headers: bearer(tokenOf(keys.ec, claims({ more: 'x'.repeat(8_000) }))) },
  ];
  for (const { name, headers } of wrong) t.equal((await fire(dashboard, '{"job_id":', headers)).status, 401, name);
  t.ok(issuer.asked <= 2, `a stranger does not make us ask the issuer at each token (${issuer.asked})`);
  t.same((await link.call(listRuns, { job_id: job.id })).runs, [], 'nothing was claimed');

  for (const [index, [name, pair]] of Object.entries(keys).entries()) {
    const { status, json } = await fire(dashboard, occurrence(index + 1), bearer(tokenOf(pair, claims())));
    t.match({ status, ...json() }, { status: 202, claimed: true }, name);
  }
  t.equal((await fire(dashboard, occurrence(1), bearer(tokenOf(keys.ed, claims({ aud: ['x', 'https://agent.example'] }))))).status, 200);
  t.equal(
    (await fire(dashboard, occurrence(5), bearer(tokenOf(keys.ec, claims({ exp: seconds() - 10 }))))).status,
    202,
    'clocks may differ',
  );
  t.equal((await fire(dashboard, { job_id: 'nobody' }, bearer(tokenOf(keys.ec, claims())))).status, 404);
  engagePause(home.estop, {});
  const held = await fire(dashboard, occurrence(6), bearer(tokenOf(keys.ec, claims())));
  t.match({ status: held.status, retry: held.headers['retry-after'] }, { status: 503, retry: '60' });
  liftPause([home.estop]);
  t.ok(issuer.asked <= 2, 'the keys are kept');
});

t.test('an issuer that cannot be reached is a refusal that the log explains; the shared secret goes on to work beside it', async (t) => {
  const address = `http://127.0.0.1:${await freePort()}/jwks.json`;
  using home = testHome({ 'config.yaml': configOf(address), '.env': 'AGENT_CRON_FIRE_SECRET=fire-secret-of-the-test\n' });
  await using _cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  const token = tokenOf(keyPair(), claims());
  const refused = await fire(dashboard, { job_id: 'nobody' }, bearer(token));
  t.equal(refused.status, 401);
  t.notMatch(refused.text, address, 'a stranger is not told about the issuer');
  const log = readFileSync(`${home.root}/logs/gui.log`, 'utf8');
  t.match(log, new RegExp(`the keys at ${address.replaceAll('.', String.raw`\.`)} cannot be had: .*ECONNREFUSED`), 'the operator is');
  t.notMatch(log, token.split('.')[2]!, 'the token is in no log');

  const body = '{"job_id":"nobody"}';
  const signed = fireHeaders(body, { secret: 'fire-secret-of-the-test' });
  t.equal((await fire(dashboard, body, signed)).status, 404, 'the secret alone');
  t.equal((await fire(dashboard, body, { ...signed, ...bearer('abc') })).status, 404, 'the secret beside a token that is none');
});

t.test('fire_jwt counts at once, and is nothing without an audience and a purpose', async (t) => {
  const pair = keyPair();
  await using issuer = await keyServer(jwkOf(pair));
  using home = testHome();
  await using _cron = await startWorker(home, 'cron');
  await using dashboard = await startDashboard(home);
  const status = async () => (await fire(dashboard, { job_id: 'nobody' }, bearer(tokenOf(pair, claims())))).status;
  t.equal(await status(), 401, 'nothing is configured');
  home.write('config.yaml', `cron:\n  fire_jwt: { jwks_url: "${issuer.address}" }\n`);
  t.equal(await status(), 401, 'half of it');
  home.write('config.yaml', `${configOf(issuer.address)}\n# whole\n`);
  t.equal(await status(), 404);
});
