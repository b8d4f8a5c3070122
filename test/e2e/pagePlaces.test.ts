/** The other places of the page on the whole real service, and its look: workers, logs, terminal, phone, dark, contrast. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

/** Text colours and what they may stand on; AA asks for 4.5. */
const pairs = [
  ['ink', 'paper'],
  ['ink', 'surface'],
  ['ink', 'sunken'],
  ['ink', 'tint'],
  ['soft', 'paper'],
  ['soft', 'surface'],
  ['soft', 'sunken'],
  ['soft', 'tint'],
  ['faint', 'paper'],
  ['faint', 'surface'],
  ['faint', 'sunken'],
  ['accent', 'paper'],
  ['accent', 'tint'],
  ['on-accent', 'accent'],
  ['good', 'good-tint'],
  ['warn', 'warn-tint'],
  ['warn', 'surface'],
  ['bad', 'bad-tint'],
  ['bad', 'surface'],
  ['ink', 'warn-tint'],
  ['ink', 'bad-tint'],
  ['ink', 'good-tint'],
] as const;

const contrastScript = `((pairs) => {
  const probe = document.body.appendChild(document.createElement('span'));
  const channels = (name) => {
    probe.style.color = 'var(--color-' + name + ')';
    return getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map(Number);
  };
  const luminance = (name) => {
    const [r, g, b] = channels(name).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratios = pairs.map(([a, b]) => {
    const [high, low] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
    return { pair: a + ' on ' + b, ratio: Math.round(((high + 0.05) / (low + 0.05)) * 100) / 100 };
  });
  probe.remove();
  return ratios.filter(({ ratio }) => ratio < 4.5);
})(${JSON.stringify(pairs)})`;

t.test('workers, logs and terminal on the running service', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const address = `http://127.0.0.1:${service.port}/`;
  const { page, errors } = await browser.open(address);
  const row = (slot: string) => page.locator(`tr[data-slot=${slot}]`);

  await t.test('the table shows every worker and how it is; a killed one is seen to come back, with its end in a sentence', async (t) => {
    await page.getByRole('link', { name: 'Workers' }).click();
    for (const slot of ['agent', 'dashboard', 'cron']) await row(slot).and(page.locator('[data-state=ready]')).waitFor();
    t.match(await row('terminal').innerText(), 'on demand');
    await until('cron has served for a second', async () => Date.now() - Date.parse((await service.worker('cron')).since) > 1_200);
    process.kill((await service.worker('cron')).pid!, 'SIGKILL');
    await row('cron')
      .getByText(/SIGKILL/)
      .waitFor();
    await row('cron').and(page.locator('[data-state=ready]')).waitFor();
    t.equal(await row('cron').locator('td').nth(3).innerText(), '1');
  });

  await t.test('restart is a button that answers with the receipt; stop asks first', async (t) => {
    const { pid } = await service.worker('cron');
    await page.getByRole('button', { name: 'Restart cron' }).click();
    await page.getByText(/cron: restart done, ready after/).waitFor();
    t.not((await service.worker('cron')).pid, pid);
    await page.getByRole('button', { name: 'Stop cron' }).click();
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop it' }).click();
    await row('cron').and(page.locator('[data-state=down]')).waitFor();
    await page.getByRole('button', { name: 'Start cron' }).click();
    await row('cron').and(page.locator('[data-state=ready]')).waitFor();
  });

  await t.test('the switch pauses automation and lifts it again', async (t) => {
    const toggle = page.getByRole('switch');
    await toggle.click();
    await page.getByText(/Held.*paused in the dashboard/).waitFor();
    t.ok(existsSync(home.estop));
    await toggle.click();
    await page.getByText(/Scheduled jobs, fire webhooks and chat platforms run/).waitFor();
    t.notOk(existsSync(home.estop));
  });

  await t.test('the dashboard restarts itself, with a new token, and the page is connected again', async (t) => {
    const { pid } = await service.worker('dashboard');
    await page.evaluate('window.marked = true');
    await page.getByRole('button', { name: 'Restart dashboard' }).click();
    await until('another one serves', async () => {
      const now = await service.worker('dashboard');
      return now.state === 'ready' && now.pid !== pid;
    });
    await page.getByTestId('connection').getByText('Connected').waitFor();
    await row('agent').and(page.locator('[data-state=ready]')).waitFor();
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByRole('log').getByText('ready').first().waitFor();
    t.ok(await page.evaluate('window.marked === true'));
  });

  await t.test('a log is followed as it is written, filtered by level and by words, and a line opens', async (t) => {
    await page.getByLabel('File').selectOption('gui');
    await fetch(`${address}api/no-such-thing-${process.pid}`).catch(() => {});
    const line = page.getByRole('log').getByText(`no-such-thing-${process.pid}`);
    await line.first().waitFor();
    await line.first().click();
    await page.getByRole('log').getByRole('definition').getByText('dashboard').first().waitFor();
    await page.getByLabel('Search in the lines').fill(`no-such-thing-${process.pid}`);
    await page
      .getByRole('status')
      .getByText(/^1 of [\d,]+ lines/)
      .waitFor();
    await page.getByLabel('Search in the lines').fill('');
    await page.getByLabel('From level').selectOption('error');
    await page.getByText('Nothing has been written here at this level.').waitFor();
    t.pass();
  });

  await t.test('a terminal opens on demand and runs what is typed', async (t) => {
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('banner').getByText(/sh$/).waitFor();
    await page.keyboard.type('echo "kernel $(uname -s)"\n');
    await page.getByTestId('terminal').getByText('kernel Linux').waitFor();
    t.equal((await service.worker('terminal')).state, 'ready');
    await page.keyboard.type('exit\n');
    await page.getByText('The shell has ended.').waitFor();
    await page.getByRole('button', { name: 'Open another' }).click();
    await page.getByRole('banner').getByText(/sh$/).waitFor();
  });

  await t.test('the theme follows the system until it is chosen', async (t) => {
    const dark = () =>
      page.evaluate<boolean>(`matchMedia('(prefers-color-scheme: dark)').matches || document.documentElement.dataset.theme === 'dark'`);
    t.equal(await dark(), false);
    t.same(await page.evaluate(contrastScript), [], 'light colours can be read');
    await page.getByRole('button', { name: /Theme: system/ }).click();
    await page.getByRole('button', { name: /Theme: light/ }).click();
    t.equal(await dark(), true);
    t.same(await page.evaluate(contrastScript), [], 'dark colours can be read');
    await page.getByRole('button', { name: /Theme: dark/ }).click();
  });

  const complaints = errors.filter((text) => !/WebSocket|Failed to load resource|ERR_CONNECTION/.test(text));
  t.same(complaints, [], 'no exception and no violated policy; losing the dashboard for a moment is none');
});

t.test('on a phone every place fits the width, and the menu is a drawer', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser({ width: 375, height: 700, phone: true, colorScheme: 'dark' });
  const { page } = await browser.open(`http://127.0.0.1:${service.port}/`);
  await page.getByRole('button', { name: /run: uname -a/ }).tap();
  await page.locator('[data-tool=terminal][data-state=done]').waitFor();
  for (const place of ['', 'workers', 'logs', 'terminal']) {
    if (place) {
      await page.getByRole('button', { name: 'Menu' }).tap();
      await page
        .getByRole('dialog')
        .getByRole('link', { name: new RegExp(place, 'i') })
        .tap();
      await page.waitForURL(`**/${place}`);
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    t.ok(
      await page.evaluate('document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth'),
      place || 'chat',
    );
  }
});
