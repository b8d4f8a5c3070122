/** Signing in with OpenID Connect: the real dashboard against a real server, the certified `oidc-provider`. */
import t from 'tap';
import { CLIENT_ID, publicClient, startFakeProvider, type FakeProvider, type FakeProviderOptions } from '../fakes/oidcProvider.ts';
import { ensurePage } from '../harness/browser.ts';
import { closed, startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { WebClient } from '../harness/webClient.ts';

await ensurePage();

interface Scene extends AsyncDisposable {
  provider: FakeProvider;
  dashboard: TestDashboard;
  address: string;
  log(): string;
}

/** A dashboard that others can reach, and the provider it trusts. */
async function scene({ env = {}, config = '', ...options }: FakeProviderOptions & { env?: Record<string, string>; config?: string } = {}): Promise<Scene> {
  const port = await freePort();
  const provider = await startFakeProvider({ clients: [publicClient([`http://127.0.0.1:${port}/auth/callback`])], ...options });
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
import { readFileSync } from 'node:fs';

for (const alg of ['RS256', 'ES256'] as const) {
  t.test(`a sign-in with ${alg}: from the page to the provider and back to where one was`, async (t) => {
    await using s = await scene({ alg });
    const web = new WebClient();
    const back = await web.get(`${s.address}/chat/ses_1?profile=work`);
    t.equal(back.headers.location, '/login?next=%2Fchat%2Fses_1%3Fprofile%3Dwork');
    const login = await web.get(new URL(back.headers.location, s.address));
    const link = /href="(\/auth\/login[^"]+)"/.exec(login.text)![1]!.replaceAll('&amp;', '&');
    const done = await web.get(new URL(link, s.address), { follow: true });
    t.match({ status: done.status, address: done.address }, { status: 200, address: `${s.address}/chat/ses_1?profile=work` }, done.text.slice(0, 300) + s.log());
    t.match(done.text, '__AGENT_AUTH_REQUIRED__=true');
    t.notMatch(done.text, '__AGENT_SESSION_TOKEN__');
    const me = (await web.api(`${s.address}/api/auth/me`)).json();
    t.match(me, { user_id: 'ada', email: 'ada@example.org', display_name: 'Ada Lovelace', provider: 'self-hosted', expires_at: /Z$/ });
  });
}
void closed;
