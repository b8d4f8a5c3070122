/** Side questions and background work in the page: they stand where they came, after a reload and after the agent worker was killed. */
import t from 'tap';
import type { Page } from 'playwright-core';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { answered, ask, composer, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();

/** What stands in the conversation, in order of the screen. */
const rows = (page: Page): Promise<string[]> =>
  page.evaluate(`[...document.querySelectorAll('[data-role],[data-aside]')]
    .toSorted((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top)
    .map((row) => row.dataset.role === 'user' ? row.innerText.trim() : row.dataset.aside ? 'aside ' + row.dataset.aside + ': ' + row.innerText.replaceAll(/\\s+/g, ' ').trim() : 'answer')`);

t.test('what is asked beside a chat stays in it', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  const first = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser({ height: 900 });
  const { page } = await browser.open(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  const done = page.locator('[data-aside=done]');
  const under = page.locator('[data-aside=running]');
  const reloaded = async () => {
    await page.reload();
    await answered(page, 'say: 2 words');
  };

  await ask(page, 'say: 1 word');
  await say(page, '/btw say: 3 words');
  await done.getByText('alpha bravo charlie').waitFor();
  await say(page, '/bg say: 4 words');
  await done.getByText('alpha bravo charlie delta').waitFor();
  await ask(page, 'say: 2 words');

  await t.test('an answer and a result are where they were after a reload', async (t) => {
    const before = await rows(page);
    t.match(before, [
      'say: 1 word',
      'answer',
      /^aside done: say: 3 words.* alpha bravo charlie$/,
      /^aside done: Background work is done.*say: 4 words alpha bravo charlie delta$/,
      'say: 2 words',
      'answer',
    ]);
    await reloaded();
    t.same(await rows(page), before);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'chat-asides');
  });

  await t.test('what is under way says so after a reload; killing the agent worker ends it in words, also for who looks on', async (t) => {
    await say(page, '/btw slow: 60');
    await say(page, '/bg slow: 60');
    await until('both are accepted', async () => (await page.locator('[data-echo=done]').count()) >= 1);
    await composer(page).fill('half a thou');
    await reloaded();
    t.equal(await composer(page).inputValue(), 'half a thou', 'and what was being written is there');
    await composer(page).fill('');
    await until('both are said to be under way', async () => (await under.count()) === 2);
    t.match((await rows(page)).slice(-2), [/^aside running: slow: 60/, /^aside running: Work in the background.*slow: 60$/]);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'chat-asides-running');

    await first.kill('SIGKILL');
    await using _second = await startWorker(home, 'agent', { demo: true });
    await done.getByText(/TURN_CUT: .* ask again/).waitFor();
    await page.getByText('Background work did not finish').waitFor();
    t.equal(await under.count(), 0);
    const seen = await rows(page);
    await reloaded();
    await until('the same stands there', async () => JSON.stringify(await rows(page)) === JSON.stringify(seen));
    t.match(await rows(page), { 2: /alpha bravo charlie$/, 3: /alpha bravo charlie delta$/, length: 8 });
    await keepScreenshot(page, 'chat-asides-cut');
  });
});
