/** The place for chat platforms in a real Chromium, on the whole real service. */
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';

await ensurePage();
t.setTimeout(240_000);

const fits = 'document.documentElement.scrollWidth <= innerWidth';

t.test('a platform is set up, connected, tried, and says what is wrong when its server goes', { timeout: 200_000 }, async (t) => {
  await using server = await startNgircd({ password: 'secret-of-the-irc-server' });
  using home = testHome();
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(`http://127.0.0.1:${service.port}/platforms`);
  const irc = page.locator('[data-platform=irc]');

  await t.test('what is not set up says how; the form takes settings and a secret, and the gateway is started', async (t) => {
    await irc.getByText('Not set up').waitFor();
    await irc.getByRole('button', { name: 'Set up' }).click();
    t.match(await irc.innerText(), /Choose the server[\s\S]*Say who may talk to it/);
    await irc.getByLabel('Server', { exact: true }).fill('127.0.0.1');
    await irc.getByLabel('Port', { exact: true }).fill(String(server.port));
    await irc.getByLabel('Rooms', { exact: true }).fill('#room, #other');
    await irc.getByLabel('People who may talk to it', { exact: true }).fill('*');
    await irc.getByLabel('Password', { exact: true }).fill('wrong-password-0');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'platforms-form');
    await irc.getByRole('button', { name: 'Save and switch on' }).click();
    await irc.getByText('Gateway stopped', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByText('Running', { exact: true }).waitFor();
  });

  await t.test(
    'a refused password is named with what to correct; the corrected one connects after the restart that is asked for',
    async (t) => {
      await irc.getByText('Cannot connect').waitFor();
      t.match(await irc.innerText(), /password[\s\S]*IRC_PASSWORD in \.env/i);
      await keepScreenshot(page, 'platforms-fatal');
      await irc.getByRole('button', { name: 'Settings' }).click();
      t.match(await irc.innerText(), /Set to ••••rd-0; leave this empty to keep it/);
      await irc.getByLabel('Password', { exact: true }).fill('secret-of-the-irc-server');
      await irc.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('IRC: changed since the gateway was started').waitFor();
      await irc.getByRole('button', { name: 'Test' }).click();
      await irc.getByText(/It works/).waitFor();
      await page.getByRole('button', { name: 'Restart' }).click();
      await irc.getByText('Connected', { exact: true }).waitFor();
      t.same(await accessibilityFaults(page), []);
      await keepScreenshot(page, 'platforms');
      t.notMatch(await page.content(), /secret-of-the-irc-server/, 'nothing secret is in the page');
    },
  );

  await t.test('when the server goes, the card says so and a trial says why; switched off it is off', async () => {
    await server.kill();
    await irc.getByText('Not connected').waitFor();
    await irc.getByRole('button', { name: 'Test' }).click();
    await irc.getByText('It did not connect').waitFor();
    await irc.getByRole('switch', { name: 'IRC is on' }).click();
    await irc.getByText('Off', { exact: true }).waitFor();
  });
  t.same(
    errors.filter((text) => !/WebSocket|Failed to load resource|ERR_CONNECTION/.test(text)),
    [],
  );
});

t.test('on a phone, in the dark, it fits and can be read', { timeout: 200_000 }, async (t) => {
  using home = testHome({ 'config.yaml': 'platforms: { irc: { enabled: false } }\n' });
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser({ width: 390, height: 780, phone: true, colorScheme: 'dark' });
  const { page } = await browser.open(`http://127.0.0.1:${service.port}/platforms`);
  await page.locator('[data-platform=irc]').getByText('Off', { exact: true }).waitFor();
  await page.locator('[data-platform=irc]').getByRole('button', { name: 'Settings' }).click();
  t.ok(await page.evaluate(fits));
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'platforms-phone');
});
