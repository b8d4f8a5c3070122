/** Signing in with OpenID Connect: the real dashboard against a real server, the certified `oidc-provider`. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import {
  CLIENT_ID,
  publicClient,
  startIdentityProvider,
  type IdentityProvider,
  type IdentityProviderOptions,
} from '../harness/identityProvider.ts';
import { ensurePage } from '../harness/browser.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { cheapHash, PASSWORD, USERNAME } from '../harness/signIn.ts';
import { WebClient } from '../harness/webClient.ts';

await ensurePage();
t.setTimeout(240_000);

interface Scene extends AsyncDisposable {
  provider: IdentityProvider;
  dashboard: TestDashboard;
  address: string;
  log(): string;
}

/** A dashboard that others can reach, and the provider it trusts. */
async function scene({
  env = {},
  config = '',
  ...options
}: IdentityProviderOptions & { env?: Record<string, string>; config?: string } = {}): Promise<Scene> {
  const port = await freePort();
  const provider = await startIdentityProvider({ clients: [publicClient([`http://127.0.0.1:${port}/auth/callback`])], ...options });
  const home = testHome({ 'config.yaml': config });
  const dashboard = await startDashboard(home, {
    env: {
      AGENT_DASHBOARD_HOST: '0.0.0.0',
      AGENT_DASHBOARD_PORT: String(port),
      AGENT_DASHBOARD_OIDC_ISSUER: provider.issuer,
      AGENT_DASHBOARD_OIDC_CLIENT_ID: CLIENT_ID,
      ...env,
    },
  });
  return {
    provider,
    dashboard,
    address: `http://127.0.0.1:${port}`,
    log: () => readFileSync(`${home.logs}/gui.log`, 'utf8'),
    async [Symbol.asyncDispose]() {
      await dashboard[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
      home[Symbol.dispose]();
    },
  };
}

/** What a browser does after a click on "Sign in with …". */
async function signIn(s: Scene, web = new WebClient(), next = '/'): Promise<{ web: WebClient; address: string; text: string }> {
  const { address, text } = await web.get(`${s.address}/auth/login?provider=self-hosted&next=${encodeURIComponent(next)}`, {
    follow: true,
  });
  return { web, address, text };
}

const meOf = async (s: Scene, web: WebClient) => (await web.api(`${s.address}/api/auth/me`)).json();

for (const alg of ['RS256', 'ES256'] as const) {
  t.test(`a sign-in with ${alg}: from the page to the provider and back to where one was`, async (t) => {
    await using s = await scene({ alg });
    const web = new WebClient();
    const away = await web.get(`${s.address}/chat/ses_1?profile=work`);
    t.equal(away.headers.location, '/login?next=%2Fchat%2Fses_1%3Fprofile%3Dwork');
    const login = await web.get(new URL(String(away.headers.location), s.address));
    const link = /href="(\/auth\/login[^"]+)"/.exec(login.text)![1]!.replaceAll('&amp;', '&');
    const begin = await web.get(new URL(link, s.address));
    const asked = new URL(String(begin.headers.location)).searchParams;
    t.match(Object.fromEntries(asked), {
      response_type: 'code',
      client_id: CLIENT_ID,
      redirect_uri: `${s.address}/auth/callback`,
      scope: 'openid profile email',
      code_challenge_method: 'S256',
      code_challenge: /^[\w-]{43}$/,
      state: /./,
      nonce: /./,
    });
    const done = await web.get(String(begin.headers.location), { follow: true });
    t.match({ status: done.status, address: done.address }, { status: 200, address: `${s.address}/chat/ses_1?profile=work` });
    t.match(done.text, '__AGENT_AUTH_REQUIRED__=true');
    t.notMatch(done.text, '__AGENT_SESSION_TOKEN__');
    t.match(await meOf(s, web), {
      user_id: 'ada',
      email: 'ada@example.org',
      display_name: 'Ada Lovelace',
      org_id: '',
      provider: 'self-hosted',
      expires_at: /Z$/,
    });
    t.same(
      [...web.cookies.get(new URL(s.address).host)!.keys()],
      ['agent_session_at', 'agent_session_it'],
      'the secrets of the sign-in are gone from the browser',
    );
  });
}

t.test('a provider is asked nothing before somebody signs in, and what it says of itself is asked once', async (t) => {
  await using s = await scene();
  t.same(s.provider.asked, []);
  await signIn(s);
  await signIn(s);
  t.equal(s.provider.asked.filter((what) => what.includes('well-known')).length, 1);
});

t.test('a token signed in another way, by another issuer, for another client, or not at all lets nobody in', async (t) => {
  // All but the last two bear the server's own signature.
  const claimed: Record<string, (claims: Record<string, unknown>) => Record<string, unknown>> = {
    'another issuer': (claims) => ({ ...claims, iss: 'https://evil.example' }),
    'another client': (claims) => ({ ...claims, aud: 'another-client' }),
    'another nonce': (claims) => ({ ...claims, nonce: 'of another sign-in' }),
    'no nonce': (claims) => ({ ...claims, nonce: undefined }),
    expired: (claims) => ({ ...claims, exp: 1_000, iat: 900 }),
  };
  const claimsOf = (idToken: string) => JSON.parse(Buffer.from(idToken.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>;
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const changes: Record<string, (idToken: string, provider: IdentityProvider) => string> = {
    ...Object.fromEntries(
      Object.entries(claimed).map(([name, change]) => [
        name,
        (idToken: string, { sign }: IdentityProvider) => sign(change(claimsOf(idToken))),
      ]),
    ),
    'another subject under an old signature': (idToken) =>
      [idToken.split('.')[0], encoded({ ...claimsOf(idToken), sub: 'eve' }), idToken.split('.')[2]].join('.'),
    'no signature': (idToken) => `${encoded({ alg: 'none' })}.${encoded(claimsOf(idToken))}.`,
  };
  await using s = await scene();
  const signInWith = async (change: (idToken: string, provider: IdentityProvider) => string) => {
    s.provider.rewriteTokens = (answer) => (answer.id_token ? { ...answer, id_token: change(answer.id_token, s.provider) } : answer);
    const { web, address } = await signIn(s);
    return { address, status: (await web.api(`${s.address}/api/auth/me`)).status };
  };
  for (const [name, change] of Object.entries(changes))
    t.match(await signInWith(change), { address: /\/login\?problem=refused$/, status: 401 }, name);
  t.match(
    await signInWith((idToken, { sign }) => sign(claimsOf(idToken))),
    { status: 200 },
    'a token that was signed again and says the same is good',
  );

  await using weak = await scene({ alg: 'PS256' });
  await signIn(weak);
  t.match(weak.log(), /signed with PS256; RS256 and ES256 are accepted/);
});

t.test('a way back that this browser did not begin, or a second time, lets nobody in', async (t) => {
  await using s = await scene();
  const web = new WebClient();
  const begin = await web.get(`${s.address}/auth/login?provider=self-hosted`);
  // Up to the callback, which is not followed.
  let at = String(begin.headers.location);
  while (!at.includes('/auth/callback')) at = new URL(String((await web.get(at)).headers.location), at).href;
  const stranger = await new WebClient().get(at);
  t.match(stranger.headers.location, /problem=stale/, 'the address alone is worth nothing');
  t.equal((await web.get(at)).headers.location, '/');
  t.match((await web.get(at)).headers.location, /problem=stale/, 'nor a second time');
  const forged = await web.get(`${s.address}/auth/callback?code=x&state=y`);
  t.match(forged.headers.location, /problem=stale/);
});

t.test('who is not among the allowed users stays out; a mail address counts when the provider has verified it', async (t) => {
  const config = (users: string) => `dashboard: { oauth: { allowed_users: [${users}] } }\n`;
  const cases: { name: string; users: string; verified: boolean; want: number }[] = [
    { name: 'another subject', users: 'grace', verified: true, want: 401 },
    { name: 'the subject', users: 'ada', verified: false, want: 200 },
    { name: 'a verified address', users: 'ADA@example.org', verified: true, want: 200 },
    { name: 'an address that anybody could have written', users: 'ada@example.org', verified: false, want: 401 },
  ];
  for (const { name, users, verified, want } of cases) {
    await using s = await scene({ config: config(users), claims: { name: 'Ada', email: 'ada@example.org', email_verified: verified } });
    const { web } = await signIn(s);
    t.equal((await web.api(`${s.address}/api/auth/me`)).status, want, name);
  }
});

t.test('a session is renewed without the user, once for all requests that come together; a refusal of the provider ends it', async (t) => {
  // Shorter than what is renewed ahead of its end: every request asks for a renewal.
  await using s = await scene({ accessSeconds: 60, env: { AGENT_DASHBOARD_OIDC_SCOPES: 'openid offline_access' } });
  const { web } = await signIn(s);
  const tokens = () => s.provider.asked.filter((what) => what === 'POST /token').length;
  t.equal(tokens(), 1);
  const before = web.cookie(s.address, 'agent_session_rt');
  const answers = await Promise.all(Array.from({ length: 8 }, () => web.api(`${s.address}/api/auth/me`)));
  t.same(
    answers.map(({ status }) => status),
    Array(8).fill(200),
  );
  t.equal(tokens(), 2, 'one renewal for eight requests');
  t.not(web.cookie(s.address, 'agent_session_rt'), before, 'the provider changes its token with each');
  t.notMatch(web.cookie(s.address, 'agent_session_rt'), /ada/, 'and the browser cannot read it');
  await web.ask(`${s.address}/auth/logout`, { method: 'POST', headers: { Origin: s.address } });
  t.ok(s.provider.asked.includes('POST /token/revocation'), 'signing out tells the provider');
  t.equal((await web.api(`${s.address}/api/auth/me`)).status, 401);
});

t.test('a provider that is away: the page says so, a session goes on, and the next try finds it again', async (t) => {
  await using s = await scene({ accessSeconds: 60, env: { AGENT_DASHBOARD_OIDC_SCOPES: 'openid offline_access' } });
  s.provider.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  const failed = await signIn(s);
  t.match(failed.address, /\/login\?problem=away$/);
  t.match(failed.text, 'The sign-in service cannot be reached.');
  t.ok(s.provider.asked.length >= 3, 'it was asked more than once');
  s.provider.intercept = undefined;
  const { web } = await signIn(s);
  s.provider.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  t.equal((await web.api(`${s.address}/api/auth/me`)).status, 200, 'what was granted still counts');
});

t.test('a user who says no, and a provider that speaks for somebody else', async (t) => {
  await using s = await scene();
  s.provider.deny = true;
  t.match((await signIn(s)).address, /\/login\?problem=refused$/);
  t.match(s.log(), /access_denied: the user said no/);
  await using other = await scene();
  other.provider.intercept = (request, response) => {
    if (!request.url!.includes('well-known')) return false;
    const body = JSON.stringify({
      issuer: 'https://evil.example',
      authorization_endpoint: 'https://evil.example/a',
      token_endpoint: 'https://evil.example/t',
      jwks_uri: 'https://evil.example/j',
    });
    response.writeHead(200, { 'Content-Type': 'application/json' }).end(body);
    return true;
  };
  t.match((await signIn(other)).address, /problem=away$/);
  t.match(other.log(), /speaks for \\"https:\/\/evil\.example\\", not for/);
});

t.test('two providers and a password: all of them are offered', async (t) => {
  await using portal = await startIdentityProvider();
  await using s = await scene({
    config: `portal: { base_url: "${portal.issuer}" }\n`,
    env: {
      AGENT_DASHBOARD_OAUTH_CLIENT_ID: 'agent-1',
      AGENT_DASHBOARD_BASIC_AUTH_USERNAME: USERNAME,
      AGENT_DASHBOARD_BASIC_AUTH_PASSWORD_HASH: cheapHash(PASSWORD),
    },
  });
  const { text } = await new WebClient().get(`${s.address}/login`);
  t.match(text, /Sign in with 127\.0\.0\.1:\d+/);
  t.match(text, 'Sign in with the portal');
  t.match(text, /<input id="password"/);
  const status = await new WebClient().ask(`${s.address}/api/status`);
  t.same(status.json<{ auth_providers: string[] }>().auth_providers, ['basic', 'self-hosted', 'portal']);
});
