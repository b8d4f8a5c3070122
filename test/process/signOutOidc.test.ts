/** Signing out where a provider signed in: its own session ends too, when it offers that; with the real `oidc-provider`. */
import type { ServerResponse } from 'node:http';
import t from 'tap';
import { ensurePage } from '../harness/browser.ts';
import { freePort } from '../harness/home.ts';
import {
  CLIENT_ID,
  publicClient,
  startIdentityProvider,
  walkForms,
  type IdentityProvider,
  type IdentityProviderOptions,
} from '../harness/identityProvider.ts';
import { startGated, type Gated } from '../harness/signIn.ts';
import { WebClient } from '../harness/webClient.ts';

await ensurePage();
t.setTimeout(240_000);

interface Scene extends AsyncDisposable {
  s: Gated;
  provider: IdentityProvider;
}

async function scene({ scopes = 'openid profile email', ...options }: IdentityProviderOptions & { scopes?: string } = {}): Promise<Scene> {
  const port = await freePort();
  const at = (path: string) => [`http://127.0.0.1:${port}${path}`];
  const client = publicClient(at('/auth/callback'), { post_logout_redirect_uris: at('/auth/signed-out') });
  const provider = await startIdentityProvider({ clients: [client], ...options });
  const env = {
    AGENT_DASHBOARD_OIDC_ISSUER: provider.issuer,
    AGENT_DASHBOARD_OIDC_CLIENT_ID: CLIENT_ID,
    AGENT_DASHBOARD_OIDC_SCOPES: scopes,
  };
  const s = await startGated({ port, password: false, env });
  return {
    s,
    provider,
    async [Symbol.asyncDispose]() {
      await s[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

async function signIn({ s, provider }: Scene, web = new WebClient()): Promise<{ web: WebClient; asked: boolean }> {
  const before = provider.asked.length;
  const { address } = await web.get(`${s.address}/auth/login?provider=self-hosted`, { follow: true });
  if (address !== `${s.address}/`) throw new Error(`the sign-in ended at ${address}`);
  return { web, asked: provider.asked.slice(before).some((what) => what.startsWith('GET /interaction/')) };
}

/** What the page's button does; the address it goes to then. */
async function signOut({ s }: Scene, web: WebClient): Promise<URL> {
  const answer = await web.api(`${s.address}/auth/logout`, { method: 'POST', headers: { Accept: 'application/json' } });
  return new URL(answer.json<{ next: string }>().next, s.address);
}

const meOf = async ({ s }: Scene, web: WebClient) => (await web.api(`${s.address}/api/auth/me`)).status;

t.test('signing out ends the session at the provider too, and leads back to the sign-in', async (t) => {
  await using here = await scene();
  const { s, provider } = here;
  const { web, asked } = await signIn(here);
  t.ok(asked, 'the first time the provider asks who it is');
  t.notOk((await signIn(here, web)).asked, 'while it knows the browser it does not');
  const away = await signOut(here, web);
  t.equal(`${away.origin}${away.pathname}`, `${provider.issuer}/session/end`);
  t.match(Object.fromEntries(away.searchParams), {
    client_id: CLIENT_ID,
    post_logout_redirect_uri: `${s.address}/auth/signed-out`,
    state: /^[\w-]{22}$/,
    id_token_hint: /^eyJ[\w-]+\.[\w-]+\.[\w-]+$/,
  });
  t.equal(await meOf(here, web), 401, 'here it is over at once');
  const { url, text } = await walkForms(away.href, { web });
  t.equal(url, `${s.address}/login?problem=over`);
  t.match(text, 'You have been signed out.');
  t.same([...web.cookies.get(new URL(s.address).host)!.keys()], [], 'no cookie of ours is left');
  t.ok((await signIn(here, web)).asked, 'and there as well');
});

t.test('a program that follows redirects gets there as well; a way back that we did not open says nothing', async (t) => {
  await using here = await scene();
  const { s, provider } = here;
  const { web } = await signIn(here);
  const out = await web.ask(`${s.address}/auth/logout`, { method: 'POST', headers: { Origin: s.address } });
  t.match(out, { status: 302, headers: { location: new RegExp(`^${provider.issuer}/session/end\\?`) } });
  for (const state of ['', '?state=made-up', '?state='])
    t.equal((await new WebClient().get(`${s.address}/auth/signed-out${state}`)).headers.location, '/login', state);
  t.equal((await web.get(`${s.address}/auth/signed-out?state=made-up`)).headers.location, '/login', 'with the cookie of another state');
  t.equal((await signOut(here, new WebClient())).pathname, '/login', 'who is not signed in goes nowhere else');
});

t.test('an ID token that fits no cookie, or is of another session, stays behind: the client id says who asks', async (t) => {
  await using here = await scene({ claims: { name: 'A'.repeat(4_000) }, configuration: { conformIdTokenClaims: false } });
  const { web } = await signIn(here);
  t.equal(web.cookie(here.s.address, 'agent_session_it'), undefined);
  const away = await signOut(here, web);
  t.same([...away.searchParams.keys()].toSorted(), ['client_id', 'post_logout_redirect_uri', 'state']);
  t.match((await walkForms(away.href, { web })).url, /\/login\?problem=over$/);

  await using other = await scene();
  const { web: mine } = await signIn(other);
  const { web: hers } = await signIn(other);
  const jar = mine.cookies.get(new URL(other.s.address).host)!;
  jar.set('agent_session_it', hers.cookie(other.s.address, 'agent_session_it')!);
  t.notOk((await signOut(other, mine)).searchParams.has('id_token_hint'));
});

t.test('where the provider ends no sessions, or is away, signing out is what it was', async (t) => {
  await using none = await scene({ configuration: { features: { rpInitiatedLogout: { enabled: false } } } });
  const { web } = await signIn(none);
  t.equal((await signOut(none, web)).href, `${none.s.address}/login?problem=over`);
  t.equal(await meOf(none, web), 401);

  await using away = await scene({ scopes: 'openid offline_access' });
  const { web: other } = await signIn(away);
  away.provider.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  t.equal((await signOut(away, other)).href, `${away.s.address}/login?problem=over`);
  t.equal(await meOf(away, other), 401);
  away.provider.intercept = undefined;
  const { web: third } = await signIn(away);
  const asked = away.provider.asked.length;
  t.equal((await signOut(away, third)).pathname, '/session/end');
  t.ok(away.provider.asked.slice(asked).includes('POST /token/revocation'), 'the refresh token is revoked as before');
});

t.test('an address to sign out at that is none for a browser is passed over, and people can still sign in', async (t) => {
  for (const bad of ['javascript:alert(1)', 'http://evil.example/out', 'data:text/html,x', 42]) {
    await using here = await scene();
    const { issuer } = here.provider;
    here.provider.intercept = ({ url }, response) => url!.includes('well-known') && told(response, { issuer, bad });
    const { web } = await signIn(here);
    t.equal((await signOut(here, web)).href, `${here.s.address}/login?problem=over`, String(bad));
  }
});

function told(response: ServerResponse, { issuer, bad }: { issuer: string; bad: unknown }): true {
  const body = {
    issuer,
    authorization_endpoint: `${issuer}/auth`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/jwks`,
    userinfo_endpoint: `${issuer}/me`,
    end_session_endpoint: bad,
  };
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
  return true;
}
