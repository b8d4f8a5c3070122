/** Signing in with a real browser: the form, a provider, the place one comes back to, the way out. */
import t from 'tap';
import { CLIENT_ID, publicClient, startIdentityProvider } from '../harness/identityProvider.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { freePort } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { PASSWORD, startGated, USERNAME } from '../harness/signIn.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

t.test('a person signs in with a password, works, and signs out', async (t) => {
  await using s = await startGated();
  await using _agent = await startWorker(s.home, 'agent', { demo: true });
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(`${s.address}/logs?profile=default`);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  t.match(page.url(), /\/login\?next=/);
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'sign-in');

  await page.getByLabel('User name').fill(USERNAME);
  await page.getByLabel('Password').fill('wrong');
  await page.keyboard.press('Enter');
  await page.getByRole('alert').getByText('The user name or the password is wrong.').waitFor();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'sign-in-refused');

  await page.getByLabel('User name').fill(USERNAME);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Logs' }).waitFor();
  t.match(page.url(), /\/logs\?profile=default$/, 'the place one wanted');

  await page.getByRole('link', { name: 'Chat' }).click();
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.getByRole('textbox', { name: 'Message' }).fill('say: 3 words');
  await page.getByRole('textbox', { name: 'Message' }).press('Enter');
  await page.locator('[data-role=assistant]').getByText(/alpha/).waitFor();
  t.equal(await page.evaluate('window.__AGENT_SESSION_TOKEN__'), undefined, 'no token is in the page');
  t.equal(await page.evaluate('document.cookie'), '', 'and no cookie is in reach of a script');

  await page.getByRole('button', { name: 'Signed in as ada' }).click();
  await page.getByText('Signed in with a password').waitFor();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'signed-in');
  // The sockets end with the session, and the page notices before it hears where it is to go.
  const noticed = page.waitForResponse((response) => response.status() === 401);
  const strayed: string[] = [];
  page.on('request', (request) => void (request.isNavigationRequest() && /[?&]next=/.test(request.url()) && strayed.push(request.url())));
  await page.route('**/auth/logout', async (route) => {
    const response = await route.fetch();
    await noticed;
    // A way to the server and back: what the page does about it has begun by then.
    await page.evaluate('fetch("/login").then((answer) => answer.text())').catch(() => {});
    await route.fulfill({ response });
  });
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You have been signed out.').waitFor();
  t.same(strayed, [], 'nothing else led it away meanwhile');
  await page.goto(`${s.address}/workers`);
  t.match(page.url(), /\/login\?next=%2Fworkers$/);
  t.same(
    errors.filter((text) => !/401|403/.test(text)),
    [],
    'and nothing was complained about',
  );
});

t.test('a session that ends while one works leads to the sign-in and back to the same place', async (t) => {
  await using s = await startGated();
  await using browser = await startBrowser({ width: 390, height: 844, phone: true, colorScheme: 'dark' });
  const { page } = await browser.open(`${s.address}/logs`);
  await keepScreenshot(page, 'sign-in-phone-dark');
  t.same(await accessibilityFaults(page), []);
  const signIn = async () => {
    await page.getByLabel('User name').fill(USERNAME);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Logs' }).waitFor();
  };
  await signIn();
  // Somewhere else the same session is signed out.
  const cookies = await browser.context.cookies();
  await page.request.post(`${s.address}/auth/logout`, { headers: { Origin: s.address }, maxRedirects: 0 });
  t.ok(cookies.length > 0);
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  t.match(page.url(), /\/login\?next=%2Flogs/);
  await signIn();
  t.match(page.url(), /\/logs$/);
});

t.test('a person signs in by way of a provider and keeps the place', async (t) => {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const back = { post_logout_redirect_uris: [`${address}/auth/signed-out`] };
  await using provider = await startIdentityProvider({ clients: [publicClient([`${address}/auth/callback`], back)] });
  await using s = await startGated({
    port,
    password: false,
    env: { AGENT_DASHBOARD_OIDC_ISSUER: provider.issuer, AGENT_DASHBOARD_OIDC_CLIENT_ID: CLIENT_ID },
  });
  await using browser = await startBrowser();
  const { page } = await browser.open(`${s.address}/workers`);
  await page.getByRole('link', { name: /^Sign in with 127\.0\.0\.1/ }).click();
  await page.getByRole('heading', { name: 'Workers' }).waitFor();
  t.match(page.url(), /\/workers$/);
  await page.getByRole('button', { name: 'Signed in as Ada Lovelace' }).click();
  await page.getByText('ada@example.org').waitFor();

  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign out of the provider' }).click();
  await page.getByText('You have been signed out.').waitFor();
  await page.goto(`${s.address}/workers`);
  await page.getByRole('link', { name: /^Sign in with 127\.0\.0\.1/ }).click();
  await page.getByRole('button', { name: 'Signed in as Ada Lovelace' }).click();
  await page.getByText('ada@example.org').waitFor();

  // A provider that is away holds nobody up.
  provider.intercept = (_request, response) => Boolean(response.writeHead(503).end());
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You have been signed out.').waitFor();
});
