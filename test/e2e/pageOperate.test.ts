/** Files, Analytics, Doctor and the panel of a worker on the whole real service: the main act of each and one failure. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { sessionCreate, promptSubmit, sessionHistory } from '../../ipc/contracts/rpc.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

const HOSTILE = '<img src=x onerror="window.hacked=1">.txt';
/** Drawn as it stands it would read `billexe.pdf`. */
const TURNED = 'bill\u202Efdp.exe';

t.test('places that operate the service', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  const root = join(home.root, '..', 'files');
  mkdirSync(join(root, 'notes'), { recursive: true });
  writeFileSync(
    join(root, 'notes', 'plan.md'),
    '# The plan\n\n<script>window.hacked=2</script>\n\n- one\n- [two](javascript:window.hacked=3)\n',
  );
  writeFileSync(join(root, HOSTILE), 'words of the file');
  writeFileSync(join(root, TURNED), 'MZ');
  home.write('config.yaml', `dashboard:\n  files_root: ${root}\n`);
  home.write('logs/bridge.log', '<img src=x onerror="window.hacked=4">\n');
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const address = `http://127.0.0.1:${service.port}/`;
  const { page, errors } = await browser.open(address);
  const go = (place: string) => page.getByRole('navigation', { name: 'Places' }).getByRole('link', { name: place, exact: true }).click();

  await t.test('analytics say what to do while there is nothing, then show tokens by day and model', async (t) => {
    await go('Analytics');
    await page.getByText('Nobody talked to a model in the last 30 days').waitFor();
    t.same(await accessibilityFaults(page), []);
    using agent = await service.link('agent');
    const { session_id } = await agent.call(sessionCreate, {});
    await agent.call(promptSubmit, { session_id, text: 'say: 20 words' });
    await until('it has answered', async () =>
      (await agent.call(sessionHistory, { session_id })).messages.some(({ role }) => role === 'assistant'),
    );
    await until('figures are there', async () => {
      await page.getByRole('button', { name: '7 days' }).click();
      await page.reload();
      const empty = page.getByText(/Nobody talked to a model/);
      await page.getByRole('table', { name: 'By day' }).or(empty).first().waitFor();
      return (await empty.count()) === 0;
    });
    await page.getByRole('table', { name: 'By model' }).getByText('rehearsal').first().waitFor();
    await page.locator('canvas').first().waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'analytics');
  });

  await t.test('files: names and contents of strangers stay text; upload, replace, folder, trash', async (t) => {
    await go('Files');
    const table = page.getByRole('table', { name: 'Files' });
    await table.getByText(HOSTILE).waitFor();
    await table.getByRole('button', { name: 'bill\\u202efdp.exe', exact: true }).click();
    await page.getByRole('dialog', { name: 'bill\\u202efdp.exe' }).waitFor();
    await page.keyboard.press('Escape');
    t.notOk((await page.locator('body').innerText()).includes('\u202E'), 'nothing that is drawn turns the line');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'files');
    await table.getByRole('button', { name: HOSTILE, exact: true }).click();
    await page.getByRole('dialog').getByText('words of the file').waitFor();
    await page.keyboard.press('Escape');
    await table.getByRole('button', { name: 'notes', exact: true }).click();
    await page.getByRole('button', { name: 'plan.md', exact: true }).click();
    await page.getByRole('dialog').getByRole('heading', { name: 'The plan' }).waitFor();
    await keepScreenshot(page, 'files-preview');
    t.same(await accessibilityFaults(page), []);
    await page.keyboard.press('Escape');

    const upload = (text: string) =>
      page.locator('input[type=file]').setInputFiles({ name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from(text) });
    await upload('first');
    await table.getByRole('button', { name: 'up.txt', exact: true }).waitFor();
    t.equal(readFileSync(join(root, 'notes', 'up.txt'), 'utf8'), 'first');
    await upload('second');
    await page
      .getByRole('alert')
      .getByText(/is there already/)
      .waitFor();
    await page.getByRole('button', { name: 'Replace it' }).click();
    await until('it is replaced', () => readFileSync(join(root, 'notes', 'up.txt'), 'utf8') === 'second');

    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download up.txt' }).click();
    t.equal((await saved).suggestedFilename(), 'up.txt');
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name').fill('inner');
    const made: string[] = [];
    page.on('request', (request) => void (request.url().endsWith('/api/files/mkdir') && made.push(request.method())));
    // Two keys before the page is drawn again.
    await page.evaluate('for (const form of [1, 2].map(() => document.querySelector("[role=dialog] form"))) form.requestSubmit()');
    await table.getByRole('button', { name: 'inner', exact: true }).waitFor();
    t.same(made, ['POST'], 'it is asked for once');
    const many = Array.from({ length: 7 }, (_, n) => ({ name: `many-${n}.txt`, mimeType: 'text/plain', buffer: Buffer.from(`${n}`) }));
    await page.locator('input[type=file]').setInputFiles(many);
    await until('all of them came', () => many.every(({ name }) => existsSync(join(root, 'notes', name))));
    await page.getByRole('list', { name: 'Uploads' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete up.txt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await until('it is in the trash', () => !existsSync(join(root, 'notes', 'up.txt')));
    t.ok(existsSync(join(root, '.agent-trash')));
    await page.getByRole('button', { name: 'Undo' }).click();
    await until('it is back where it was', () => existsSync(join(root, 'notes', 'up.txt')));
    await page.getByRole('button', { name: 'Delete up.txt' }).waitFor();

    await page.setViewportSize({ width: 390, height: 780 });
    await table.getByRole('button', { name: 'many-6.txt', exact: true }).waitFor();
    const heights = await page.evaluate<number[]>('[...document.querySelectorAll("tbody tr")].map((row) => row.offsetHeight)');
    t.ok(
      heights.every((height) => height <= 72),
      `rows of two lines on a phone: ${heights.join(' ')} px`,
    );
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'files-phone');
    await page.setViewportSize({ width: 1280, height: 800 });

    await page.goto(`${address}files?path=${encodeURIComponent('/etc')}`);
    await page
      .getByRole('alert')
      .getByText(/not below the root/)
      .waitFor();
    t.equal(await page.evaluate('window.hacked'), undefined);
  });

  await t.test('doctor runs the checks, shows a remedy for each that fails, and the size of the prompt', async (t) => {
    await go('Doctor');
    await page.getByText('Not checked yet').waitFor();
    await page.getByRole('table', { name: 'Parts of the prompt' }).getByText('Total').waitFor();
    await page.getByRole('button', { name: 'Run the checks' }).click();
    await page.getByRole('region', { name: 'installation' }).waitFor();
    t.ok((await page.locator('[data-check]').count()) > 20);
    for (const row of await page.locator('[data-status=warn], [data-status=fail]').all())
      t.ok((await row.locator('div').count()) >= 2, await row.innerText());
    t.notMatch(await page.getByRole('main').innerText(), /`/, 'commands are set as code');
    t.ok((await page.locator('[data-check] code').count()) > 0);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'doctor');
  });

  await t.test('a worker opens: why, history, receipts, log, and a link to its whole log', async (t) => {
    await go('Workers');
    await page.locator('tr[data-slot=cron][data-state=ready]').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'workers');
    await page.getByRole('button', { name: 'cron: details' }).click();
    const panel = page.getByRole('dialog');
    await panel.getByText(/no abnormal end on record/).waitFor();
    await panel.getByLabel('The end of its log').waitFor();
    await panel.getByRole('button', { name: '7 d' }).click();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'worker-panel');
    await panel.getByRole('link', { name: 'Open in Logs' }).click();
    await page.waitForURL('**/logs?*file=cron*');
    await page.getByRole('log').waitFor();
  });

  await t.test('pausing takes a reason and an end', async (t) => {
    await go('Workers');
    await page.getByRole('button', { name: 'With a reason…' }).click();
    await page.getByLabel('Reason').fill('moving house');
    await page.getByLabel('For', { exact: true }).selectOption('3600');
    await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByText(/Held.*moving house.*goes on by itself in/).waitFor();
    t.match(JSON.parse(readFileSync(home.estop, 'utf8')), { reason: 'moving house' });
    await page.getByRole('switch').click();
    await page.getByText(/Scheduled jobs, fire webhooks and chat platforms run/).waitFor();
  });

  await t.test('a log of a program of the user is text, and an unknown one says which there are', async (t) => {
    await page.goto(`${address}logs?file=bridge`);
    await page.getByRole('log').getByText('<img src=x').waitFor();
    t.equal(await page.evaluate('window.hacked'), undefined);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'logs');
    await page.goto(`${address}logs?file=nobody`);
    await page.getByText(/There is no log "nobody"/).waitFor();
  });

  await t.test('a shell outlives a restart of the dashboard; a second tab is another shell', async (t) => {
    await go('Terminal');
    await page.getByRole('banner').getByText(/sh$/).waitFor();
    await page.keyboard.type('marked=still-here\n');
    const { pid } = await service.worker('dashboard');
    await fetch(`${address}api/workers/dashboard/restart`, {
      method: 'POST',
      headers: { 'X-Agent-Session-Token': readFileSync(home.run.dashboardToken, 'utf8').trim() },
    });
    await until('another dashboard serves', async () => {
      const now = await service.worker('dashboard');
      return now.state === 'ready' && now.pid !== pid;
    });
    await page.getByTestId('terminal').first().click();
    await page.keyboard.type('echo "so $marked"\n');
    await page.getByTestId('terminal').getByText('so still-here').first().waitFor();
    await page.getByRole('button', { name: 'Another shell' }).click();
    await page.getByRole('tab', { name: /^2/ }).and(page.locator('[aria-selected=true]')).waitFor();
    await until('both shells run', async () => (await page.getByRole('tab').allInnerTexts()).every((name) => /sh$/.test(name)));
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'terminal');
    await page.getByRole('button', { name: 'Close this shell' }).click();
    t.equal(await page.getByRole('tab').count(), 1);
  });

  const complaints = errors.filter((text) => !/WebSocket|Failed to load resource|ERR_CONNECTION/.test(text));
  t.same(complaints, [], 'no exception and no violated policy');
});
