/** The page when something is missing: no model provider, no token. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { ask, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

t.test('without a model the page offers three ways, and the rehearsal model answers after one press', { timeout: 200_000 }, async (t) => {
  using home = testHome({ 'config.yaml': 'model_catalog:\n  detect_local: false\n' });
  await using _agent = await startWorker(home, 'agent');
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(dashboard.address);
  await page.getByRole('heading', { name: 'Who shall answer?' }).waitFor();
  t.same(await page.getByRole('main').getByRole('heading', { level: 3 }).allInnerTexts(), [
    'A key of a provider',
    'A model server on this machine',
    'The rehearsal model',
  ]);
  t.equal(await page.getByRole('link', { name: 'Add a key' }).getAttribute('href'), '/models');
  await page.getByText(/None answers now/).waitFor();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'first-run');

  await t.test('a message that is sent all the same is kept, and its answer names what is missing', async (t) => {
    await say(page, 'hello');
    await page.getByText('This answer failed').waitFor();
    t.match(await page.locator('[data-role=assistant]').innerText(), /NO_PROVIDER/);
    await page.getByText('No model answers yet').waitFor();
    await page.goBack();
  });

  await page.getByRole('button', { name: 'Rehearse' }).click();
  await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
  t.match(await (await ask(page, 'say: 3 words')).innerText(), /alpha bravo charlie/);
  t.match(readFileSync(join(home.root, 'config.yaml'), 'utf8'), /default: demo:rehearsal|provider: demo/, 'it stays so');
  t.same(errors, []);
});

t.test('a tab without the token asks for it, and the pasted address opens the page', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home, { env: { AGENT_DASHBOARD_HOST: '0.0.0.0', AGENT_DASHBOARD_INSECURE: '1' } });
  await using browser = await startBrowser();
  const { page } = await browser.open(dashboard.address, { proved: false });
  const screen = page.getByLabel('Address or token');
  await screen.waitFor();
  t.match(await page.locator('main').innerText(), /agent dashboard/);
  await page.getByLabel('Address or token').fill('wrong');
  await page.getByRole('button', { name: 'Open' }).click();
  await screen.waitFor();
  await page.getByLabel('Address or token').fill(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByRole('button', { name: 'Open' }).click();
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.reload();
  await page.getByText('Connected', { exact: true }).waitFor();
  t.notMatch(page.url(), 'token');
});
