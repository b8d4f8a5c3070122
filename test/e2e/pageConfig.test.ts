/** The place Config, in a real browser: form and YAML, what is refused and where, two editors at once, and leaving without saving. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { setConfigValue } from '../../state/config/edit.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const TEXT = `# my settings
approvals:
  mode: manual # careful
providers:
  box: { base_url: "http://127.0.0.1:8080/v1", headers: { Authorization: "Bearer abc123def456" } }
`;
using home = testHome({ 'config.yaml': TEXT });
await using _agent = await startWorker(home, 'agent', { demo: true });
await using dashboard = await startDashboard(home);
await using browser = await startBrowser();
const config = () => readFileSync(home.config, 'utf8');

await t.test(
  'a setting is found, changed and saved; comments stay, and what is set is told from defaults',
  { timeout: 200_000 },
  async (t) => {
    const { page, errors } = await browser.open(`${dashboard.address}config`);
    await page.getByRole('searchbox').waitFor();
    await page.getByRole('heading', { name: 'Approvals' }).waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'config-form');
    await page.getByRole('searchbox').fill('in a turn');
    const field = page.getByRole('textbox', { name: 'Model calls in a turn' });
    await field.fill('many');
    await page.getByText('A number', { exact: true }).waitFor();
    t.equal(await page.getByRole('button', { name: 'Save' }).isDisabled(), true);
    await field.fill('42');
    t.match(await page.getByRole('region', { name: 'Unsaved changes' }).innerText(), /1 change\s+takes effect at once/);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved, and in effect').waitFor();
    t.match(config(), /# my settings[\s\S]*# careful[\s\S]*max_turns: 42/);
    t.match(config(), /Bearer abc123def456/, 'the secret stays');
    await page.getByRole('searchbox').fill('');
    await page.getByText('Only what is set').click();
    t.equal(await page.locator('[data-key]').count(), 3);
    await page.getByRole('button', { name: 'Model calls in a turn: back to the default' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await until('it is gone', () => !config().includes('max_turns'));
    t.same(errors, []);
  },
);

await t.test('YAML: an error is shown at its line and nothing is written; mended, it is saved', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}config`);
  await page.getByRole('tab', { name: 'YAML' }).click();
  const editor = page.getByLabel('config.yaml');
  await editor.waitFor();
  const shown = await editor.inputValue();
  t.notMatch(shown, 'abc123def456');
  t.match(shown, /\[redacted\]/);
  const before = config();
  await editor.fill(`${shown}dashboard:\n  port: lots\n`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Line \d+, column 9$/).waitFor();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'config-yaml-error');
  t.equal(config(), before);
  await editor.fill(`${shown}timezone: UTC\n`);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved, and in effect').waitFor();
  t.match(config(), /Bearer abc123def456[\s\S]*timezone: UTC/);
});

await t.test('settings that belong together: one of them alone is refused with the reason, all of them are saved at once', async (t) => {
  const { page } = await browser.open(`${dashboard.address}config`);
  await page.getByRole('searchbox').fill('fire_jwt');
  const before = config();
  await page.getByRole('textbox', { name: 'Audience of its tokens' }).fill('agent:home');
  await page.getByRole('button', { name: 'Save' }).click();
  await page
    .getByRole('region', { name: 'Unsaved changes' })
    .getByText(/cron\.fire_jwt\.jwks_url is missing; cron\.fire_jwt needs it/)
    .waitFor();
  await keepScreenshot(page, 'config-together');
  t.same(await accessibilityFaults(page), []);
  t.equal(config(), before, 'nothing is half-written');
  await page.getByRole('textbox', { name: 'Keys of an outside scheduler' }).fill('https://issuer.example/jwks.json');
  await page.getByRole('textbox', { name: 'Purpose of its tokens' }).fill('cron_fire');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Saved, and in effect').waitFor();
  t.match(config(), /fire_jwt:[^]*jwks_url: https:\/\/issuer\.example\/jwks\.json/);
});

await t.test('two editors: the second hears what the first changed, and neither change is lost', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}config`);
  await page.getByRole('searchbox').fill('approvals.mode');
  await page.locator('[data-key="approvals.mode"]').getByRole('combobox').selectOption('smart');
  await setConfigValue(home.config, 'cron.max_parallel_jobs', 2);
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Somebody else changed config.yaml meanwhile').waitFor();
  t.match(await page.getByRole('region', { name: 'Unsaved changes' }).innerText(), /cron[\s\S]*nothing → /);
  t.match(config(), /mode: manual/);
  await keepScreenshot(page, 'config-conflict');
  await page.getByRole('button', { name: 'Save mine too' }).click();
  await until('both are there', () => /mode: smart/.test(config()) && /max_parallel_jobs: 2/.test(config()));
});

await t.test(
  'a look back at the tab does not make a list of somebody else part of what was begun before',
  { timeout: 200_000 },
  async (t) => {
    const { page } = await browser.open(`${dashboard.address}config`);
    await page.getByRole('searchbox').fill('disabled_toolsets');
    await page.getByRole('textbox', { name: 'Toolsets switched off', exact: true }).fill('web');
    await setConfigValue(home.config, 'agent.disabled_toolsets', ['terminal']);
    let seen = '';
    page.on('response', async (response) => {
      if (response.url().endsWith('/api/config') && response.request().method() === 'GET') seen += await response.text();
    });
    await until('the tab has asked again', async () => {
      await page.evaluate("dispatchEvent(new Event('visibilitychange'))");
      return seen.includes('"terminal"');
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else changed config.yaml meanwhile').waitFor();
    t.match(config(), /disabled_toolsets:\s+- terminal/);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await until(
      'theirs is shown',
      async () => (await page.getByRole('textbox', { name: 'Toolsets switched off', exact: true }).inputValue()) === 'terminal',
    );
    await setConfigValue(home.config, 'agent.disabled_toolsets', undefined);
  },
);

await t.test('a change that would lock the user out is refused with the reason', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}config`);
  await page.getByRole('searchbox').fill('dashboard.port');
  await page.getByRole('textbox', { name: 'Port', exact: true }).fill('0');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/lock you out of the dashboard/).waitFor();
  t.notMatch(config(), /port: 0/);
});

await t.test('leaving with changes that are not saved asks first', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}config`);
  await page.getByRole('searchbox').fill('approvals.mode');
  await page.locator('[data-key="approvals.mode"]').getByRole('combobox').selectOption('off');
  await page.getByRole('link', { name: 'Workers' }).first().click();
  await page.getByText('Leave without saving?').waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  t.match(page.url(), /\/config/);
  t.equal(await page.locator('[data-key="approvals.mode"]').getByRole('combobox').inputValue(), 'off', 'the change is still there');
  await page.getByRole('link', { name: 'Workers' }).first().click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await page.waitForURL(/workers/);
});

await t.test('a broken file is named with its line; dark, and on a phone', { timeout: 200_000 }, async (t) => {
  home.write('config.yaml', 'approvals: { mode: maybe }\n');
  await using phone = await startBrowser({ width: 390, height: 844, phone: true, colorScheme: 'dark' });
  const { page } = await phone.open(`${dashboard.address}config`);
  await page.getByText(/cannot be used: line 1/).waitFor();
  t.same(await accessibilityFaults(page), []);
  t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'nothing is wider than the screen');
  await keepScreenshot(page, 'config-broken-phone-dark');
  await page.getByRole('button', { name: 'Mend it' }).click();
  await page.getByLabel('config.yaml').fill('approvals: { mode: smart }\n');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText(/^Saved/).waitFor();
  await page.getByRole('tab', { name: 'Form' }).click();
  await page.getByRole('heading', { name: 'Approvals' }).waitFor();
  await keepScreenshot(page, 'config-phone-dark');
});
