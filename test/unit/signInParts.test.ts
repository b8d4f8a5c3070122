/** Parts of the gate by themselves: hashes, seals, one-time words, tries, addresses behind proxies, places to go. */
import { scryptSync } from 'node:crypto';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { hashPassword, parsePasswordHash, verifyPassword } from '../../base/passwordHash.ts';
import { createClients } from '../../services/dashboard/auth/client.ts';
import { safeNext } from '../../services/dashboard/auth/loginPage.ts';
import { createOneTime } from '../../services/dashboard/auth/oneTime.ts';
import { createSeal } from '../../services/dashboard/auth/seal.ts';
import { createSessionWatch } from '../../services/dashboard/auth/sessionWatch.ts';
import { openSignInFile } from '../../services/dashboard/auth/signInFile.ts';
import { createTries } from '../../services/dashboard/auth/tries.ts';
import { until } from '../harness/until.ts';

t.test('a hash is made, read again and checked; hashes of others too, in base64 and in hexadecimal', async (t) => {
  const made = await hashPassword('pässword');
  t.match(made, /^scrypt\$16384\$8\$5\$[\w-]+\$[\w-]+$/);
  t.not(made, await hashPassword('pässword'), 'each has its own salt');
  t.ok(await verifyPassword('pässword', parsePasswordHash(made)!));
  t.ok(await verifyPassword('pa\u0308ssword', parsePasswordHash(made)!), 'the same letters written in another way');
  t.notOk(await verifyPassword('password', parsePasswordHash(made)!));
  const salt = Buffer.from('sixteen bytes ok');
  const key = scryptSync('secret', salt, 64, { N: 16_384, r: 8, p: 1 });
  for (const encoding of ['base64', 'base64url', 'hex'] as const) {
    const hash = parsePasswordHash(`scrypt$16384$8$1$${salt.toString(encoding)}$${key.toString(encoding)}`);
    t.ok(await verifyPassword('secret', hash!), encoding);
  }
});

t.test('what is no hash, or would cost a sign-in too much, is none', async (t) => {
  const salt = 'c2l4dGVlbiBieXRlcyBvaw';
  const key = Buffer.alloc(32, 7).toString('base64url');
  for (const text of [
    '',
    'hunter2',
    `bcrypt$16384$8$1$${salt}$${key}`,
    `scrypt$16383$8$1$${salt}$${key}`,
    `scrypt$0$8$1$${salt}$${key}`,
    `scrypt$1048576$8$16$${salt}$${key}`,
    `scrypt$16384$8$99$${salt}$${key}`,
    `scrypt$16384$8$1$YQ$${key}`,
    `scrypt$16384$8$1$${salt}$YQ`,
    `scrypt$16384$8$1$${salt}`,
  ])
    t.equal(parsePasswordHash(text), undefined, text);
});

t.test('what was signed or sealed with another key, or for another purpose, is nothing', async (t) => {
  const one = createSeal('a secret', 'session');
  const value = { user: 'ada' };
  t.same(one.verify(one.sign(value)), value);
  t.same(one.unseal(one.seal(value)), value);
  for (const other of [createSeal('a secret', 'flow'), createSeal('another', 'session')]) {
    t.equal(other.verify(one.sign(value)), undefined);
    t.equal(other.unseal(one.seal(value)), undefined);
  }
  const sealed = one.seal(value);
  for (const text of [
    undefined,
    '',
    'x',
    '.',
    sealed.slice(0, -2),
    `${sealed.slice(0, 20)}${sealed[20] === 'A' ? 'B' : 'A'}${sealed.slice(21)}`,
  ]) {
    t.equal(one.verify(text), undefined);
    t.equal(one.unseal(text), undefined);
  }
});

t.test('a ticket opens once, and the oldest go when there are too many', async (t) => {
  const tickets = createOneTime<number>({ seconds: 30 });
  const first = tickets.issue(1);
  t.equal(tickets.take(first), 1);
  t.equal(tickets.take(first), undefined);
  for (const wrong of [null, undefined, '', 'x', 'toString']) t.equal(tickets.take(wrong), undefined);
  const oldest = tickets.issue(2);
  for (let n = 0; n < limits.signIn.ticketsMax; n++) tickets.issue(3);
  t.equal(tickets.take(oldest), undefined);
  t.equal(createOneTime<number>({ seconds: 0 }).take(createOneTime<number>({ seconds: 0 }).issue(1)), undefined);
  const late = createOneTime<number>({ seconds: 0 });
  t.equal(late.take(late.issue(1)), undefined, 'too late');
});

t.test('ten tries in a minute, then a wait that is said; IPv6 counts by the network of a host', async (t) => {
  let nowMs = 0;
  const tries = createTries(() => nowMs);
  const refused = (address: string) => {
    try {
      tries.count(address);
      return undefined;
    } catch (thrown) {
      return (thrown as { retryAfterMs: number }).retryAfterMs;
    }
  };
  for (let n = 0; n < 10; n++) {
    t.equal(refused('192.0.2.1'), undefined);
    nowMs += 1_000;
  }
  t.equal(refused('192.0.2.1'), 50_000);
  t.equal(refused('::ffff:192.0.2.1'), 50_000, 'the same address in another dress');
  t.equal(refused('192.0.2.2'), undefined);
  nowMs += 50_000;
  t.equal(refused('192.0.2.1'), undefined, 'the first is forgotten after a minute');
  for (let n = 0; n < 10; n++) tries.count(`2001:db8:0:1::${n}`);
  t.ok(refused('2001:0db8:0000:0001:ffff::1'));
  t.equal(refused('2001:db8:0:2::1'), undefined);
  for (let n = 0; n < limits.signIn.triesPerNetwork - 11; n++) tries.count(`2001:db8:0:${n + 3}::1`);
  t.ok(refused('2001:db8:0:ffff::1'), 'a network of IPv6 has a bound of its own');
  t.equal(refused('2001:db8:1:1::1'), undefined);
  for (let n = 0; n < limits.signIn.addressesMax + 10; n++) tries.count(`host-${n}`);
  t.pass('and no number of addresses fills the memory');
});

t.test('the address of a client behind proxies: the rightmost that no trusted proxy has', async (t) => {
  const clients = createClients({ publicUrl: undefined, trustedProxies: ['10.0.0.0/8', 'fd00::/8', '::1'] });
  const from = (remoteAddress: string, forwarded?: string) =>
    clients.addressOf({ headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }, socket: { remoteAddress } } as never);
  const cases: [string, string | undefined, string][] = [
    ['203.0.113.7', undefined, '203.0.113.7'],
    ['203.0.113.7', '198.51.100.1', '203.0.113.7'],
    ['10.0.0.1', '198.51.100.1', '198.51.100.1'],
    ['::ffff:10.0.0.1', '6.6.6.6, 198.51.100.1, 10.2.3.4', '198.51.100.1'],
    ['127.0.0.1', '198.51.100.1', '127.0.0.1'],
    ['10.0.0.1', '198.51.100.1:5000', '198.51.100.1'],
    ['::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['fd00::5', 'unknown, 198.51.100.1', '198.51.100.1'],
    ['10.0.0.1', 'not an address', '10.0.0.1'],
    ['127.0.0.1', undefined, '127.0.0.1'],
  ];
  for (const [peer, forwarded, want] of cases) t.equal(from(peer, forwarded), want, `${peer} ← ${forwarded}`);
});

t.test('how the browser sees the dashboard: the public address, else what a trusted proxy says, else the request', async (t) => {
  const origin = (headers: Record<string, string>, remoteAddress = '10.0.0.1', publicUrl?: string) =>
    createClients({ publicUrl: publicUrl === undefined ? undefined : new URL(publicUrl), trustedProxies: ['10.0.0.0/8'] }).originOf({
      headers,
      socket: { remoteAddress },
    } as never);
  const forwarded = { host: '127.0.0.1:9119', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'agent.example.org' };
  t.equal(origin(forwarded), 'https://agent.example.org');
  t.equal(origin({ ...forwarded, 'x-forwarded-host': 'agent.example.org:8443' }), 'https://agent.example.org:8443');
  t.equal(origin(forwarded, '203.0.113.7'), 'http://127.0.0.1:9119', 'a stranger says what he likes');
  t.equal(origin(forwarded, '203.0.113.7', 'https://a.example.org'), 'https://a.example.org');
  t.equal(origin({ ...forwarded, 'x-forwarded-proto': 'javascript' }), 'http://127.0.0.1:9119', 'nonsense is ignored');
  t.equal(origin({ host: 'localhost:9119' }), 'http://localhost:9119');
});

t.test('a session that ends while one process relieves another is over for both, and only the older one is relieved', (t) => {
  const dir = t.testdir({});
  const path = `${dir}/signin.json`;
  const older = openSignInFile(path);
  t.notOk(older.isRelieved());
  const newer = openSignInFile(path);
  t.equal(newer.secret, older.secret);
  t.ok(older.isRelieved());
  older.end('ses-1', Date.now() + 60_000);
  newer.end('ses-2', Date.now() + 60_000);
  for (const file of [older, newer, openSignInFile(path)])
    t.same([file.hasEnded('ses-1'), file.hasEnded('ses-2'), file.hasEnded('x')], [true, true, false]);
  t.end();
});

t.test('a session signed out at the process that hands over ends its sockets at the next one too', async (t) => {
  const path = `${t.testdir({})}/signin.json`;
  const older = openSignInFile(path);
  const newer = openSignInFile(path);
  using watch = createSessionWatch(newer, 10);
  const ended: string[] = [];
  const person = { user_id: 'u', email: '', display_name: '', org_id: '', provider: 'basic' };
  for (const sid of ['ses-1', 'ses-2']) {
    const leave = watch.add({ ...person, sid, began: 0, until: Date.now() + 60_000 }, () => {
      ended.push(sid);
      leave();
    });
  }
  older.end('ses-1', Date.now() + 60_000);
  await until('it has ended', () => ended.length > 0);
  older.end('ses-3', Date.now() + 60_000);
  t.same(ended, ['ses-1'], 'the other one goes on');
});

t.test('who has written the file last is who took over, not who ended a session last', (t) => {
  const path = `${t.testdir({})}/signin.json`;
  const older = openSignInFile(path);
  const newer = openSignInFile(path);
  older.end('ses-1', Date.now() + 60_000);
  t.notOk(newer.isRelieved());
  t.ok(older.isRelieved());
  t.end();
});

t.test('a place to go after the sign-in is one of this page', async (t) => {
  for (const good of ['/', '/workers', '/chat/ses_1?profile=work#end']) t.equal(safeNext(good), good);
  for (const bad of [
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/a\nb',
    '/.//evil.example',
    '/x/..//evil.example',
    '/%2E%2e//evil.example',
    '/\t/x',
    '/login',
    '/auth/callback',
    '/api/logs',
    '',
    undefined,
    7,
    `/${'x'.repeat(3_000)}`,
  ])
    t.equal(safeNext(bad), '/', JSON.stringify(bad)?.slice(0, 40));
});
