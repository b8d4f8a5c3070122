/** The page when something is missing: no model provider, no token. */
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(110_000);

t.test('without a provider the page says so and names the ways out', { timeout: 60_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent');
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(dashboard.address);
  await page.getByText('No model answers yet').waitFor();
  t.match(await page.locator('main').innerText(), /no_provider_configured[\s\S]*OPENAI_API_KEY/i);
  await page.getByRole('textbox', { name: 'Message' }).fill('hello');
  await page.keyboard.press('Enter');
  await page.getByText('This answer failed').waitFor();
  t.match(await page.locator('[data-role=assistant]').innerText(), /NO_PROVIDER/);
  t.same(errors, []);
});

t.test('a tab without the token asks for it, and the pasted address opens the page', { timeout: 60_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home, { env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1' } });
  await using browser = await startBrowser();
  const { page } = await browser.open(dashboard.address);
  await page.getByText('This dashboard needs its token').waitFor();
  t.match(await page.locator('main').innerText(), /agent up/);
  await page.getByLabel('Address or token').fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('This dashboard needs its token').waitFor();
  await page.getByLabel('Address or token').fill(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('Connected', { exact: true }).waitFor();
  t.notMatch(page.url(), 'token');
});
