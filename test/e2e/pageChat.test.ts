/** What a person does in a chat beside asking: look at changes, attach, queue, change, branch, search, compress. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { answered, answers, ask, composer, prompts, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FAAhKDveksOjmAAAAAElFTkSuQmCC',
  'base64',
);
const queue = (page: Page) => page.getByRole('list', { name: 'Waiting messages' });
const menu = async (page: Page, entry: string) => {
  await page
    .locator('header')
    .getByRole('button', { name: /^More about/ })
    .click();
  await page.getByRole('menuitem', { name: entry }).click();
};
const toast = (page: Page, text: string) => page.getByRole('status').getByText(text);

t.test('a chat and everything in it', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  const dir = mkdtempSync(join(tmpdir(), 'agent-chat-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser({ height: 900 });
  const { page, errors } = await browser.open(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByText('Connected', { exact: true }).waitFor();

  await t.test('an edit is drawn as a diff, with what was taken away and what was added', async (t) => {
    const file = join(dir, 'sum.ts');
    writeFileSync(file, 'export function add(x: number, y: number) {\n  return x - y;\n}\n');
    await ask(page, `tool: patch {"path":"${file}","old_string":"x - y","new_string":"x + y"}`);
    const card = page.locator('[data-tool=patch][data-state=done]');
    t.match(await card.locator('[data-line=removed]').innerText(), /return x - y;/);
    t.match(await card.locator('[data-line=added]').innerText(), /return x \+ y;/);
    t.match(readFileSync(file, 'utf8'), 'x + y');
    await page.reload();
    await card.locator('[data-line=added]').waitFor();
  });

  await t.test('code is coloured once its language is known, and it is copied as it was written', async (t) => {
    const answer = await ask(page, 'Look:\n\n```ts\nexport const x: string = "a";\n```\n\nThat is all.');
    await answer.locator('.hljs-keyword').first().waitFor();
    t.equal(await answer.locator('figure code').innerText(), 'export const x: string = "a";');
    t.equal(await answer.getByRole('button', { name: 'Copy the code' }).count(), 1);
  });

  await t.test('the plan of the agent stands above the composer', async (t) => {
    await ask(
      page,
      'tool: todo {"todos":[{"id":"1","content":"Read the log","status":"completed"},{"id":"2","content":"Find the leak","status":"in_progress"}]}',
    );
    t.match(await page.getByTestId('plan').innerText(), /Plan 1\/2\s+Find the leak/);
  });

  await t.test(
    'files are picked, dropped and pasted; one can be left out; those that are too large are refused before they are sent',
    async (t) => {
      const strip = page.getByRole('list', { name: 'Files of this message' });
      await page.getByTestId('files').setInputFiles([
        { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
        { name: 'left-out.txt', mimeType: 'text/plain', buffer: Buffer.from('x') },
      ]);
      await strip.getByText('left-out.txt').waitFor();
      t.equal(await strip.locator('img').count(), 1, 'a picture is shown');
      await page.getByRole('button', { name: 'Leave out left-out.txt' }).click();
      for (const kind of ['drop', 'paste']) {
        await page.evaluate(`(() => {
          const data = new DataTransfer();
          data.items.add(new File(['hello'], 'by-${kind}.txt', { type: 'text/plain' }));
          const how = { bubbles: true, cancelable: true };
          const event = ${kind === 'drop'} ? new DragEvent('drop', { ...how, dataTransfer: data }) : new ClipboardEvent('paste', { ...how, clipboardData: data });
          document.querySelector('textarea').dispatchEvent(event);
        })()`);
        await strip.getByText(`by-${kind}.txt`).waitFor();
      }
      await page
        .getByTestId('files')
        .setInputFiles([{ name: 'huge.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(12_000_000, 1) }]);
      await page.getByText(/huge\.bin \(12\.0 MB\) does not fit/).waitFor();
      await ask(page, 'three files');
      t.match(await prompts(page).last().innerText(), /by-drop\.txt[\s\S]*by-paste\.txt[\s\S]*three files/);
      await page.reload();
      await answered(page, 'three files');
      await prompts(page)
        .last()
        .getByRole('button', { name: /^Open dot\.png,? 78 bytes/ })
        .waitFor();
    },
  );

  await t.test('a file that the service does not take is said with the reason, and the words are not lost', async (t) => {
    await page
      .getByTestId('files')
      .setInputFiles([{ name: 'program.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([0, 1, 2, 3]) }]);
    await say(page, 'what is this');
    const failed = page.locator('[data-outgoing=failed]');
    await failed.getByText(/program\.bin is neither a picture .* nor text/i).waitFor();
    t.match(await failed.innerText(), /what is this/);
    await failed.getByRole('button', { name: 'Discard' }).click();
    await failed.waitFor({ state: 'detached' });
  });

  await t.test('slash commands complete and are run; what they say stands in the chat of this tab', async (t) => {
    await composer(page).fill('/usa');
    await page.getByRole('option', { name: /\/usage/ }).waitFor();
    await page.keyboard.press('Tab');
    t.equal((await composer(page).inputValue()).trim(), '/usage');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page
      .locator('[data-echo=done]')
      .getByText(/demo:rehearsal/)
      .first()
      .waitFor();
    await say(page, '/nonsense');
    await page.locator('[data-echo=failed]').getByText('there is no command /nonsense').waitFor();
    await page.getByRole('region', { name: 'Output of /nonsense' }).getByRole('button', { name: 'Close' }).click();
    await composer(page).fill(`look at @${dir}/su`);
    await page.getByRole('option', { name: /sum\.ts/ }).click();
    t.equal(await composer(page).inputValue(), `look at @${dir}/sum.ts`);
    await composer(page).fill('');
  });

  await t.test('what waits can be changed, taken out and sent now', async (t) => {
    await say(page, 'slow: 60');
    await answers(page).last().getByText('Starting slowly.').waitFor();
    for (const text of ['say: 3 words', 'say: 4 words', 'say: 5 words']) {
      await say(page, text);
      await queue(page).getByText(text).waitFor();
    }
    const line = (text: string) => queue(page).getByRole('listitem').filter({ hasText: text });
    await line('say: 3 words').getByRole('button', { name: 'Take it out' }).click();
    await line('say: 3 words').waitFor({ state: 'detached' });
    await line('say: 4 words').getByRole('button', { name: 'Change it' }).click();
    await page.getByRole('textbox', { name: 'Waiting message' }).fill('say: 6 words');
    await page.keyboard.press('Enter');
    await line('say: 6 words').waitFor();
    await line('say: 5 words')
      .getByRole('button', { name: /^Send now/ })
      .click();
    await answered(page, 'say: 6 words');
    const order = (await prompts(page).allInnerTexts()).map((text) => text.trim());
    t.same(order.slice(-3), ['slow: 60', 'say: 5 words', 'say: 6 words'], 'the one that was sent now came first, the one taken out never');
  });

  await t.test('a question can be asked aside: the answer under way goes on', async (t) => {
    await say(page, 'slow: 60');
    await answers(page).last().getByText('Starting slowly.').waitFor();
    await page.getByLabel('What becomes of a message that is sent now').selectOption('aside');
    await say(page, 'say: 2 words');
    await page.locator('[data-aside]').getByText('alpha bravo').waitFor();
    t.equal(await page.getByTestId('working').count(), 1);
    await page.keyboard.press('Escape');
    await page.getByTestId('working').waitFor({ state: 'detached' });
  });

  await t.test('the last message is changed with the up arrow: the new one takes its place', async (t) => {
    await ask(page, 'say: 7 words');
    await composer(page).press('ArrowUp');
    t.equal(await composer(page).inputValue(), 'say: 7 words');
    await page.getByText('This takes the place of your last message and its answer.').waitFor();
    await ask(page, 'say: 8 words');
    t.equal(await page.locator('[data-role=user]', { hasText: 'say: 7 words' }).count(), 0);
  });

  await t.test('a draft is kept for its chat over a reload', async (t) => {
    await composer(page).fill('half a thou');
    await page.reload();
    await page.getByText('Connected', { exact: true }).waitFor();
    t.equal(await composer(page).inputValue(), 'half a thou');
    await composer(page).fill('');
  });

  await t.test('the chat is renamed, taken back by one message, branched and saved', async (t) => {
    await menu(page, 'Rename');
    await page.getByRole('textbox', { name: 'Name' }).fill('Sums and files');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Sums and files' }).waitFor();
    await menu(page, 'Take back the last message');
    await toast(page, 'The last message and its answer are taken back.').waitFor();
    await until('it is in the composer', async () => (await composer(page).inputValue()) === 'say: 8 words');
    await page.locator('[data-role=user]', { hasText: 'say: 8 words' }).waitFor({ state: 'detached' });
    await composer(page).fill('');

    const download = page.waitForEvent('download');
    await menu(page, 'Save as text');
    const saved = readFileSync(await (await download).path(), 'utf8');
    t.match(saved, /^# Sums and files[\s\S]*## You[\s\S]*three files[\s\S]*## Agent/);

    const before = page.url();
    await menu(page, 'Branch into a new chat');
    await until('another chat', () => page.url() !== before);
    await page.getByText('three files').first().waitFor();
    t.match(await page.getByRole('heading', { level: 1 }).innerText(), /Sums and files/);
  });

  await t.test('how full the context is and what it cost can be seen, and it is compressed from there', async (t) => {
    await page.getByRole('button', { name: /^Context and cost/ }).click();
    const dialog = page.getByRole('dialog', { name: 'Context and cost' });
    await dialog.getByText(/Tools \(\d+\)/).waitFor();
    await dialog.getByText('No price is known.').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'chat-context');
    await dialog.getByRole('button', { name: 'Compress' }).click();
    await dialog.getByRole('status').getByText(/\S/).first().waitFor();
    await page.keyboard.press('Escape');
  });

  await t.test('an archived chat leaves the list and comes back; a deleted one is asked about and gone', async () => {
    const title = await page.getByRole('heading', { level: 1 }).innerText();
    const entry = page
      .getByRole('list', { name: 'Chats', exact: true })
      .getByRole('link', { name: title, exact: false })
      .filter({ hasText: title });
    await menu(page, 'Archive');
    await toast(page, 'The chat is in the archive.').waitFor();
    await until('it left the list', async () => (await entry.count()) === 0);
    await page.getByRole('status').getByRole('button', { name: 'Undo' }).first().click();
    await until('it is back', async () => (await entry.count()) === 1);
    await menu(page, 'Delete…');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
    await until('it is gone', async () => (await entry.count()) === 0);
  });

  await t.test('what was said is found, and the hit opens the chat at that message', async (t) => {
    await page.getByRole('searchbox', { name: 'Find a chat' }).fill('three files');
    const hits = page.getByRole('list', { name: 'Found in chats' });
    await hits.getByRole('link').first().waitFor();
    t.ok((await hits.locator('mark').count()) > 0);
    await page.keyboard.press('ArrowDown');
    await until('the keyboard reaches the hit', async () => {
      await page.keyboard.press('ArrowDown');
      return page.evaluate('document.activeElement.href?.includes("#m")');
    });
    await page.keyboard.press('Enter');
    await page.locator('[data-role=user]', { hasText: 'three files' }).waitFor();
    t.match(page.url(), /#m\d+$/);
  });

  await t.test('the palette goes to places and chats and finds what was said, by the keyboard alone', async (t) => {
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: /Go to a place or a chat/ });
    await field.waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'palette');
    await page.keyboard.type('restarts, memory');
    await page.getByRole('option', { name: /Workers/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Workers' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('Sums and');
    await page
      .getByRole('option', { name: /Sums and files/ })
      .first()
      .waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: /Sums and files/ }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('zzzz');
    await page.getByText('Nothing has that name.').waitFor();
    await page.keyboard.press('Escape');
    await field.waitFor({ state: 'detached' });
  });

  await t.test('nothing in a chat keeps a person out: light, dark and on a phone', async (t) => {
    await answers(page).last().waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      t.same(await accessibilityFaults(page), [], colorScheme);
      await keepScreenshot(page, `chat-${colorScheme}`);
    }
    await using phone = await startBrowser({ width: 390, height: 780, phone: true });
    const { page: small } = await phone.open(page.url());
    await answers(small).last().waitFor();
    t.same(await accessibilityFaults(small), [], 'phone');
    t.ok(await small.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than the screen');
    await keepScreenshot(small, 'chat-phone');
  });

  // The place of the workers asks a supervisor, which this test has none of.
  t.same(
    errors.filter((error) => !error.includes('503')),
    [],
    'nothing was said on the console',
  );
});
