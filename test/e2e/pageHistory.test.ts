/** A long chat, the model that answers, and chats that nobody looked at during an outage. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { promptSubmit, sessionCreate } from '../../ipc/contracts/rpc.ts';
import type { Message } from '../../ipc/contracts/rpcRecords.ts';
import { sessionImport } from '../../ipc/contracts/rpcSessions.ts';
import { startOpenAiWith } from '../fakes/openaiServer.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { answered, answers, ask, composer, say } from '../harness/chatPage.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { freePort, testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const connected = (page: Page) => page.getByText('Connected', { exact: true }).waitFor();

t.test(
  'a long chat opens at its end, reads older pages as one goes back, and never moves what is read',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome();
    await using agent = await startWorker(home, 'agent', { demo: true });
    using link = await agent.dial();
    const { imported_ids: ids } = await link.call(sessionImport, { sessions: [longChat(1_200)] });
    await using dashboard = await startDashboard(home);
    await using browser = await startBrowser();
    const { page, errors } = await browser.open(`${dashboard.address}chat/${ids[0]}`);
    await page.getByText('answer 600', { exact: true }).waitFor();
    t.ok((await page.locator('[data-role]').count()) < 60, 'only what is near the screen is drawn');

    const box = `document.querySelector('[data-testid=messages]')`;
    await page.evaluate(`window.moves = []`);
    await until('the first message is there', async () => {
      await page.evaluate(`${box}.scrollTop -= 2500`);
      // What stands in the middle of the screen stays there while a page comes in above it.
      await page.evaluate(`new Promise((go) => requestAnimationFrame(() => requestAnimationFrame(go))).then(() => new Promise((done) => {
      const box = document.querySelector('[data-testid=messages]');
      const middle = box.getBoundingClientRect().top + box.clientHeight / 2;
      const row = [...box.querySelectorAll('[data-index]')].find((one) => one.getBoundingClientRect().bottom > middle);
      if (!row) return done();
      const name = row.innerText, top = row.getBoundingClientRect().top;
      let frames = 6;
      const look = () => {
        const now = [...box.querySelectorAll('[data-index]')].find((one) => one.innerText === name);
        if (now) window.moves.push(Math.round(Math.abs(now.getBoundingClientRect().top - top)));
        if (--frames > 0) requestAnimationFrame(look); else done();
      };
      requestAnimationFrame(look);
    }))`);
      return (await page.getByText('The beginning of this chat').count()) > 0;
    });
    const moves = await page.evaluate<number[]>('window.moves');
    t.ok(moves.length > 50 && Math.max(...moves) <= 2, `nothing jumps: ${Math.max(...moves)} px at most in ${moves.length} frames`);
    await page.getByRole('button', { name: 'To the end' }).click();
    await page.getByText('answer 600', { exact: true }).waitFor();
    t.same(errors, []);
  },
);

t.test('the model and its effort are chosen for one chat, with what a provider says about its models', { timeout: 200_000 }, async (t) => {
  await using models = await startOpenAiWith([{ id: 'small-1' }, { id: 'large-1' }], { text: 'from the large one' });
  using home = testHome({
    'config.yaml': `model_catalog:\n  detect_local: false\nmodel:\n  default: house:small-1\nproviders:\n  house:\n    kind: openai-compatible\n    base_url: ${models.url}\n`,
  });
  await using _agent = await startWorker(home, 'agent');
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(dashboard.address);
  await page.getByRole('button', { name: /^Model: small-1/ }).click();
  const dialog = page.getByRole('dialog', { name: 'Model of this chat' });
  await dialog.getByRole('searchbox').fill('large');
  t.equal(await dialog.getByRole('button', { name: /small-1/ }).count(), 0);
  await dialog.getByRole('button', { name: /large-1/ }).click();
  await dialog.getByRole('button', { name: 'Done' }).click();
  t.match(await (await ask(page, 'hello')).innerText(), /from the large one/);
  t.match(models.requests.at(-1)?.body, { model: 'large-1' });

  await page.getByRole('button', { name: /^Model: large-1/ }).click();
  await dialog.getByRole('button', { name: /small-1/ }).click();
  await dialog.getByLabel('Reasoning').selectOption('high');
  await until('it is in force', async () => (await dialog.getByLabel('Reasoning').inputValue()) === 'high');
  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('button', { name: /^Model: small-1\s*high/ }).waitFor();
  await ask(page, 'again');
  t.match(models.requests.at(-1)?.body, { model: 'small-1' });

  await t.test('a model that is refused says why, and the old one stays', async (t) => {
    await say(page, '/model nowhere:none');
    await page.locator('[data-echo=failed]').waitFor();
    t.equal(await page.getByRole('button', { name: /^Model: small-1/ }).count(), 1);
  });
  t.same(errors, []);
});

t.test(
  'after an outage every chat of the tab is up to date, also one that nobody looks at; what was not taken says so',
  { timeout: 200_000 },
  async (t) => {
    using home = testHome();
    const port = String(await freePort());
    const env = { AGENT_DASHBOARD_PORT: port, AGENT_DASHBOARD_SESSION_TOKEN: 'the-same-token' };
    await using agent = await startWorker(home, 'agent', { demo: true });
    await using first = await startDashboard(home, { env });
    await using browser = await startBrowser();
    const { page } = await browser.open(first.address);
    await connected(page);
    await ask(page, 'say: 2 words');
    const other = page.url();
    await page.getByRole('link', { name: 'New chat' }).click();
    await ask(page, 'say: 3 words');
    await first.worker.kill('SIGKILL');

    // Meanwhile another surface talks in the chat that is not on the screen.
    using link = await agent.dial();
    const session_id = other.split('/').at(-1)!;
    await link.call(promptSubmit, { session_id, text: 'say: 4 words', surface: 'cli' });
    await say(page, 'say: 5 words');
    await page
      .locator('[data-outgoing=late]')
      .getByText(/Not sent yet/)
      .waitFor();
    t.equal(await page.locator('[data-outgoing=late]').getByRole('button', { name: 'Send again' }).count(), 1);

    await using _second = await startDashboard(home, { env });
    await connected(page);
    await answered(page, 'say: 5 words');
    t.equal(await page.locator('[data-role=user]', { hasText: 'say: 5 words' }).count(), 1, 'it went out once, by itself');
    await page.getByRole('link', { name: 'say: 2 words' }).click();
    await page.locator('[data-role=user]', { hasText: 'say: 4 words' }).waitFor();
    await answers(page).last().getByText('alpha bravo charlie delta', { exact: true }).waitFor();
    await composer(page).waitFor();
  },
);

t.test('a chat that somebody begins elsewhere is in the list at once', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  const { page } = await browser.open(dashboard.address);
  await connected(page);
  using link = await agent.dial();
  const { session_id } = await link.call(sessionCreate, { source: 'cli' });
  await link.call(promptSubmit, { session_id, text: 'say: 1 words', surface: 'cli' });
  const entry = page.getByRole('list', { name: 'Chats', exact: true }).getByRole('link', { name: /say: 1 words/ });
  await entry.waitFor();
  t.match(await entry.innerText(), 'cli');
});

function longChat(count: number) {
  const plain = { tool_calls: null, tool_call_id: null, tool_name: null, reasoning: null, is_error: false, error: null, duration_ms: null };
  const messages = Array.from({ length: count }, (_, n): Message => {
    const isUser = n % 2 === 0;
    const number = Math.floor(n / 2) + 1;
    const filler = 'Some more words that make it higher. '.repeat((n * 7) % 23);
    return {
      ...plain,
      id: n + 1,
      role: isUser ? 'user' : 'assistant',
      content: isUser ? `question ${number}` : `${filler}\n\nanswer ${number}`,
      finish_reason: isUser ? null : 'stop',
      attachments: null,
      kind: 'plain',
      in_context: true,
      timestamp: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
    };
  });
  return {
    format: 'agent.session.v1',
    session: { id: 'ses_long', source: 'api', title: 'Long', started_at: '2026-01-01T00:00:00.000Z' },
    messages,
  };
}
