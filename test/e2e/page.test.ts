/** The page in a real Chromium, on real dashboard and agent workers: what a person sees of a chat. */
import t from 'tap';
import { ensurePage, startBrowser, type TestTab } from '../harness/browser.ts';
import { answers, ask, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

t.test('the page and a chat on the rehearsal model', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using _agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page, errors }: TestTab = await browser.open(`${dashboard.address}?token=${dashboard.token}`);

  await t.test('opens from the login address, leaves no token in it, and says that the model is scripted', async (t) => {
    await page.getByText('Connected', { exact: true }).waitFor();
    t.equal(page.url(), dashboard.address);
    await page.getByText('Rehearsal model: its answers are scripted.').waitFor();
    t.equal(await page.getByRole('button', { name: /run: uname -a/ }).count(), 1, 'three things to try are offered');
    t.same(errors, []);
  });

  await t.test('an example calls the terminal tool: its card shows the command, the kernel and how long it took', async (t) => {
    await page.getByRole('button', { name: /run: uname -a/ }).click();
    const card = page.locator('[data-tool=terminal][data-state=done]');
    await card.waitFor();
    t.match(await card.innerText(), /Terminal\s+uname -a\s+[\d.]+ m?s[\s\S]*Output[\s\S]*Linux/);
    t.match(page.url(), /\/chat\/ses_/);
    await page.getByRole('heading', { level: 1, name: 'run: uname -a', exact: true }).waitFor();
  });

  await t.test('an answer streams: it is shown before it is complete, with the phase and a way to stop', async (t) => {
    // Some seconds of it: a busy machine draws late.
    await say(page, 'say: 2000 words');
    await page.getByRole('button', { name: 'Stop the answer' }).waitFor();
    t.match(await page.getByTestId('working').innerText(), /Sending|Starting|Waiting|Writing/);
    const early = await until(
      'the first words',
      async () => (await answers(page).last().innerText()).split(/\s+/).length > 10 && (await answers(page).last().innerText()),
    );
    await page.getByTestId('working').waitFor({ state: 'detached' });
    const whole = await answers(page).last().innerText();
    t.ok(early.length < whole.length);
    t.equal(
      whole.match(
        /alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango/g,
      )?.length,
      2_000,
    );
  });

  await t.test('Escape stops an answer, and a message sent meanwhile waits where it can be seen', async (t) => {
    await say(page, 'slow: 30');
    await answers(page).last().getByText('Starting slowly.').waitFor();
    await say(page, 'say: 3 words');
    await page.getByRole('list', { name: 'Waiting messages' }).getByText('say: 3 words').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Stopped here.').waitFor();
    await answers(page).last().getByText('alpha bravo charlie', { exact: true }).waitFor();
    t.equal(await page.locator('[data-role=user]', { hasText: 'say: 3 words' }).count(), 1);
  });

  await t.test('a reader who looks back is left alone while the answer grows, and can go to its end', async (t) => {
    await say(page, 'say: 4000 words');
    const box = `document.querySelector('[role=log]').parentElement`;
    await until('the answer is longer than the screen', async () => (await answers(page).last().innerText()).length > 4_000);
    await page.evaluate(`${box}.scrollTop -= 400`);
    const top = await page.evaluate(`${box}.scrollTop`);
    const before = (await answers(page).last().innerText()).length;
    await until('the answer has grown', async () => (await answers(page).last().innerText()).length > before + 500);
    t.equal(await page.evaluate(`${box}.scrollTop`), top);
    await page.getByRole('button', { name: 'To the end' }).click();
    await page.getByTestId('working').waitFor({ state: 'detached' });
    t.ok(await page.evaluate(`${box}.scrollHeight - ${box}.scrollTop - ${box}.clientHeight < 40`), 'and from then on the end is followed');
  });

  await t.test('reasoning is there, folded', async (t) => {
    await ask(page, 'think: about tea');
    t.equal(await page.getByText('about tea', { exact: true }).isVisible(), false);
    await page.getByText('What it thought').last().click();
    await page.getByText('about tea', { exact: true }).waitFor();
  });

  await t.test('a failure names itself and can be tried again', async (t) => {
    const answer = await ask(page, 'fail: PROVIDER_FAILED');
    t.match(await answer.innerText(), /This answer failed[\s\S]*PROVIDER_FAILED/);
    t.equal(await answer.getByRole('button', { name: 'Send again' }).count(), 1);
  });

  await t.test('markup in what a model says is shown, never run', async (t) => {
    const attack = [
      '<img src=x onerror="window.pwned=true">',
      '<script>window.pwned=true</script>',
      '[link](javascript:window.pwned=true)',
      '![pixel](http://127.0.0.1:1/leak.png)',
      '<svg onload="window.pwned=true">',
      '<a href="#" style="position:fixed;inset:0">x</a>',
    ].join('\n\n');
    const answer = await ask(page, attack);
    t.match(await answer.innerText(), 'onerror');
    const made = await page.evaluate<unknown>(`(() => {
      const answer = [...document.querySelectorAll('[data-role=assistant]')].at(-1);
      return {
        elements: answer.querySelectorAll('.prose :is(img, script, svg:not(button svg), iframe, [onerror], [onload], [style])').length,
        links: [...answer.querySelectorAll('.prose a')].map((link) => link.getAttribute('href')).filter((href) => href !== null && !/^https?:/.test(href)),
        pwned: window.pwned === true,
      };
    })()`);
    t.same(made, { elements: 0, links: [], pwned: false });
  });

  await t.test('markdown is drawn: lists, tables and code that can be copied', async (t) => {
    const answer = await ask(
      page,
      'Look:\n\n- one\n- **two**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```ts\nconst x = 1;\n```\n\nThat is all.',
    );
    for (const element of ['li', 'strong', 'table', 'figure']) t.ok((await answer.locator(`.prose ${element}`).count()) > 0, element);
    t.equal(await answer.locator('figure code').first().innerText(), 'const x = 1;');
  });

  await t.test('the chat is in the list, is found by its name, and opens again after a reload as it was', async (t) => {
    const texts = async () => (await page.locator('[data-role=user], .prose, [data-tool] pre').allInnerTexts()).join('\n');
    const before = await texts();
    await page.getByRole('searchbox', { name: 'Find a chat' }).fill('uname');
    t.equal(
      await page
        .getByRole('list', { name: 'Chats', exact: true })
        .getByRole('link', { name: /run: uname -a/ })
        .count(),
      1,
    );
    await page.reload();
    await until('the same conversation', async () => (await texts()) === before);
  });

  await t.test('an address of a chat that does not exist says so', async () => {
    await page.goto(`${dashboard.address}chat/ses_nothing`);
    await page.getByText('This chat cannot be shown').waitFor();
  });

  // How the agent is while it is away is asked of a supervisor, which this test has none of.
  t.same(
    errors.filter((error) => !error.includes('503')),
    [],
    'nothing was said on the console, no policy was violated',
  );
});
