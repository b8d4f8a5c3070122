/** The place Models, in a real browser: pick, side work, a new provider with its key, a sign-in, and what goes wrong. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { startOpenAiWith } from '../fakes/openaiServer.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startIdentityProvider, walkForms } from '../harness/identityProvider.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

await using openai = await startOpenAiWith([
  { id: 'gpt-5', context_length: 400_000, pricing: { prompt: '0.00000125', completion: '0.00001' } },
  { id: 'gpt-5-mini', context_length: 400_000, pricing: { prompt: '0.00000025', completion: '0.000002' } },
  { id: 'grand-1', context_length: 200_000, pricing: { prompt: '0.00015', completion: '0.0006' } },
]);
await using server = await startIdentityProvider();
using home = testHome({
  '.env': 'BOX_KEY=sk-box-1234567890abcdefgh\n',
  'config.yaml': `# mine
model: { default: gpt-5, provider: box }
model_catalog: { detect_local: false }
fallback_providers: [llm]
providers:
  box: { kind: openai-compatible, base_url: "${openai.url}", key_env: BOX_KEY }
  llm: { kind: openai-compatible, base_url: "${openai.url}", models: [gpt-5-mini], oauth: ${server.oauth('device_code', { name: 'Work LLM' })} }
  gone: { kind: openai-compatible, base_url: "http://127.0.0.1:9/v1" }
`,
});
await using _agent = await startWorker(home, 'agent');
await using dashboard = await startDashboard(home);
await using browser = await startBrowser();
const config = () => readFileSync(home.config, 'utf8');

await t.test(
  'a model is found, picked and kept; a dear one is asked about twice; side work has its own',
  { timeout: 200_000 },
  async (t) => {
    const { page, errors } = await browser.open(`${dashboard.address}models`);
    const main = page.getByRole('region', { name: 'Main model' });
    await main.getByText('gpt-5', { exact: true }).waitFor();
    await main.getByText('400 k tokens').waitFor();
    t.match(await main.innerText(), /of box[\s\S]*When it fails: llm/);
    await page.getByRole('table', { name: 'Side work' }).waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'models-light');
    await main.getByRole('button', { name: 'Change model' }).click();
    await page.getByLabel('Search').fill('grand');
    await page.getByRole('button', { name: /grand-1/ }).waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'models-picker');
    await page.getByRole('button', { name: /grand-1/ }).click();
    await page.getByText(/costs \$150 a million tokens/).waitFor();
    t.match(config(), /default: gpt-5\b/, 'nothing is written yet');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByLabel('Search').fill('mini');
    await page
      .getByRole('button', { name: /gpt-5-mini/ })
      .first()
      .click();
    await main.getByText('gpt-5-mini', { exact: true }).waitFor();
    t.match(config(), /# mine[\s\S]*default: gpt-5-mini/);
    await main.getByLabel('Reasoning').selectOption('high');
    await until('the level is written', () => /reasoning_effort: high/.test(config()));
    await page.getByRole('button', { name: 'Choose the model for titles' }).click();
    await page.getByRole('list', { name: 'Models' }).getByRole('button').first().click();
    await page.getByRole('cell', { name: 'box:gpt-5' }).waitFor();
    await page.getByRole('button', { name: 'Titles: back to the main model' }).click();
    await until('it is taken back', () => !/title/.test(config()));
    t.same(errors, []);
  },
);

await t.test(
  'a provider is added with its key, which lands in .env alone; one that does not answer says why',
  { timeout: 200_000 },
  async (t) => {
    const { page } = await browser.open(`${dashboard.address}models`);
    await page.getByRole('tab', { name: 'Providers' }).click();
    await page
      .getByText('Needs a sign-in')
      .or(page.getByText(/needs a sign-in/i))
      .first()
      .waitFor();
    await page.getByRole('button', { name: 'Test gone' }).click();
    await page
      .getByText(/bad port|ECONNREFUSED/)
      .last()
      .waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'models-providers');
    await page.getByRole('button', { name: 'Add provider' }).click();
    await page.getByLabel('Name').fill('lab');
    await page.getByLabel('Address').fill(openai.url);
    await page.getByLabel('Key', { exact: true }).fill('sk-lab-9876543210zyxwvu');
    await keepScreenshot(page, 'models-add');
    await page.getByRole('button', { name: 'Add and test' }).click();
    await page.getByText('lab is added and answers').waitFor();
    await page.getByRole('heading', { name: 'lab' }).waitFor();
    t.match(readFileSync(home.env, 'utf8'), /LAB_API_KEY=sk-lab-9876543210zyxwvu/);
    t.match(config(), /lab:[\s\S]*key_env: LAB_API_KEY/);
    t.notMatch(config(), /sk-lab/);
  },
);

await t.test('auth.13 a key is shown only where one asks for it; set, replaced and removed', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}models`);
  await page.getByRole('tab', { name: 'Keys' }).click();
  await page.getByText('BOX_KEY', { exact: true }).waitFor();
  t.notMatch(await page.content(), 'sk-box-1234567890');
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'models-keys');
  await page.getByRole('button', { name: 'Show BOX_KEY' }).click();
  await page.getByText('sk-box-1234567890abcdefgh').waitFor();
  await page.getByRole('button', { name: 'Hide BOX_KEY' }).click();
  await page.getByRole('button', { name: 'Show BOX_KEY' }).waitFor();
  t.notMatch(await page.content(), 'sk-box-1234567890');
  await page.getByRole('button', { name: 'Set OPENAI_API_KEY' }).click();
  t.equal(await page.getByLabel('Value').getAttribute('type'), 'password');
  await page.getByLabel('Value').fill('sk-set-in-the-page-123');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Remove OPENAI_API_KEY' }).click();
  await page.getByRole('button', { name: 'Remove', exact: true }).click();
  await page.getByRole('button', { name: 'Set OPENAI_API_KEY' }).waitFor();
  t.notMatch(readFileSync(home.env, 'utf8'), 'OPENAI_API_KEY');
});

await t.test('a sign-in shows its code, waits, and the provider is ready; signing out takes it back', { timeout: 200_000 }, async (t) => {
  const { page } = await browser.open(`${dashboard.address}models`);
  await page.getByRole('tab', { name: 'Providers' }).click();
  await page.getByRole('button', { name: 'Sign in' }).click();
  const code = await page.getByTestId('user-code').innerText();
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'models-sign-in');
  await walkForms(`${server.issuer}/device`, { fields: { user_code: code } });
  await page.getByRole('button', { name: 'Sign out' }).click({ timeout: 30_000 });
  await page.getByRole('dialog').getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
});

await t.test('dark, and on a phone', { timeout: 200_000 }, async (t) => {
  await using phone = await startBrowser({ width: 390, height: 844, phone: true, colorScheme: 'dark' });
  const { page } = await phone.open(`${dashboard.address}models`);
  await page.getByRole('table', { name: 'Side work' }).waitFor();
  t.same(await accessibilityFaults(page), []);
  t.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, 'nothing is wider than the screen');
  await keepScreenshot(page, 'models-phone-dark');
  await page.getByRole('tab', { name: 'Providers' }).click();
  await page.getByRole('heading', { name: 'box' }).waitFor();
  await keepScreenshot(page, 'models-providers-phone-dark');
});
