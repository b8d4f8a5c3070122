/** Questions of the agent on the page, in a real Chromium: what a person sees and presses. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import t from 'tap';
import { sessionInterrupt, sessionList } from '../../ipc/contracts/rpc.ts';
import { approvalPending, approvalRespond } from '../../ipc/contracts/rpcRequests.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { startDashboard } from '../harness/dashboard.ts';
import { testHome } from '../harness/home.ts';
import { until } from '../harness/until.ts';
import { startWorker } from '../harness/worker.ts';

await ensurePage();
t.setTimeout(240_000);

const shots = process.env.SCREENSHOTS;
const look = async (page: Page, name: string) => void (shots && (await page.screenshot({ path: join(shots, `${name}.png`) })));

async function say(page: Page, text: string): Promise<void> {
  const composer = page.getByRole('textbox', { name: 'Message' });
  await composer.fill(text);
  await composer.press('Enter');
}

t.test('the page asks its owner', { timeout: 200_000 }, async (t) => {
  using home = testHome();
  await using agent = await startWorker(home, 'agent', { demo: true });
  await using dashboard = await startDashboard(home);
  await using browser = await startBrowser();
  using link = await agent.dial();
  const { page, errors } = await browser.open(`${dashboard.address}?token=${dashboard.token}`);
  await page.getByText('Connected', { exact: true }).waitFor();
  const card = page.locator('[data-request=approval]');
  const dir = join(home.root, 'old');
  mkdirSync(dir);
  const latest = async () => (await link.call(sessionList, {})).sessions[0]!.id;

  await t.test('a dangerous command waits in a card with what would run and why; its clock runs from then on', async (t) => {
    await say(page, `tool: terminal {"command":"rm -r ${dir}"}`);
    await card.waitFor();
    const text = await card.innerText();
    t.match(text, /Terminal asks for your approval/);
    t.match(text, `rm -r ${dir}`);
    t.match(text, /rm -r deletes folders with everything in them/);
    await card.getByText(/min .* left|min left/).waitFor();
    const { requests } = await link.call(approvalPending, { session_id: await latest() });
    t.match(requests, [{ method: 'approval', expires_at: /^20/ }]);
    t.match(await page.getByTestId('working').innerText(), /Waiting for your answer/);
    await look(page, 'approval');
  });

  await t.test('the card is there again after a reload, and the keyboard alone answers it', async (t) => {
    await page.reload();
    await card.waitFor();
    t.equal(await card.count(), 1);
    await card.getByLabel('What would run').focus();
    await page.keyboard.press('Tab');
    t.equal(await page.evaluate('document.activeElement.textContent'), 'Allow once');
    await page.keyboard.press('Enter');
    await card.waitFor({ state: 'detached' });
    await page.locator('[data-tool=terminal][data-state=done]').waitFor();
    t.notOk(existsSync(dir), 'it ran');
  });

  await t.test('a denied command does not run, and the answer says so', async (t) => {
    mkdirSync(dir);
    await say(page, `tool: terminal ${JSON.stringify({ command: `rm -r ${dir} # \u202Edliub` })}`);
    t.equal(await card.getByLabel('What would run').innerText(), `rm -r ${dir} # \\u202edliub`, 'what would turn the line is spelled out');
    await card.getByRole('button', { name: 'Deny' }).click();
    await card.waitFor({ state: 'detached' });
    await page
      .getByText(/the user denied this/)
      .first()
      .waitFor();
    t.ok(existsSync(dir));
  });

  await t.test('a card goes when it is answered elsewhere, and when its turn is stopped', async (t) => {
    await say(page, `run: rm -r ${dir}`);
    await card.waitFor();
    t.same(await link.call(approvalRespond, { session_id: await latest(), choice: 'deny' }), { resolved: 1 });
    await card.waitFor({ state: 'detached' });
    await say(page, `run: rm -r ${dir}`);
    await card.waitFor();
    await link.call(sessionInterrupt, { session_id: await latest() });
    await card.waitFor({ state: 'detached' });
    t.equal(await page.locator('[data-request]').count(), 0);
  });

  await t.test('questions with choices and without are answered in one card', async (t) => {
    await say(
      page,
      'tool: clarify {"questions":[{"question":"Which colour?","choices":["red","blue"]},{"question":"Which sizes?","choices":["S","M","L"],"multi_select":true},{"question":"Anything else?"}]}',
    );
    const question = page.locator('[data-request=clarify]');
    await question.getByRole('radio', { name: 'blue' }).check();
    await question.getByRole('checkbox', { name: 'S', exact: true }).check();
    await question.getByRole('checkbox', { name: 'L', exact: true }).check();
    await question.getByRole('textbox', { name: 'Anything else?' }).fill('with a handle');
    await look(page, 'clarify');
    await question.getByRole('button', { name: 'Answer' }).click();
    await question.waitFor({ state: 'detached' });
    const used = page.locator('[data-tool=clarify]').last();
    await until('the answers are there', async () => /with a handle/.test(await used.innerText()));
    t.match(await used.innerText(), /→ blue[\s\S]*→ S, L[\s\S]*→ with a handle/);
    await look(page, 'answered');
  });

  await t.test('an answer that is half written is still there after a look at what was said before', async (t) => {
    await say(page, 'say: 1500 words');
    await page.getByTestId('working').waitFor({ state: 'detached' });
    await say(page, 'tool: clarify {"questions":[{"question":"What name?"}]}');
    const question = page.locator('[data-request=clarify]');
    await question.getByRole('textbox', { name: 'What name?' }).fill('half a na');
    await page.evaluate(`document.querySelector('[data-testid=messages]').scrollTop = 0`);
    await page.locator('[data-role=user]').first().waitFor();
    await page.getByRole('button', { name: 'To the end' }).click();
    t.equal(await question.getByRole('textbox', { name: 'What name?' }).inputValue(), 'half a na');
    await question.getByRole('button', { name: 'Let the agent decide' }).click();
    await question.waitFor({ state: 'detached' });
  });

  t.same(errors, []);
});
