/** Where a slip or a crash would cost something: second questions, a key pressed twice, a full store of the browser, work that goes on behind the page, pauses of one profile. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import * as gateway from '../../ipc/contracts/gateway.ts';
import { engagePause } from '../../state/pause.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { ask, composer, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { startNgircd } from '../harness/ngircd.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

/** Paths of the requests of one method that the page makes from now on. */
function requestsOf(page: Page, method: string): string[] {
  const seen: string[] = [];
  page.on('request', (request) => request.method() === method && seen.push(new URL(request.url()).pathname));
  return seen;
}

t.test('what cannot be taken back on the way to a chat platform is asked about first', { timeout: 200_000 }, async (t) => {
  await using server = await startNgircd({ password: 'kept-until-asked' });
  using home = testHome({
    'config.yaml': `platforms:\n  irc: { host: 127.0.0.1, port: ${server.port}, channels: ["#room"] }\n`,
    '.env': 'IRC_PASSWORD=kept-until-asked\n',
  });
  await using worker = await startWorker(home, 'gateway');
  using link = await worker.dial();
  const given = { target: 'irc:nobody', text: 'nobody has read this', idempotency_key: 'one', origin: 'cli' };
  const { delivery_id } = await link.call(gateway.enqueueDelivery, given);
  await until('it was given up', async () => (await link.call(gateway.deliveryStatus, { delivery_id })).status === 'failed');
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page } = await browser.open(`${dashboard.address}platforms`);
  const posts = requestsOf(page, 'POST');
  const puts = requestsOf(page, 'PUT');
  const dialog = page.getByRole('dialog');

  const row = page.getByRole('row', { name: /nobody has read this/ });
  await row.getByRole('button', { name: 'Discard' }).click();
  await dialog.getByText('Discard this message?').waitFor();
  t.same(await accessibilityFaults(page), []);
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await dialog.waitFor({ state: 'detached' });
  t.same(posts, [], 'nothing was asked of the service');
  await row.getByRole('button', { name: 'Discard' }).click();
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click();
  await row.waitFor({ state: 'detached' });
  t.same(posts, ['/api/messaging/undelivered/discard']);

  await page.locator('[data-platform=irc]').getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Remove IRC_PASSWORD' }).click();
  await dialog.getByText('Remove IRC_PASSWORD?').waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.same(puts, []);
  t.match(readFileSync(home.env, 'utf8'), /kept-until-asked/);
  await page.getByRole('button', { name: 'Remove IRC_PASSWORD' }).click();
  await dialog.getByRole('button', { name: 'Remove', exact: true }).click();
  await until('it is gone', () => !readFileSync(home.env, 'utf8').includes('kept-until-asked'));
});

t.test('an installation that a restart of the dashboard cut off says so instead of working for ever', { timeout: 200_000 }, async (t) => {
  // A registry that takes the request and never answers.
  const registry = createServer(() => {}).listen(0, '127.0.0.1');
  await new Promise((resolve) => registry.once('listening', resolve));
  t.teardown(() => {
    registry.closeAllConnections();
    registry.close();
  });
  using home = testHome({ '.npmrc': `registry=http://127.0.0.1:${(registry.address() as { port: number }).port}/\nfetch-retries=0\n` });
  const env = { AGENT_DASHBOARD_PORT: String(await freePort()), AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' };
  await using _broker = await startWorker(home, 'mcp');
  await using first = await startDashboard(home, { env });
  await using browser = await startBrowser();
  const { page } = await browser.open(`${first.address}mcp`);
  await page.getByRole('tab', { name: 'Catalogue' }).click();
  await page.getByRole('button', { name: 'Install Knowledge graph' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Install' }).click();
  await dialog.getByText('Working; this may take a minute.').waitFor();
  await dialog.getByText(/Fetching/).waitFor();
  await first.worker.kill('SIGKILL');
  await using _second = await startDashboard(home, { env });
  await dialog.getByText('How far it came is not known.').waitFor();
  await dialog.getByText(/See whether it stands under Servers/).waitFor();
  t.same(await accessibilityFaults(page), []);
  await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
  await dialog.waitFor({ state: 'detached' });
});

t.test(
  'under Files: Enter pressed twice makes one folder, the trash gives back, half an upload is not a file',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome();
    const root = join(home.root, '..', 'files');
    mkdirSync(join(root, 'notes'), { recursive: true });
    writeFileSync(join(root, 'notes', 'a.md'), 'first');
    writeFileSync(join(root, '.0123456789abcdef.upload'), 'half');
    home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
    const env = { AGENT_DASHBOARD_PORT: String(await freePort()), AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' };
    await using first = await startDashboard(home, { env });
    await using browser = await startBrowser();
    const { page } = await browser.open(`${first.address}files?hidden=true`);
    const table = page.getByRole('table', { name: 'Files' });
    const dialog = page.getByRole('dialog');

    await t.test('a folder', async (t) => {
      const posts = requestsOf(page, 'POST');
      await page.getByRole('button', { name: 'New folder' }).click();
      await dialog.getByLabel('Name').fill('inner');
      // Both keys arrive before the first answer does.
      await page.evaluate(`(() => {
      const form = document.querySelector('[role=dialog] form');
      form.requestSubmit();
      form.requestSubmit();
    })()`);
      await table.getByRole('button', { name: 'inner', exact: true }).waitFor();
      await dialog.waitFor({ state: 'detached' });
      t.same(posts, ['/api/files/mkdir']);
      t.equal(await page.getByRole('alert').count(), 0);
      t.equal(await table.getByText('.upload').count(), 0, 'what is half there is nobody’s file');
    });

    await t.test('the trash', async (t) => {
      const remove = async () => {
        await page.goto(`${first.address}files?path=notes`);
        await page.getByRole('button', { name: 'Delete a.md' }).click();
        await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
        await page.getByText('This folder is empty').waitFor();
      };
      await remove();
      await page.getByRole('button', { name: 'Trash', exact: true }).click();
      await dialog.getByRole('button', { name: 'Restore notes/a.md' }).waitFor();
      t.same(await accessibilityFaults(page), []);
      await keepScreenshot(page, 'files-trash');
      await dialog.getByRole('button', { name: 'Restore notes/a.md' }).click();
      await dialog.getByText('The trash is empty').waitFor();
      t.equal(readFileSync(join(root, 'notes', 'a.md'), 'utf8'), 'first');
      await page.keyboard.press('Escape');

      await remove();
      writeFileSync(join(root, 'notes', 'a.md'), 'another');
      await page.goto(`${first.address}files?path=inner`);
      await page.getByRole('button', { name: 'Trash', exact: true }).click();
      await dialog.getByRole('button', { name: 'Restore notes/a.md' }).click();
      await dialog.getByText(/a.md is there already/i).waitFor();
      await dialog.getByRole('button', { name: 'Put it into inner' }).click();
      await until('it lies in the folder that is open', () => existsSync(join(root, 'inner', 'a.md')));
      t.equal(readFileSync(join(root, 'notes', 'a.md'), 'utf8'), 'another', 'nothing was replaced');
      await page.keyboard.press('Escape');
    });
  },
);

t.test('an upload goes on while one looks elsewhere, and is heard of when it fails there', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  const root = join(home.root, '..', 'files');
  mkdirSync(root, { recursive: true });
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page } = await browser.open(`${dashboard.address}files`);
  await page.getByText('This folder is empty').waitFor();
  const line = await browser.context.newCDPSession(page);
  await line.send('Network.enable');
  const slow = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 512 * 1_024 };
  await line.send('Network.emulateNetworkConditions', slow);
  const chosen = { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(20 << 20) };
  await page.locator('input[type=file]').setInputFiles(chosen);
  const uploads = page.getByRole('list', { name: 'Uploads' });
  await uploads.getByText('large.bin').waitFor();
  const go = (place: string) => page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: place, exact: true }).click();
  await go('Logs');
  await page.getByRole('heading', { name: 'Logs' }).waitFor();
  await go('Files');
  await uploads.getByText('large.bin').waitFor();
  await uploads.getByRole('progressbar').waitFor();
  await go('Logs');
  await page.getByRole('heading', { name: 'Logs' }).waitFor();
  await dashboard.worker.kill('SIGKILL');
  await page.getByText(/large.bin was not taken: .* See Files/).waitFor();
  await go('Files');
  await uploads.getByRole('button', { name: 'Try again' }).waitFor();
  await uploads.getByRole('button', { name: 'Dismiss large.bin' }).click();
  await uploads.waitFor({ state: 'detached' });
  t.notOk(existsSync(join(root, 'large.bin')));
});

t.test('a full store of the browser costs no word: what is written stands, is sent and answered', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(dashboard.address);
  await ask(page, 'say: 2 words');
  const left = await page.evaluate<number>(`(() => {
    let size = 1 << 22;
    for (let n = 0; size > 0; n++) {
      try { sessionStorage.setItem('full' + n, 'x'.repeat(size)); } catch { size >>= 1; }
    }
    try { sessionStorage.setItem('one', 'more'); return 1; } catch { return 0; }
  })()`);
  t.equal(left, 0, 'it is full');
  await composer(page).fill('not yet');
  t.equal(await composer(page).inputValue(), 'not yet');
  const answer = await ask(page, 'say: 3 words');
  t.match(await answer.innerText(), 'alpha bravo charlie');
  t.same(errors, []);
});

t.test('words for a chat that is gone stay in their box, and say why', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page } = await browser.open(`${dashboard.address}chat/ses_gone`);
  await page.getByText('This chat cannot be shown').waitFor();
  t.same(await accessibilityFaults(page), []);
  await say(page, 'half an hour of work');
  await page.getByText('there is no session "ses_gone"').nth(1).waitFor();
  t.equal(await composer(page).inputValue(), 'half an hour of work');
  await page.getByRole('link', { name: 'Begin a new one' }).click();
  await page.getByRole('heading', { name: 'What shall we do?' }).waitFor();
});

t.test(
  'a pause of one profile is seen where the profile is chosen, on its jobs and on Workers, and is made and lifted there',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome({ 'profiles/work/SOUL.md': 'You work.', 'profiles/rest/SOUL.md': 'You rest.' });
    await using service = await startService(home);
    await service.ready();
    const work = home.profile('work').estop;
    engagePause(work, { reason: 'holidays', scope: ['cron'] });
    await using browser = await startBrowser();
    const { page } = await browser.open(`http://127.0.0.1:${service.port}/workers`);
    const toggle = (name: string) => page.getByRole('switch', { name: new RegExp(`^${name}`) });
    const sign = page.getByRole('link', { name: /^Paused: / });

    await page.getByText(/Scheduled jobs are held.*holidays/).waitFor();
    t.notOk(await toggle('Pause automation').isChecked());
    t.ok(await toggle('Pause work alone').isChecked());
    t.match(await page.getByLabel('Profile', { exact: true }).innerText(), /work \(paused\)/);
    t.equal(await sign.count(), 0, 'the profile that is looked at is not concerned');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'workers-pause-of-one');

    await page.goto(`http://127.0.0.1:${service.port}/cron?profile=work`);
    await page.getByText('Automation of work is paused', { exact: true }).waitFor();
    await sign.waitFor();
    t.equal(await sign.getAttribute('aria-label'), 'Paused: automation of work. See Workers');
    await page.getByRole('button', { name: 'Resume' }).click();
    await until('it is lifted', () => !existsSync(work));
    await sign.waitFor({ state: 'detached' });

    engagePause(home.estop, { scope: ['gateway'] });
    await sign.waitFor();
    t.equal(await page.getByText('Automation is paused', { exact: true }).count(), 0, 'a pause that leaves jobs alone is none of theirs');
    await sign.click();
    await page.getByText(/Chat platforms are held/).waitFor();
    await toggle('Pause work alone').click();
    await until('it has a pause of its own', () => existsSync(work));
    await toggle('Pause automation').click();
    await until('that of all is lifted', () => !existsSync(home.estop));
    t.ok(existsSync(work), 'and its own stays');

    await page.getByRole('button', { name: 'With a reason…' }).click();
    await page.getByRole('dialog').getByLabel('Whose').selectOption('rest');
    await page.getByRole('dialog').getByLabel('Reason').fill('quiet hours');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText(/Held.*quiet hours/).waitFor();
    t.match(JSON.parse(readFileSync(home.profile('rest').estop, 'utf8')), { reason: 'quiet hours' });
  },
);
