/** The gate of signed-in browsers, on a real dashboard: what lets in, what keeps out, what ends. */
import { readFileSync, statSync } from 'node:fs';
import t from 'tap';
import { writeJsonAtomic } from '../../state/atomicFile.ts';
import type { WebSocket } from 'ws';
import { exitCodes } from '../../base/exitCodes.ts';
import { createBasic } from '../../services/dashboard/auth/basic.ts';
import { createSessions } from '../../services/dashboard/auth/session.ts';
import { parsePasswordHash } from '../../base/passwordHash.ts';
import { ensurePage } from '../harness/browser.ts';
import { closed } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { cheapHash, PASSWORD, startGated, ticketOf, USERNAME } from '../harness/signIn.ts';
import { until } from '../harness/until.ts';
import { slotRow, snapshot } from '../harness/snapshot.ts';
import { WebClient } from '../harness/webClient.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const open = (socket: WebSocket) => new Promise<void>((resolve, reject) => socket.once('open', resolve).once('error', reject));

t.test('a form without a script signs in and leads back to where one wanted to go', async (t) => {
  await using s = await startGated();
  const web = new WebClient();
  const away = await web.get(`${s.address}/workers?profile=default`);
  t.match(away, { status: 302, headers: { location: '/login?next=%2Fworkers%3Fprofile%3Ddefault' } });
  const page = await web.get(new URL(String(away.headers.location), s.address));
  t.equal(page.status, 200);
  t.notMatch(page.text, /<script/, 'the page needs none');
  t.match(String(page.headers['content-security-policy']), /default-src 'none'; style-src 'nonce-[^']+'; .*form-action 'self'/);
  const next = /name="next" value="([^"]*)"/.exec(page.text)![1]!;
  const wrong = await web.form(`${s.address}/auth/password-login`, { username: USERNAME, password: 'wrong', next });
  t.match(wrong, { status: 303, headers: { location: /^\/login\?next=.*problem=wrong$/ } });
  t.match(
    (await web.get(new URL(String(wrong.headers.location), s.address))).text,
    /role="alert"[^>]*>The user name or the password is wrong\./,
  );
  const right = await web.form(`${s.address}/auth/password-login`, { username: USERNAME, password: PASSWORD, next });
  t.match(right, { status: 303, headers: { location: '/workers?profile=default' } });
  t.match(right.headers['set-cookie']![0], /^agent_session_at=basic~[\w.~-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+$/);
  t.match((await web.get(`${s.address}/workers`)).text, '__AGENT_AUTH_REQUIRED__=true');
  t.equal((await web.api(`${s.address}/api/logs`)).status, 200);
});

t.test('behind https the cookie is bound to the host and goes over https alone; a proxy that is not trusted changes nothing', async (t) => {
  await using s = await startGated({ env: { AGENT_DASHBOARD_PUBLIC_URL: 'https://agent.example.org' } });
  const web = new WebClient();
  const headers = { Host: 'agent.example.org', Origin: 'https://agent.example.org' };
  const right = await web.form(`${s.address}/auth/password-login`, { username: USERNAME, password: PASSWORD }, { headers });
  t.match(right.headers['set-cookie']![0], /^__Host-agent_session_at=.*; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/);
  t.equal((await web.api(`${s.address}/api/auth/me`, { headers })).status, 200);
  for (const [name, host, status] of [
    ['the public name', 'agent.example.org', 200],
    ['a name below it', 'evil.agent.example.org', 403],
    ['a name that ends like it', 'evilagent.example.org', 403],
    ['another name', 'evil.example', 403],
  ] as const)
    t.equal((await web.ask(`${s.address}/api/status`, { headers: { Host: host } })).status, status, name);
  t.equal(
    (await web.ask(`${s.address}/api/status`, { headers: { Host: 'agent.example.org', Origin: 'https://evil.example' } })).status,
    403,
  );
});

t.test('a session survives a planned restart and a crash of the dashboard, and ends when the password changes', async (t) => {
  using home = testHome();
  const hash = cheapHash(PASSWORD);
  const env = { AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: hash };
  let web: WebClient;
  let port: number;
  {
    await using first = await startGated({ home, env });
    web = await first.signedIn();
    port = first.dashboard.port;
    t.equal(statSync(home.run.dashboardSignIn).mode & 0o777, 0o600);
    await first.dashboard.worker.kill('SIGKILL');
  }
  {
    await using second = await startGated({ home, port, env });
    t.equal((await web.api(`${second.address}/api/auth/me`)).status, 200, 'after a crash');
    await second.dashboard.worker.kill('SIGTERM');
  }
  await using third = await startGated({ home, port, env: { AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: cheapHash('another one') } });
  t.match((await web.api(`${third.address}/api/auth/me`)).json(), { status: 401, error: 'unauthenticated' });
});

t.test('signing out ends the session for every copy of its cookie, and the sockets it opened', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  const copy = new WebClient();
  copy.cookies.set(new URL(s.address).host, new Map(web.cookies.get(new URL(s.address).host)));
  const socket = s.dashboard.socket(`/api/logs/follow?ticket=${await ticketOf(web, s.address)}`, { token: false });
  await open(socket);
  const end = closed(socket);
  const out = await web.ask(`${s.address}/auth/logout`, { method: 'POST', headers: { Origin: s.address } });
  t.match(out, { status: 302, headers: { location: '/login?problem=over' } });
  t.equal((await end).code, 4401);
  for (const [name, client] of [
    ['the browser', web],
    ['a copy', copy],
  ] as const)
    t.match((await client.api(`${s.address}/api/auth/me`)).json(), { status: 401, login_url: '/login' }, name);
  {
    const again = await s.signedIn();
    t.equal((await again.api(`${s.address}/api/auth/me`)).status, 200, 'a new session is not concerned');
  }
});

t.test('a session that is over is told from none, and closes its sockets', async (t) => {
  const secret = 'one secret for the dashboard and this test';
  const hash = cheapHash(PASSWORD);
  await using s = await startGated({
    files: { 'config.yaml': 'dashboard: { basic_auth: { session_ttl_seconds: 60 } }\n' },
    env: { AGENT_DASHBOARD_BASIC_AUTH_SECRET: secret, AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: hash },
  });
  const provider = createBasic({ kind: 'basic', id: 'basic', username: USERNAME, hash: parsePasswordHash(hash)!, sessionSeconds: 60 });
  const sessions = createSessions([provider], secret, { hasEnded: () => false });
  const person = { user_id: USERNAME, email: '', display_name: '', org_id: '', provider: 'basic' };
  const withSession = (seconds: number) => {
    const web = new WebClient();
    web.cookies.set(new URL(s.address).host, new Map([['agent_session_at', sessions.sign(sessions.begin(person, seconds))]]));
    return web;
  };
  const nobody = { status: 401, code: 'UNAUTHENTICATED', error: 'unauthenticated', login_url: '/login' };
  t.match((await new WebClient().api(`${s.address}/api/logs`)).json(), nobody);
  t.match((await withSession(-1).api(`${s.address}/api/logs`)).json(), { ...nobody, error: 'session_expired' });
  t.match(await withSession(-1).get(`${s.address}/workers`), { status: 302, headers: { location: '/login?next=%2Fworkers' } });

  const ending = withSession(4);
  const socket = s.dashboard.socket(`/api/logs/follow?ticket=${await ticketOf(ending, s.address)}`, { token: false });
  t.match(await closed(socket), { code: 4401, reason: 'the session is over' });

  const { expires_at: end } = (await (await s.signedIn()).api(`${s.address}/api/auth/me`)).json<{ expires_at: string }>();
  const leftMs = Date.parse(end) - Date.now();
  t.ok(leftMs > 50_000 && leftMs <= 60_000, `${leftMs} ms are left of the minute`);
});

t.test('a cookie that was changed, cut, made with another key or for another provider is none', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  const cookie = web.cookie(s.address, 'agent_session_at')!;
  const [provider, rest] = cookie.split('~') as [string, string];
  const [body, signature] = rest.split('.') as [string, string];
  const forged = Buffer.from(
    JSON.stringify({ ...(JSON.parse(Buffer.from(body, 'base64url').toString()) as object), user_id: 'eve' }),
  ).toString('base64url');
  for (const [name, value] of [
    ['another user', `${provider}~${forged}.${signature}`],
    ['no signature', `${provider}~${body}.`],
    ['a cut one', cookie.slice(0, -4)],
    ['a part more', `${cookie}.x`],
    ['another provider', `portal~${rest}`],
    ['nothing', ''],
    ['a prototype', '__proto__~x.y'],
  ] as const) {
    const answer = await new WebClient().api(`${s.address}/api/auth/me`, { headers: { Cookie: `agent_session_at=${value}` } });
    t.equal(answer.status, 401, name);
  }
});

t.test('a request that another page made does nothing, though the cookie goes along', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  const pause = (headers: Record<string, string>) =>
    web.ask(`${s.address}/api/pause`, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: '{}' });
  const cases: { name: string; headers: Record<string, string>; want: number }[] = [
    { name: 'no proof at all', headers: {}, want: 403 },
    { name: 'from another site', headers: { 'Sec-Fetch-Site': 'cross-site', 'X-Agent-Requested-With': 'x' }, want: 403 },
    { name: 'from a neighbouring name', headers: { 'Sec-Fetch-Site': 'same-site', 'X-Agent-Requested-With': 'x' }, want: 403 },
    { name: 'with a foreign origin', headers: { Origin: 'https://evil.example', 'X-Agent-Requested-With': 'x' }, want: 403 },
    { name: 'with the opaque origin', headers: { Origin: 'null', 'X-Agent-Requested-With': 'x' }, want: 403 },
    { name: 'of the right origin without the header', headers: { Origin: s.address, 'Sec-Fetch-Site': 'same-origin' }, want: 403 },
    { name: 'of the page', headers: { Origin: s.address, 'Sec-Fetch-Site': 'same-origin', 'X-Agent-Requested-With': 'page' }, want: 200 },
  ];
  for (const { name, headers, want } of cases) t.equal((await pause(headers)).status, want, name);
  t.equal((await web.ask(`${s.address}/api/logs`, { headers: { 'Sec-Fetch-Site': 'cross-site' } })).status, 403, 'nor may it read');
  const logout = await web.ask(`${s.address}/auth/logout`, { method: 'POST', headers: { Origin: 'https://evil.example' } });
  t.equal(logout.status, 403, 'nor sign anybody out');
  const form = await web.ask(`${s.address}/api/pause`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'X-Agent-Requested-With': 'x' },
    body: 'a=b',
  });
  t.equal(form.status, 415, 'and no form reaches the API');
  const foreign = await new WebClient().form(
    `${s.address}/auth/password-login`,
    { username: USERNAME, password: PASSWORD },
    { headers: { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' } },
  );
  t.equal(foreign.status, 403, 'nor can another page sign somebody in as somebody else');
});

t.test('after a sign-in nobody is led to another site', async (t) => {
  await using s = await startGated();
  const web = new WebClient();
  for (const next of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    '/workers/..//evil.example/x',
    '/%2e//evil.example',
    '/\t/evil.example',
    'javascript:alert(1)',
    '/login',
    '/auth/logout',
    '/api/logs',
    '',
  ]) {
    const answer = await web.form(`${s.address}/auth/password-login`, { username: USERNAME, password: PASSWORD, next });
    t.equal(answer.headers.location, '/', JSON.stringify(next));
  }
  const page = await new WebClient().get(`${s.address}/login?next=${encodeURIComponent('/x"><script>alert(1)</script>')}&problem=<b>`);
  t.notMatch(page.text, /<script|<b>/, 'and what stands in the address is text');
});

t.test(
  'eleven tries in a minute: the eleventh waits, even with the right password; behind a trusted proxy each client counts for itself',
  async (t) => {
    await using s = await startGated({ files: { 'config.yaml': 'dashboard: { trusted_proxies: [127.0.0.1, 10.0.0.0/8] }\n' } });
    const web = new WebClient();
    const tryIt = (password: string, from: string) =>
      web.api(`${s.address}/auth/password-login`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from },
        body: JSON.stringify({ username: USERNAME, password }),
      });
    // The test comes from loopback, which is configured as a proxy; 10.0.0.1 is another one.
    const first = '203.0.113.7, 10.0.0.1';
    for (let n = 0; n < 10; n++) t.equal((await tryIt('wrong', first)).status, 401, `try ${n + 1}`);
    const eleventh = await tryIt(PASSWORD, first);
    t.match(eleventh, { status: 429, headers: { 'retry-after': /^\d+$/ } });
    t.match(eleventh.json(), { code: 'TOO_MANY_TRIES' });
    t.equal(
      (await tryIt(PASSWORD, '198.51.100.1, 203.0.113.7, 10.0.0.1')).status,
      429,
      'what the client itself wrote before is not believed',
    );
    t.equal((await tryIt(PASSWORD, '203.0.113.8, 10.0.0.1')).status, 200, 'a neighbour is not concerned');
  },
);

t.test('tries from this machine are counted together unless it is configured as a proxy', async (t) => {
  await using s = await startGated();
  const web = new WebClient();
  const statusOf = async (from: string) =>
    (
      await web.api(`${s.address}/auth/password-login`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-Forwarded-For': from },
        body: JSON.stringify({ username: USERNAME, password: 'wrong' }),
      })
    ).status;
  for (let n = 0; n < 10; n++) t.equal(await statusOf(`203.0.113.${n}`), 401);
  t.equal(await statusOf('203.0.113.99'), 429);
});

t.test('strangers learn of the slots of the service, not the names of profiles and sidecars', async (t) => {
  const home = testHome();
  t.teardown(() => home[Symbol.dispose]());
  const row = (slot: string, profile = 'default') => ({ ...slotRow, slot, profile });
  const status = {
    ...snapshot,
    workers: [row('agent'), row('gateway'), row('gateway@secret-merger', 'secret-merger'), row('secret-bridge')],
  };
  writeJsonAtomic(home.run.status, status);
  await using s = await startGated({ home });
  const slots = async (web: WebClient) =>
    (await web.api(`${s.address}/api/status`)).json<{ workers: { slot: string }[] }>().workers.map(({ slot }) => slot);
  t.same(await slots(new WebClient()), ['agent', 'gateway']);
  t.equal((await slots(await s.signedIn())).length, 4);
});

t.test('half-made sign-ins are no sign-in: the dashboard refuses to start and says what is missing', async (t) => {
  const cases: { name: string; env: Record<string, string>; want: RegExp }[] = [
    {
      name: 'a name without a password',
      env: { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: 'ada' },
      want: /the user name ada has no password.*agent dashboard passwd/,
    },
    {
      name: 'a hash that is none',
      env: { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: 'ada', AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: 'md5$abc' },
      want: /no sign-in is set up|not of the form scrypt/,
    },
    {
      name: 'an issuer without a client',
      env: { AGENT_DASHBOARD_OIDC_ISSUER: 'https://id.example.org' },
      want: /lacks AGENT_DASHBOARD_OIDC_CLIENT_ID/,
    },
    {
      name: 'an issuer in the clear',
      env: { AGENT_DASHBOARD_OIDC_ISSUER: 'http://id.example.org', AGENT_DASHBOARD_OIDC_CLIENT_ID: 'x' },
      want: /https:\/\//,
    },
    {
      name: 'a public name without a provider',
      env: { AGENT_DASHBOARD_HOST: '127.0.0.1', AGENT_DASHBOARD_PUBLIC_URL: 'https://agent.example.org' },
      want: /public_url is https:\/\/agent\.example\.org.*no sign-in/,
    },
  ];
  for (const { name, env, want } of cases) {
    using home = testHome();
    await using worker = await startWorker(home, 'dashboard', {
      ready: false,
      env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_PORT: '0', ...env },
    });
    t.equal(await until('it ended', () => worker.child.exitCode), exitCodes.config, name);
    t.match(worker.output(), want, name);
  }
});

t.test('neither password, hash, cookie, ticket nor token reaches a log', async (t) => {
  await using s = await startGated({ env: { AGENT_DASHBOARD_SESSION_TOKEN: 'pinned-by-the-operator' } });
  const web = await s.signedIn();
  const ticket = await ticketOf(web, s.address);
  await closed(s.dashboard.socket(`/api/ws?ticket=${ticket}x`, { token: false }));
  await web.form(`${s.address}/auth/password-login`, { username: USERNAME, password: 'a wrong secret' });
  const log = readFileSync(`${s.home.logs}/gui.log`, 'utf8') + s.dashboard.worker.output();
  t.match(log, 'a sign-in with a password was refused');
  for (const secret of [PASSWORD, 'a wrong secret', ticket, web.cookie(s.address, 'agent_session_at')!, 'pinned-by-the-operator'])
    t.notMatch(log, secret);
});

t.test('with a gate the session token opens nothing but the metrics, and strangers learn little', async (t) => {
  await using s = await startGated({ env: { AGENT_DASHBOARD_SESSION_TOKEN: 'pinned' } });
  const stranger = new WebClient();
  const token = { 'X-Agent-Session-Token': 'pinned' };
  t.equal((await stranger.ask(`${s.address}/api/logs`, { headers: token })).status, 401);
  t.equal((await closed(s.dashboard.socket('/api/ws', { token: 'pinned' }))).code, 4401);
  t.equal((await stranger.ask(`${s.address}/metrics`, { headers: { Authorization: 'Bearer pinned' } })).status, 200);
  const status = await stranger.ask(`${s.address}/api/status`);
  t.match(status.json(), { auth_required: true, auth_providers: ['basic'], auth_flows: ['cookie'] });
  t.notMatch(status.text, s.home.root);
  t.match((await (await s.signedIn()).api(`${s.address}/api/status`)).text, s.home.root);
});
