/** Pictures and files of a chat in the page: shown in a place that is kept for them, opened large, saved; hostile ones never run. */
import { readFileSync, rmSync } from 'node:fs';
import { crc32, deflateSync } from 'node:zlib';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { promptSubmit } from '../../ipc/contracts/rpc.ts';
import { connect } from '../harness/agentClient.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { answered, ask, prompts } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();

/** A real PNG: stripes of two colours. */
function png(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(data.length, 0);
    ends.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Array.from({ length: height }, (_, y) =>
    Buffer.from([0, ...Array.from({ length: width }, (__, x) => ((x + y) % 40 < 20 ? [178, 74, 42] : [244, 222, 190])).flat()]),
  );
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const script = '<script>document.title = "taken over"</script>';
const picture = png(900, 500);

t.test('what was sent with a message is there to be looked at', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser({ height: 900 });
  const { page, errors } = await browser.open(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  const files = page.getByRole('list', { name: 'Attached files' }).last();
  const stripes = files.getByRole('button', { name: /^Open stripes\.png/ });

  await t.test('a picture is shown after it was sent and after a reload, in a frame that is as large before as after', async (t) => {
    await page.getByTestId('files').setInputFiles([
      { name: 'stripes.png', mimeType: 'image/png', buffer: picture },
      { name: 'page.png', mimeType: 'image/png', buffer: Buffer.from(`<!doctype html>${script}`) },
      { name: 'drawing.svg', mimeType: 'image/svg+xml', buffer: Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg">${script}</svg>`) },
    ]);
    await ask(page, 'look at these');
    const drawn = () => stripes.locator('img').evaluate((image: { naturalWidth: number }) => image.naturalWidth);
    await until('it is drawn', async () => (await drawn()) === 900);
    let held: (() => void) | undefined;
    const hold = new Promise<void>((resolve) => (held = resolve));
    await page.route('**/attachments/*', async (route) => {
      await hold;
      await route.continue();
    });
    await page.reload();
    await answered(page, 'look at these');
    await stripes.waitFor();
    t.equal(await stripes.getAttribute('data-picture'), 'waiting');
    const before = await prompts(page).last().boundingBox();
    held!();
    await until('it is drawn', async () => (await drawn()) === 900);
    await page.unroute('**/attachments/*');
    t.same(await prompts(page).last().boundingBox(), before, 'nothing moved');
    t.equal(await files.locator('img').count(), 1, 'what only calls itself a picture is none');
  });

  await t.test('it opens large by the keyboard, says its name, and Escape closes it and goes back to where it was', async (t) => {
    await stripes.focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'stripes.png' });
    const image = dialog.getByRole('img', { name: 'stripes.png' });
    await image.waitFor();
    await until('it is large', async () => ((await image.boundingBox())?.width ?? 0) > 600);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'chat-picture');
    const download = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Save' }).click();
    const saved = await download;
    t.equal(saved.suggestedFilename(), 'stripes.png');
    t.ok(readFileSync(await saved.path()).equals(picture));
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await until('the focus is back', async () => (await page.evaluate('document.activeElement.title')) === 'stripes.png');
  });

  await t.test('a page that calls itself a picture and a drawing with a script are saved, not opened', async (t) => {
    for (const name of ['page.png', 'drawing.svg']) {
      const download = page.waitForEvent('download');
      await files.getByRole('button', { name: new RegExp(`^Save ${name}`) }).click();
      const saved = await download;
      t.equal(saved.suggestedFilename(), name);
      t.match(readFileSync(await saved.path(), 'utf8'), script);
    }
    t.notMatch(await page.title(), /taken over/);
    t.same(await accessibilityFaults(page), []);
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme });
      await keepScreenshot(page, `chat-files-${colorScheme}`);
    }
  });

  await t.test('a picture that cannot be drawn, and one whose copy was lost, say so and keep their place', async (t) => {
    await page.getByTestId('files').setInputFiles([
      { name: 'torn.png', mimeType: 'image/png', buffer: picture.subarray(0, 20) },
      { name: 'lost.png', mimeType: 'image/png', buffer: png(30, 30) },
    ]);
    await ask(page, 'and these');
    const torn = files.getByRole('button', { name: /^Open torn\.png/ });
    await until('it is known', async () => (await torn.getAttribute('data-picture')) === 'failed');
    await torn.click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('It cannot be shown as a picture').waitFor();
    t.ok(await dialog.getByRole('button', { name: 'Save' }).isEnabled());
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    rmSync(join(home.root, 'attachments'), { recursive: true });
    await using other = await startBrowser({ width: 390, height: 780, phone: true });
    const { page: small, errors: refusals } = await other.open(page.url());
    const lost = small.getByRole('button', { name: /^Open lost\.png/ });
    await until('it is known', async () => (await lost.getAttribute('data-picture')) === 'failed');
    t.match(await lost.boundingBox(), { width: 128, height: 128 });
    await lost.click();
    await small.getByRole('dialog').getByText('Attach the file again').waitFor();
    t.same(await accessibilityFaults(small), []);
    t.ok(await small.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the screen');
    await keepScreenshot(small, 'chat-picture-lost-phone');
    t.ok(
      refusals.every((line) => line.includes('410')),
      refusals.join('\n'),
    );
  });

  await t.test('a large picture is read when it is asked for', async (t) => {
    using client = await connect(agent);
    const session_id = await client.create();
    const large = Buffer.concat([png(200, 100), Buffer.alloc(6 * 2 ** 20)]);
    t.ok(large.length < limits.attachments.fileMaxBytes);
    await client.link.call(promptSubmit, {
      session_id,
      text: 'say: 1 word',
      attachments: [{ name: 'large.png', data_base64: large.toString('base64') }],
    });
    const asked: string[] = [];
    page.on('request', (request) => request.url().includes('/attachments/') && asked.push(request.url()));
    await page.goto(new URL(`/chat/${session_id}`, dashboard.address).href);
    await answered(page, 'say: 1 word');
    const thumbnail = page.getByRole('button', { name: /^Open large\.png 6\.3 MB/ });
    await thumbnail.waitFor();
    t.same(asked, []);
    await thumbnail.click();
    await page.getByRole('dialog').getByRole('img', { name: 'large.png' }).waitFor();
    t.equal(asked.length, 1);
    await page.keyboard.press('Escape');
  });

  t.same(errors, [], 'nothing was said on the console');
});
