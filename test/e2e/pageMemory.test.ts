/** Writes of memory that wait for their owner, from the model that asks for them to the file: seen, approved and refused in the page. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startOpenAi } from '../fakes/openaiServer.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { ask } from '../harness/chatPage.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

const hostile = 'Likes tea <img src=x onerror="document.title=\'taken over\'">';
const call = (edit: object) => ({ name: 'memory', args: JSON.stringify(edit) });

t.test(
  'what the agent wants to remember waits in the page, and is written or dropped as its owner says',
  { timeout: 200_000 },
  async (t) => {
    await using models = await startOpenAi(
      {
        toolCalls: [
          call({ action: 'add', target: 'memory', content: hostile }),
          call({ action: 'replace', target: 'memory', old_text: 'kettle', content: 'The kettle is red.' }),
          call({ action: 'remove', target: 'memory', old_text: 'kettle is blue' }),
          call({ action: 'add', target: 'user', content: 'Is called Ada.' }),
        ],
      },
      { text: 'I asked for it.' },
      { text: 'Hello again.' },
    );
    using home = testHome({
      'config.yaml': `memory: { write_approval: true }\nmodel_catalog: { detect_local: false }\nmodel: { default: house:m-1 }\nproviders:\n  house: { kind: openai-compatible, base_url: "${models.url}" }\n`,
    });
    home.write('memories/MEMORY.md', 'The kettle is blue.\n');
    const notes = () => readFileSync(join(home.memories, 'MEMORY.md'), 'utf8');
    await using service = await startService(home);
    await service.ready();
    await using browser = await startBrowser({ height: 900 });
    const { page, errors } = await browser.open(`http://127.0.0.1:${service.port}/`);
    await page.getByText('Connected', { exact: true }).waitFor();
    await ask(page, 'remember that');
    t.equal(notes(), 'The kettle is blue.\n', 'nothing is written by itself');

    await page.goto(`http://127.0.0.1:${service.port}/profiles`);
    await page.getByRole('button', { name: /^default/ }).click();
    await page.getByRole('tab', { name: 'Memory' }).click();
    const card = (name: RegExp) => page.getByRole('group', { name });
    const [added, replaced, removed, about] = [/^Notes: add/, /^Notes: replace/, /^Notes: remove/, /^About you: add/].map(card) as [
      ReturnType<typeof card>,
      ReturnType<typeof card>,
      ReturnType<typeof card>,
      ReturnType<typeof card>,
    ];

    await t.test('each stands there with what it would change, as text', async (t) => {
      await added.getByText(`+${hostile}`).waitFor();
      t.notMatch(await added.innerText(), /Index:|====/);
      t.match(await replaced.innerText(), /-The kettle is blue\.\s+\+The kettle is red\./);
      t.match(await about.innerText(), /\+Is called Ada\./);
      t.same(await accessibilityFaults(page), []);
      await keepScreenshot(page, 'memory-staged');
      await page.emulateMedia({ colorScheme: 'dark' });
      t.same(await accessibilityFaults(page), [], 'dark');
      await keepScreenshot(page, 'memory-staged-dark');
      await page.emulateMedia({ colorScheme: 'light' });
      await page.setViewportSize({ width: 390, height: 780 });
      t.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'nothing is wider than a phone');
      await keepScreenshot(page, 'memory-staged-phone');
      await page.setViewportSize({ width: 1280, height: 900 });
    });

    await t.test('what is approved is in the file, what is refused is not, and neither waits any more', async (t) => {
      await added.getByRole('button', { name: 'Approve' }).click();
      await added.waitFor({ state: 'detached' });
      t.equal(notes(), `The kettle is blue.\n§\n${hostile}\n`);
      await about.getByRole('button', { name: 'Reject' }).click();
      await about.waitFor({ state: 'detached' });
      t.notOk(existsSync(join(home.memories, 'USER.md')));
      await replaced.getByRole('button', { name: 'Approve' }).click();
      await replaced.waitFor({ state: 'detached' });
      t.equal(notes(), `The kettle is red.\n§\n${hostile}\n`);
      t.notMatch(await page.title(), /taken over/);
    });

    await t.test('one that no longer fits says so, stays when it is approved all the same, and can be dropped', async (t) => {
      await removed.getByText(/It does not fit any more/i).waitFor();
      await removed.getByRole('button', { name: 'Approve' }).click();
      await removed.getByRole('alert').getByText('No entry holds "kettle is blue"').waitFor();
      t.same(await accessibilityFaults(page), []);
      await keepScreenshot(page, 'memory-staged-misfit');
      await removed.getByRole('button', { name: 'Reject' }).click();
      await page.getByText('Nothing waits for your review.').waitFor();
      t.equal(notes(), `The kettle is red.\n§\n${hostile}\n`);
    });

    await t.test('the next conversation begins with what was approved, and with nothing else', async (t) => {
      await page.getByRole('link', { name: 'Chat' }).click();
      await page
        .getByRole('link', { name: 'New chat' })
        .or(page.getByRole('button', { name: 'New chat' }))
        .first()
        .click();
      await ask(page, 'hello');
      await until('the model was asked', () => models.requests.length >= 3);
      const said = JSON.stringify(models.requests.at(-1)!.body.messages);
      t.match(said, /The kettle is red\..*Likes tea/);
      t.notMatch(said, /Is called Ada/);
    });

    t.same(errors, [], 'nothing was said on the console');
  },
);
