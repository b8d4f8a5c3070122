/** The page as people live with it: hundreds of chats, wide answers, a stopped agent, shells one comes back to, a phone, no pointer. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { answers, ask, composer } from '../harness/chatPage.ts';
import { cli } from '../harness/cli.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';
import { message } from '../harness/records.ts';

await ensurePage();
t.setTimeout(240_000);

/** More than the list reads at once. */
const CHATS = 230;
const WIDE = [
  `${'w'.repeat(400)} \`${'c'.repeat(300)}\``,
  `\`\`\`\n${'d'.repeat(400)}\n\`\`\``,
  `| ${Array.from({ length: 20 }, (_, n) => `column ${n}`).join(' | ')} |\n| ${'- | '.repeat(20)}\n| ${'a value | '.repeat(20)}`,
].join('\n\n');

const noSession = {
  platform: null,
  model: null,
  provider: null,
  parent_session_id: null,
  hidden: false,
  archived: false,
  compressions: 0,
  system_prompt: null,
  tool_names: [],
};

/** A conversation as `agent sessions export` writes it, one a minute into the past. */
function exported(n: number, title: string, texts: readonly string[]): string {
  const timestamp = new Date(Date.UTC(2026, 0, 2) - n * 60_000).toISOString();
  return JSON.stringify({
    format: 'agent.session.v1',
    session: {
      id: `ses_daily${String(n).padStart(6, '0')}`,
      source: 'api',
      title,
      started_at: timestamp,
      last_active: timestamp,
      ...noSession,
    },
    messages: texts.map((content, index) => message(index + 1, index % 2 ? 'assistant' : 'user', content, { timestamp })),
  });
}

const history = [
  exported(0, 'A wide answer', ['W'.repeat(300), WIDE]),
  ...Array.from({ length: CHATS }, (_, n) => exported(n + 1, `Chat number ${n + 1}`, ['A question', 'An answer'])),
].join('\n');

const focused = (page: Page): Promise<string> =>
  page.evaluate(`(({ activeElement: { ariaLabel, textContent } }) => ariaLabel ?? textContent)(document)`);
/** How far the conversation can be pushed aside. */
const excess = (page: Page): Promise<number> =>
  page
    .getByTestId('messages')
    .evaluate(({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) => scrollWidth - clientWidth);

t.test('a day with the page', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using service = await startService(home);
  await service.ready();
  const file = join(home.root, 'history.jsonl');
  writeFileSync(file, history);
  t.match(await cli(['sessions', 'import', file], { home }), { code: 0, stdout: /231 imported/ });
  await using browser = await startBrowser();
  const address = `http://127.0.0.1:${service.port}/`;
  const { page, errors } = await browser.open(`${address}chat/ses_daily000000`);

  await t.test('a wide answer keeps to the width of the chat: words break, code and tables scroll inside themselves', async (t) => {
    await answers(page).last().waitFor();
    t.equal(await excess(page), 0);
    const table = page.locator('.prose table');
    t.ok(
      await table.evaluate(({ scrollWidth, clientWidth }: { scrollWidth: number; clientWidth: number }) => scrollWidth > clientWidth),
      'the table is whole, not broken into letters',
    );
    await keepScreenshot(page, 'chat-wide-answer');
  });

  await t.test('every chat is within reach: by scrolling, and by its title', async (t) => {
    const rows = page.getByRole('list', { name: 'Chats' }).getByRole('listitem');
    t.equal(await rows.count(), 200);
    await page.getByRole('button', { name: 'Older chats' }).scrollIntoViewIfNeeded();
    await until('all are listed', async () => (await rows.count()) === CHATS + 1);
    await page.reload();
    await page.getByRole('searchbox', { name: 'Find a chat' }).fill('number 230');
    await page
      .getByRole('link', { name: /Chat number 230/ })
      .first()
      .waitFor();
    await page.getByRole('searchbox', { name: 'Find a chat' }).fill('');
  });

  await t.test('without a pointer: tab passes the list in two stops, arrows walk it, and the palette gives the focus back', async (t) => {
    await page.getByRole('link', { name: 'New chat' }).focus();
    await page.keyboard.press('Tab');
    t.match(await focused(page), /A wide answer/, 'the open chat');
    await page.keyboard.press('ArrowDown');
    t.match(await focused(page), /Chat number 1/);
    await page.keyboard.press('Tab');
    t.equal(await focused(page), 'More about Chat number 1');
    await page.keyboard.press('Tab');
    t.notMatch(await focused(page), /Chat number/, 'and then the conversation');
    const before = await focused(page);
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    await page.keyboard.press('Escape');
    await until('the focus is back', async () => (await focused(page)) === before);
  });

  await t.test('what a command printed keeps its lines and columns in the answer of the rehearsal', async (t) => {
    const answer = await ask(page, 'run: printf "a  1\\nbb 2\\n"');
    t.equal(await answer.locator('figure pre').innerText(), 'a  1\nbb 2');
  });

  await t.test('a stopped agent is said at once, and started from the chat; what was written meanwhile goes out', async (t) => {
    t.match(await cli(['stop', 'agent'], { home }), { code: 0 });
    await page.getByText('The agent is stopped').waitFor();
    await page.getByTestId('connection').getByText('Agent is down').waitFor();
    await composer(page).fill('say: 3 words');
    await composer(page).press('Enter');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'chat-agent-stopped');
    await page.getByRole('button', { name: 'Start it' }).click();
    await answers(page).last().getByText('alpha bravo charlie', { exact: true }).waitFor();
    await page.getByText('The agent is stopped').waitFor({ state: 'detached' });
  });

  await t.test('a shell goes on while one looks elsewhere, and over a reload', async () => {
    const screen = page.getByTestId('terminal').first();
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('banner').getByText(/sh$/).waitFor();
    await page.keyboard.type('kept=yes; echo "started $kept"\n');
    await screen.getByText('started yes', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Logs' }).click();
    await page.getByRole('log').waitFor();
    await page.getByRole('link', { name: 'Terminal' }).click();
    await screen.getByText('started yes', { exact: true }).waitFor();
    await page.keyboard.type('echo "away $kept"\n');
    await screen.getByText('away yes', { exact: true }).waitFor();
    await page.reload();
    await page.getByRole('banner').getByText(/sh$/).waitFor();
    await page.keyboard.type('echo "again $kept"\n');
    await screen.getByText('again yes', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Close this shell' }).click();
    await page.getByRole('banner').getByText(/sh$/).waitFor();
    await page.keyboard.type('echo "fresh $kept."\n');
    await screen.getByText('fresh .', { exact: true }).waitFor();
  });

  await t.test('on a phone Enter makes a line, and the shell has the keys that glass lacks', async (t) => {
    await using phone = await startBrowser({ width: 390, height: 844, phone: true });
    const { page: small } = await phone.open(`${address}chat/ses_daily000000`);
    await answers(small).last().waitFor();
    t.equal(await excess(small), 0);
    await composer(small).tap();
    await small.keyboard.type('one\ntwo');
    t.equal(await composer(small).inputValue(), 'one\ntwo');
    await small.goto(`${address}terminal`);
    await until('a shell runs', async () => /sh$/.test(await small.getByRole('tab').innerText()));
    await small.keyboard.type('sleep 300\n');
    await small.getByTestId('terminal').getByText('sleep 300').waitFor();
    await small.getByRole('button', { name: 'Ctrl for the next key' }).tap();
    await small.keyboard.type('c');
    await small.getByTestId('terminal').getByText('^C').waitFor();
    t.same(await accessibilityFaults(small), []);
    await keepScreenshot(small, 'terminal-phone');
  });

  const complaints = errors.filter((text) => !/WebSocket|Failed to load resource|ERR_CONNECTION/.test(text));
  t.same(complaints, [], 'no exception and no violated policy');
});
