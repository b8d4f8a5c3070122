/** Processes are killed under an open page: it goes on without a reload, and nothing is lost or doubled. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard, type TestDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const WORDS =
  /alpha|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango/g;
const words = (text: string): string[] => text.match(WORDS) ?? [];
const answers = (page: Page) => page.locator('[data-role=assistant]');
const badge = (page: Page, text: string) => page.getByTestId('connection').getByText(text);

async function say(page: Page, text: string): Promise<void> {
  await page.getByRole('textbox', { name: 'Message' }).fill(text);
  await page.keyboard.press('Enter');
}

/** A tab that knows whether it was ever loaded again. */
async function openMarked(
  dashboard: TestDashboard,
  open: Awaited<ReturnType<typeof startBrowser>>['open'],
): Promise<{ page: Page; sameDocument(): Promise<boolean> }> {
  const { page } = await open(dashboard.address);
  await page.evaluate('window.marked = true');
  await badge(page, 'Connected').waitFor();
  return { page, sameDocument: () => page.evaluate<boolean>('window.marked === true') };
}

async function someWords(page: Page): Promise<void> {
  await until(
    'the answer streams',
    async () => (await answers(page).count()) > 0 && words(await answers(page).last().innerText()).length > 20,
  );
}

t.test(
  'the agent worker is killed in mid-answer: the page keeps what came, says what happened, and sends what was written meanwhile, once',
  async (t) => {
    using home = testHome();
    await using first = await startWorker(home, 'agent', { demo: true });
    await using dashboard = await startDashboard(home);
    await using browser = await startBrowser();
    const { page, sameDocument } = await openMarked(dashboard, (address) => browser.open(address));
    await say(page, 'say: 4000 words');
    await someWords(page);
    await first.kill('SIGKILL');
    await badge(page, 'Agent restarts…').waitFor();
    await say(page, 'say: 7 words');
    await page.getByText('Waiting for the connection; nothing is lost').waitFor();

    await using _second = await startWorker(home, 'agent', { demo: true });
    await badge(page, 'Connected').waitFor();
    await page.getByText('This answer was cut off').waitFor();
    await until(
      'the waiting message is answered',
      async () => (await answers(page).count()) === 2 && words(await answers(page).last().innerText()).length === 7,
    );
    t.ok(words(await answers(page).first().innerText()).length > 20, 'what had come is still there');
    t.equal(await page.locator('[data-role=user]', { hasText: 'say: 7 words' }).count(), 1);
    await answers(page).first().getByRole('button', { name: 'Send again' }).click();
    await someWords(page);
    t.equal(
      await page.locator('[data-role=user]', { hasText: 'say: 4000 words' }).count(),
      2,
      'the cut prompt goes out again when it is asked for',
    );
    t.ok(await sameDocument());
  },
);

t.test(
  'the dashboard worker is killed in mid-answer: the answer goes on behind it and arrives whole, with the old token or a new one',
  async (t) => {
    using home = testHome();
    const port = String(await freePort());
    await using _agent = await startWorker(home, 'agent', { demo: true });
    await using first = await startDashboard(home, {
      env: { AGENT_DASHBOARD_PORT: port, AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' },
    });
    await using browser = await startBrowser();
    const { page, sameDocument } = await openMarked(first, (address) => browser.open(address));
    await say(page, 'say: 1200 words');
    await someWords(page);
    await first.worker.kill('SIGKILL');
    await badge(page, 'Reconnecting…').waitFor();

    await using second = await startDashboard(home, {
      env: { AGENT_DASHBOARD_PORT: port, AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' },
    });
    await badge(page, 'Connected').waitFor();
    await until('the answer is whole', async () => words(await answers(page).last().innerText()).length >= 1_200);
    await page.getByTestId('working').waitFor({ state: 'detached' });
    const text = words(await answers(page).last().innerText());
    t.same(
      text,
      Array.from({ length: 1_200 }, (_, n) => text[n % 20]),
      'no word is missing and none came twice',
    );

    await second.worker.kill('SIGKILL');
    await using _third = await startDashboard(home, { env: { AGENT_DASHBOARD_PORT: port } });
    await badge(page, 'Connected').waitFor();
    await say(page, 'say: 5 words');
    await until('a page with the old token took the new one', async () => words(await answers(page).last().innerText()).length === 5);
    t.ok(await sameDocument());
  },
);

t.test('a message written while nothing runs at all survives a reload and is sent once everything is back', async (t) => {
  using home = testHome();
  const port = String(await freePort());
  const env = { AGENT_DASHBOARD_PORT: port, AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' };
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home, { env });
  await using browser = await startBrowser();
  const { page } = await openMarked(dashboard, (address) => browser.open(address));
  await say(page, 'say: 3 words');
  await until('the first answer', async () => (await answers(page).count()) === 1);
  await agent.kill('SIGKILL');
  await badge(page, 'Agent restarts…').waitFor();
  await say(page, 'say: 9 words');
  await page.reload();
  await badge(page, 'Waiting for the agent…').waitFor();
  await using _again = await startWorker(home, 'agent', { demo: true });
  await until(
    'it is answered',
    async () => (await answers(page).count()) === 2 && words(await answers(page).last().innerText()).length === 9,
  );
  t.equal(await page.locator('[data-role=user]', { hasText: 'say: 9 words' }).count(), 1);
});

t.test('a shell that cannot begin yet says why, and begins with what was typed meanwhile', async () => {
  using home = testHome();
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page } = await browser.open(dashboard.address);
  await page.getByRole('link', { name: 'Terminal' }).click();
  await page.getByText(/no supervisor can start it — run `agent up`\. Dialling/).waitFor();
  await page.keyboard.type('echo "kept $((40 + 2))"\n');
  await using _worker = await startWorker(home, 'terminal');
  await page.getByTestId('terminal').getByText('kept 42', { exact: true }).waitFor();
});
