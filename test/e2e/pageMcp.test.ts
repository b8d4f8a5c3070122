/** The place of tool servers in a real Chromium, on the whole real service, with a real npm against a registry on loopback. */
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { everything } from '../harness/mcp.ts';
import { serverProgram, startRegistry } from '../harness/npmRegistry.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

const evil = '<img src=x onerror=window.hacked=1>';

t.test('servers are added, tested, switched, installed and removed in the page', { timeout: 200_000 }, async (t) => {
  await using registry = await startRegistry(
    '@modelcontextprotocol/server-memory',
    '2026.8.31',
    'mcp-server-memory',
    serverProgram([{ name: evil, description: `${evil} ${'long '.repeat(400)}`, inputSchema: { type: 'object' } }]),
  );
  using home = testHome({ '.npmrc': `registry=${registry.address}\n` });
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(`http://127.0.0.1:${service.port}/mcp`);
  const card = (name: string) =>
    page
      .getByRole('list', { name: 'Servers' })
      .getByRole('listitem')
      .filter({ has: page.getByRole('heading', { name, exact: true }) });
  const dialog = page.getByRole('dialog');

  await t.test('without servers it says what one is and where to begin', async (t) => {
    await page.getByText('No tool servers yet').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'mcp-empty');
  });

  await t.test('a program with a secret is added: connected, its secret in .env alone, and hidden here', async (t) => {
    await page.getByRole('banner').getByRole('button', { name: 'Add a server' }).click();
    await dialog.getByLabel('Name').fill('every thing');
    await dialog.getByLabel('Command').fill(`${process.execPath} '${everything}'`);
    await dialog.getByLabel('Environment').fill('API_KEY=s3cret-of-mine\nLEVEL=info');
    t.same(await accessibilityFaults(page), []);
    await dialog.getByRole('button', { name: 'Add' }).click();
    await dialog.getByText('"every thing" is not a server name').waitFor();
    await dialog.getByLabel('Name').fill('everything');
    await keepScreenshot(page, 'mcp-add');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await card('everything').getByText('connected').waitFor();
    t.match(readFileSync(home.env, 'utf8'), /MCP_EVERYTHING_API_KEY=.*s3cret-of-mine/);
    t.notMatch(readFileSync(home.config, 'utf8'), /s3cret/);
    t.match(await card('everything').innerText(), /API_KEY=\$\{MCP_EVERYTHING_API_KEY\}\s+LEVEL=\[redacted\]/);
  });

  await t.test('a test answers with the time and the number of tools; the tools can be read', async (t) => {
    await page.getByRole('button', { name: 'Test everything' }).click();
    await card('everything')
      .getByText(/It answers after .* with \d+ tools/)
      .waitFor();
    await card('everything')
      .getByText(/^\d+ tools$/)
      .click();
    await card('everything').getByText('echo', { exact: true }).waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'mcp-servers');
  });

  await t.test('off and on again', async (t) => {
    await page.getByRole('switch', { name: 'everything is on' }).click();
    await card('everything').getByText('off', { exact: true }).waitFor();
    t.match(readFileSync(home.config, 'utf8'), /enabled: false/);
    await page.getByRole('switch', { name: 'everything is on' }).click();
    await card('everything').getByText('connected').waitFor();
  });

  await t.test('a server that fails says why and what to do; one that wants a sign-in says so', async (t) => {
    const gate = createServer((_request, reply) => reply.writeHead(401).end());
    await new Promise<void>((resolve) => gate.listen(0, '127.0.0.1', resolve));
    t.teardown(() => gate.close());
    await page.getByRole('banner').getByRole('button', { name: 'Add a server' }).click();
    await dialog.getByLabel('Name').fill('lost');
    await dialog.getByLabel('Command').fill('no-such-program');
    await dialog.getByRole('button', { name: 'Add' }).click();
    await card('lost')
      .getByText(/"no-such-program" is not on the PATH/)
      .waitFor();
    await card('lost')
      .getByText(/full path in mcp_servers.lost.command/)
      .waitFor();
    await page.getByRole('banner').getByRole('button', { name: 'Add a server' }).click();
    await dialog.getByLabel('Name').fill('gated');
    await dialog.getByLabel('What is it?').selectOption('url');
    await dialog.getByLabel('Address').fill(`http://127.0.0.1:${(gate.address() as { port: number }).port}/mcp`);
    await dialog.getByLabel('Address').press('Enter');
    await card('gated').getByText('needs sign-in').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'mcp-failed');
    for (const name of ['lost', 'gated']) {
      await page.getByRole('button', { name: `Remove ${name}` }).click();
      await dialog.getByRole('button', { name: 'Remove' }).click();
      await dialog.waitFor({ state: 'detached' });
    }
  });

  await t.test('the catalogue is searched, asks for what is needed, and installs with its progress in view', async (t) => {
    await page.getByRole('tab', { name: 'Catalogue' }).click();
    await page.getByRole('button', { name: 'Install Brave Search' }).click();
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText('it is needed', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'mcp-catalogue');
    await page.getByLabel('Search the catalogue').fill('knowledge');
    await until('one is left', async () => (await page.getByRole('list', { name: 'Catalogue' }).getByRole('listitem').count()) === 1);
    await page.getByRole('button', { name: 'Install Knowledge graph' }).click();
    await dialog.getByRole('button', { name: 'Install' }).click();
    await dialog.getByText(/Fetching @modelcontextprotocol\/server-memory@2026.8.31/).waitFor();
    await keepScreenshot(page, 'mcp-install');
    await card('memory').getByText('connected').waitFor({ timeout: 40_000 });
    t.ok(registry.fetched.length >= 1, 'it came from the registry');
    t.match(readFileSync(home.config, 'utf8'), /memory:\s+command: npx/);
  });

  await t.test('names and descriptions of tools are a stranger’s text: shown as text, and cut', async (t) => {
    await card('memory').getByText('1 tool').click();
    await card('memory').getByText(evil, { exact: true }).waitFor();
    const description = await card('memory')
      .getByText(/long long/)
      .innerText();
    t.ok(description.length <= 600, String(description.length));
    t.equal(await page.evaluate('window.hacked'), undefined);
    await keepScreenshot(page, 'mcp-stranger');
  });

  await t.test('removed: gone from config.yaml, and its secret from .env', async (t) => {
    await page.getByRole('button', { name: 'Remove everything' }).click();
    await dialog.getByRole('button', { name: 'Remove' }).click();
    await dialog.waitFor({ state: 'detached' });
    await until('it is gone', async () => (await card('everything').count()) === 0);
    t.notMatch(readFileSync(home.env, 'utf8'), /s3cret/);
    t.notMatch(readFileSync(home.config, 'utf8'), /everything/);
  });
  t.same(
    errors.filter((text) => !/422|Failed to load resource/.test(text)),
    [],
  );

  await t.test('on a phone in the dark everything fits', async (t) => {
    await using phone = await startBrowser({ width: 390, height: 800, phone: true, colorScheme: 'dark' });
    const { page: small } = await phone.open(`http://127.0.0.1:${service.port}/mcp`);
    await small.getByRole('heading', { name: 'memory' }).waitFor();
    const fits = () => small.evaluate('document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth');
    t.ok(await fits());
    t.same(await accessibilityFaults(small), []);
    await keepScreenshot(small, 'mcp-phone-dark');
    await small.getByRole('tab', { name: 'Catalogue' }).tap();
    await small.getByRole('button', { name: 'Install Notion' }).waitFor();
    t.ok(await fits());
    await keepScreenshot(small, 'mcp-catalogue-phone-dark');
  });
});
