/** Interface spec, "Authentication", where people sign in; and the close codes of WebSockets. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { exitCodes } from '../../base/exitCodes.ts';
import { CLIENT_ID, publicClient, startIdentityProvider } from '../harness/identityProvider.ts';
import { ensurePage } from '../harness/browser.ts';
import { cli, cliEnv, errorOf } from '../harness/cli.ts';
import { closed, startDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { cheapHash, PASSWORD, startGated, ticketOf, USERNAME } from '../harness/signIn.ts';
import { until } from '../harness/until.ts';
import { openTerminal } from '../harness/tmux.ts';
import { WebClient } from '../harness/webClient.ts';
import { projectRoot, startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const wide = { AGENT_DASHBOARD_HOST: '0.0.0.0' };
const basic = { AGENT_DASHBOARD_BASIC_AUTH_USERNAME: USERNAME, AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: cheapHash(PASSWORD) };

t.test('auth.2 a non-loopback bind without --insecure engages the gate of the provider; without one it does not open at all', async (t) => {
  using home = testHome();
  {
    await using worker = await startWorker(home, 'dashboard', { ready: false, env: { ...wide, AGENT_DASHBOARD_PORT: '0' } });
    t.equal(await until('it ended', () => worker.child.exitCode), exitCodes.config);
    t.match(worker.output(), /no sign-in is set up.*agent dashboard passwd.*--insecure/s);
  }
  const requiredOf = async (env: Record<string, string>) => {
    await using dashboard = await startDashboard(home, { env });
    const { auth_required, auth_providers } = (await dashboard.ask('/api/status', { token: false })).json();
    return { auth_required, auth_providers };
  };
  t.same(await requiredOf({ ...wide, ...basic }), { auth_required: true, auth_providers: ['basic'] });
  t.same(await requiredOf({ ...wide, ...basic, AGENT_DASHBOARD_INSECURE: '1' }), { auth_required: false, auth_providers: [] });
  t.same(await requiredOf(basic), { auth_required: false, auth_providers: [] }, 'loopback keeps the token');
  t.same(
    await requiredOf({ ...basic, AGENT_DASHBOARD_PUBLIC_URL: 'https://agent.example.org' }),
    { auth_required: true, auth_providers: ['basic'] },
    'a public name makes a loopback bind as good as wide',
  );
});

t.test('auth.3 the password provider: configured by its prefix, rate-limited, one 401 for every failure', async (t) => {
  await using s = await startGated();
  const attempt = (username: string, password: string) =>
    new WebClient().api(`${s.address}/auth/password-login`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ username, password }),
    });
  const right = await attempt(USERNAME, PASSWORD);
  t.match(right, { status: 200 });
  const [wrongPassword, wrongName] = [await attempt(USERNAME, 'x'), await attempt('eve', PASSWORD)];
  t.equal(wrongPassword.status, 401);
  t.equal(wrongPassword.text, wrongName.text, 'name and password fail alike');
  for (let n = 0; n < 8; n++) t.equal((await attempt(USERNAME, 'x')).status, 401);
  t.match(await attempt(USERNAME, PASSWORD), { status: 429, headers: { 'retry-after': /^\d+$/ } });

  const plain = {
    AGENT_DASHBOARD_BASIC_AUTH_USERNAME: 'grace',
    AGENT_DASHBOARD_BASIC_AUTH_PASSWORD: 'plain text',
    AGENT_DASHBOARD_BASIC_AUTH_TTL_SECONDS: '90',
  };
  await using other = await startGated({
    password: false,
    env: plain,
    files: { 'config.yaml': 'dashboard: { basic_auth: { username: old, password_hash: "scrypt$2$8$1$x$y" } }\n' },
  });
  const web = new WebClient();
  const answer = await web.api(`${other.address}/auth/password-login`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ username: 'grace', password: 'plain text' }),
  });
  t.match(answer, { status: 200 }, 'a plain password of the environment beats a hash of config.yaml');
  const leftMs = Date.parse(answer.json<{ expires_at: string }>().expires_at) - Date.now();
  t.ok(leftMs > 60_000 && leftMs <= 90_000, 'and the session lasts as long as it was told');
});

t.test('auth.4 the portal verifies the login of a client that `agent dashboard register` provisioned', async (t) => {
  const port = await freePort();
  await using portal = await startIdentityProvider({ claims: {}, configuration: { features: { registration: { enabled: true } } } });
  using home = testHome({
    'config.yaml': `portal: { base_url: "${portal.issuer}" }\ndashboard: { public_url: "http://127.0.0.1:${port}" }\n`,
  });
  t.match(await cli(['dashboard', 'register', '--json'], { home }), { code: 0 });
  const id = /AGENT_DASHBOARD_OAUTH_CLIENT_ID='?([\w-]+)/.exec(readFileSync(home.env, 'utf8'))![1]!;
  await using dashboard = await startDashboard(home, { env: { ...wide, AGENT_DASHBOARD_PORT: String(port) } });
  void dashboard;
  const web = new WebClient();
  const done = await web.get(`http://127.0.0.1:${port}/auth/login?provider=portal`, { follow: true });
  t.equal(done.address, `http://127.0.0.1:${port}/`);
  t.match((await web.api(`http://127.0.0.1:${port}/api/auth/me`)).json(), {
    user_id: 'ada',
    email: '',
    display_name: '',
    provider: 'portal',
  });
  t.ok(id.length > 5);
});

t.test('auth.5 a self-hosted OpenID Connect provider, configured by its prefix', async (t) => {
  const port = await freePort();
  await using provider = await startIdentityProvider({ clients: [publicClient([`http://127.0.0.1:${port}/auth/callback`])] });
  await using s = await startGated({
    port,
    password: false,
    env: {
      AGENT_DASHBOARD_OIDC_ISSUER: `${provider.issuer}/`,
      AGENT_DASHBOARD_OIDC_CLIENT_ID: CLIENT_ID,
      AGENT_DASHBOARD_OIDC_SCOPES: 'openid email',
    },
  });
  const web = new WebClient();
  const begin = await web.get(`${s.address}/auth/login`);
  t.match(new URL(String(begin.headers.location)).searchParams.get('scope'), /^openid email$/);
  t.equal((await web.get(String(begin.headers.location), { follow: true })).address, `${s.address}/`);
  t.match((await web.api(`${s.address}/api/auth/me`)).json(), { user_id: 'ada', email: 'ada@example.org', provider: 'self-hosted' });
});

t.test('auth.6 with the gate, /api/status is public and every other endpoint below /api/ requires the session', async (t) => {
  await using s = await startGated();
  const stranger = new WebClient();
  t.equal((await stranger.ask(`${s.address}/api/status`)).status, 200);
  for (const path of [
    '/api/workers',
    '/api/logs',
    '/api/sessions',
    '/api/auth/me',
    '/api/auth/providers',
    '/api/openapi.json',
    '/api/nothing',
  ])
    t.match((await stranger.api(`${s.address}${path}`)).json(), { status: 401, error: 'unauthenticated', login_url: '/login' }, path);
  t.equal((await stranger.api(`${s.address}/api/auth/ws-ticket`, { method: 'POST' })).status, 401);
  const web = await s.signedIn();
  for (const path of ['/api/logs', '/api/auth/me', '/api/auth/providers', '/api/openapi.json'])
    t.equal((await web.api(`${s.address}${path}`)).status, 200, path);
});

t.test('auth.6 a ticket opens one WebSocket once; without a gate the token does, and nobody is signed in', async (t) => {
  await using s = await startGated();
  const ticket = await ticketOf(await s.signedIn(), s.address);
  const socket = s.dashboard.socket(`/api/logs/follow?ticket=${ticket}`, { token: false });
  await new Promise((resolve) => socket.once('open', resolve));
  for (const [name, word] of [
    ['used before', ticket],
    ['made up', 'x'.repeat(43)],
    ['none', ''],
  ] as const)
    t.equal((await closed(s.dashboard.socket(`/api/logs/follow?ticket=${word}`, { token: false }))).code, 4401, name);
  t.equal(socket.readyState, socket.OPEN, 'the first is not disturbed');
  socket.terminate();

  using home = testHome();
  await using plain = await startDashboard(home);
  t.match((await plain.ask('/api/auth/me')).json(), { status: 401, error: 'not_gated' });
  const given = (await plain.ask('/api/auth/ws-ticket', { method: 'POST' })).json<{ ticket: string; ttl_seconds: number }>();
  t.equal(given.ttl_seconds, 30);
  const open = plain.socket(`/api/logs/follow?ticket=${given.ticket}`, { token: false });
  await new Promise((resolve) => open.once('open', resolve));
  open.terminate();
});

t.test('auth.7 with the gate the opaque origin null needs a ticket like any other, and foreign origins stay out', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  const socket = s.dashboard.socket(`/api/logs/follow?ticket=${await ticketOf(web, s.address)}`, { token: false, origin: 'null' });
  await new Promise((resolve) => socket.once('open', resolve));
  socket.terminate();
  t.equal((await closed(s.dashboard.socket('/api/logs/follow', { token: false, origin: 'null' }))).code, 4401);
});

t.test('err.5 a closed gate of a WebSocket answers 4403: a forged Host or Origin, whatever proof comes along', async (t) => {
  await using s = await startGated();
  const web = await s.signedIn();
  for (const [name, options] of [
    ['another site', { origin: 'https://evil.example' }],
    ['another port', { origin: 'http://127.0.0.1:3000' }],
    ['a rebound name', { headers: { Host: 'evil.example' } }],
  ] as const)
    t.equal(
      (await closed(s.dashboard.socket(`/api/ws?ticket=${await ticketOf(web, s.address)}`, { token: false, ...options }))).code,
      4403,
      name,
    );
  using home = testHome();
  await using plain = await startDashboard(home);
  t.equal((await closed(plain.socket('/api/ws', { origin: 'https://evil.example' }))).code, 4403);
});

t.test('auth.13 secrets appear in neither config.yaml nor the page, and are read by masked input', async (t) => {
  using home = testHome();
  t.equal((await cli(['config', 'set', 'dashboard.basic_auth.password', 'hunter2hunter2', '--json'], { home })).code, exitCodes.usage);
  t.equal((await cli(['config', 'set', 'dashboard.basic_auth.secret', 'hunter2hunter2', '--json'], { home })).code, exitCodes.usage);
  const set = await cli(['dashboard', 'passwd', '--username', 'ada', '--json'], { home, stdin: 'hunter2hunter2\n' });
  t.match(set, { code: 0, stderr: '' });
  t.notMatch(set.stdout + readFileSync(home.env, 'utf8'), 'hunter2');
  t.match(readFileSync(home.env, 'utf8'), /PASSWORD_HASH='scrypt\$16384\$8\$5\$/);
  await using terminal = await openTerminal(
    `${process.execPath} ${join(projectRoot, 'bin/main.ts')} dashboard passwd --username ada; cat`,
    {
      env: cliEnv({ home }),
    },
  );
  await terminal.shows('New password for ada:');
  await terminal.type('another secret');
  await terminal.press('Enter');
  await terminal.shows('The same again:');
  await terminal.type('another secret');
  await terminal.press('Enter');
  t.notMatch(await terminal.shows('ada signs in with the new password.'), 'another secret', 'what is typed is not shown');
  for (const word of ['--password', 'hunter2hunter2'])
    t.equal((await cli(['dashboard', 'passwd', word], { home })).code, exitCodes.usage, `no ${word} on the command line`);
});

t.test('auth.2 a change of config.yaml that would lock the user out is refused by every command, and nothing is written', async (t) => {
  const text = '# mine\ndashboard: { port: 9200 }\n';
  using home = testHome({ 'config.yaml': text });
  for (const [key, value] of [
    ['dashboard.host', '0.0.0.0'],
    ['dashboard.public_url', 'https://agent.example.org'],
    ['dashboard.port', '6000'],
    ['dashboard.basic_auth.password_hash', 'md5'],
    ['dashboard.trusted_proxies', '["*"]'],
  ] as const) {
    const refused = await cli(['config', 'set', key, value, '--json'], { home });
    t.match({ code: refused.code, error: errorOf(refused).code }, { code: exitCodes.config, error: 'CONFIG_LOCKOUT' }, `${key} ${value}`);
  }
  t.equal(readFileSync(home.config, 'utf8'), text);
  t.equal((await cli(['dashboard', 'passwd', '--username', 'ada'], { home, stdin: 'long enough\n' })).code, 0);
  t.equal((await cli(['config', 'set', 'dashboard.host', '0.0.0.0'], { home })).code, 0, 'with a sign-in it goes through');
  t.match(
    errorOf(await cli(['dashboard', 'passwd', '--remove', '--json'], { home })),
    { code: 'CONFIG_LOCKOUT' },
    'and now the sign-in stays',
  );
});
