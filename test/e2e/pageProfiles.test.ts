/** The place for profiles in a real Chromium, on the whole real service. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

const fits = 'document.documentElement.scrollWidth <= innerWidth';

t.test('a profile is made, changed, talked to, and deleted', { timeout: 200_000 }, async (t) => {
  using home = testHome({ 'config.yaml': 'memory: { write_approval: true }\n' });
  home.write('skills/home/brew/SKILL.md', '---\nname: brew\ndescription: How tea is made\n---\nBoil <script>alert(1)</script> water.\n');
  home.write('skills/home/brew/notes.md', 'Green tea: 80 degrees.\n');
  home.write('skills/home/bad/SKILL.md', 'no frontmatter\n');
  home.write('memories/MEMORY.md', 'The kettle is <b>blue</b>.\n');
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(`http://127.0.0.1:${service.port}/profiles`);
  const dialog = page.getByRole('dialog');

  await t.test('the default one stands there; a second one is a copy of it, and a name that cannot be one is refused', async (t) => {
    await page.getByRole('heading', { name: 'default' }).waitFor();
    t.equal(await page.getByLabel('Profile', { exact: true }).count(), 0, 'nothing to pick while there is one');
    await page.getByRole('button', { name: 'New profile' }).click();
    await dialog.getByLabel('Name').fill('Not A Name');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText(/cannot name a profile/).waitFor();
    await dialog.getByLabel('Name').fill('work');
    await dialog.getByLabel('Description').fill('Mail and calendar');
    await dialog.getByLabel('Begin with').selectOption('default');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'profiles-new');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('heading', { name: 'work' }).waitFor();
    await page.getByLabel('Profile', { exact: true }).waitFor();
  });

  await t.test('its personality is written, a skill is read and switched off, a toolset is taken away', async (t) => {
    await page.getByRole('textbox', { name: 'Personality' }).fill('You are terse.\n');
    // Typed text outlives a look at another tab.
    await page.getByRole('tab', { name: 'Skills' }).click();
    await page.getByRole('tab', { name: 'Personality' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved. New conversations have it.').waitFor();
    const soul = join(home.root, 'profiles/work/SOUL.md');
    t.equal(readFileSync(soul, 'utf8'), 'You are terse.\n');
    await page.getByRole('textbox', { name: 'Personality' }).fill('You are mine.\n');
    writeFileSync(soul, 'You are theirs.\n');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Somebody else changed SOUL.md meanwhile').waitFor();
    t.equal(readFileSync(soul, 'utf8'), 'You are theirs.\n', 'nothing of the agent’s own writing is lost');
    t.same(await accessibilityFaults(page), []);
    await page.getByRole('button', { name: 'Take theirs' }).click();
    await until(
      'theirs is shown',
      async () => (await page.getByRole('textbox', { name: 'Personality' }).inputValue()) === 'You are theirs.\n',
    );

    await page.getByRole('tab', { name: 'Skills' }).click();
    await page.getByText('How tea is made').waitFor();
    await page.getByText(/A skill cannot be used/).waitFor();
    await page.getByRole('button', { name: /^brew/ }).click();
    await dialog.getByLabel('Text').waitFor();
    t.match(await dialog.getByLabel('Text').inputValue(), /<script>alert\(1\)<\/script>/, 'a text of strangers stays text');
    await keepScreenshot(page, 'profiles-skill');
    const brew = join(home.root, 'profiles/work/skills/home/brew/SKILL.md');
    const mine = readFileSync(brew, 'utf8').replace('Boil', 'Brew');
    const theirs = readFileSync(brew, 'utf8').replace('Boil', 'Heat');
    await dialog.getByLabel('Text').fill(mine);
    await page.mouse.click(8, 8);
    t.equal(await dialog.getByLabel('Text').inputValue(), mine, 'a press beside the window keeps what was written in it');
    writeFileSync(brew, theirs);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('Somebody else changed SKILL.md meanwhile').waitFor();
    t.equal(readFileSync(brew, 'utf8'), theirs);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'profiles-skill-conflict');
    await dialog.getByRole('button', { name: 'Take theirs' }).click();
    await until('theirs is shown', async () => (await dialog.getByLabel('Text').inputValue()) === theirs);
    await dialog.getByLabel('Text').fill(mine);
    await dialog.getByLabel('File').selectOption('notes.md');
    await until('the notes are shown', async () => (await dialog.getByLabel('Text').inputValue()) === 'Green tea: 80 degrees.\n');
    await dialog.getByLabel('File').selectOption({ label: 'SKILL.md (not saved)' });
    t.equal(await dialog.getByLabel('Text').inputValue(), mine, 'a look at another file takes nothing away');
    await page.keyboard.press('Escape');
    await page.getByRole('switch', { name: 'Offer brew' }).click();
    await page.locator('[role=switch][aria-label="Offer brew"][aria-checked=false]').waitFor();
    t.match(readFileSync(join(home.root, 'profiles/work/config.yaml'), 'utf8'), /disabled:\s*\n?\s*-? ?\[?\s*"?brew/);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'profiles-skills');

    await page.getByRole('tab', { name: 'Tools' }).click();
    await page.getByRole('switch', { name: 'Toolset terminal' }).click();
    await page.locator('[role=switch][aria-label="Toolset terminal"][aria-checked=false]').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'profiles-tools');
  });

  await t.test('memory is shown as text and emptied only after a question', async (t) => {
    await page.getByRole('button', { name: /^default/ }).click();
    await page.getByRole('tab', { name: 'Memory' }).click();
    await page.getByText('The kettle is <b>blue</b>.').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'profiles-memory');
    await page.getByRole('button', { name: 'Empty its notes' }).click();
    await dialog.getByRole('button', { name: 'Empty' }).click();
    await until('it is empty', () => readFileSync(join(home.memories, 'MEMORY.md'), 'utf8') === '');
    t.equal(readFileSync(join(home.memories, 'MEMORY.md.before-reset'), 'utf8'), 'The kettle is <b>blue</b>.\n');
  });

  await t.test('the page goes over to it and talks to its agent; the picker leads back', async (t) => {
    await page.getByLabel('Profile', { exact: true }).selectOption('work');
    await page.waitForURL(/profile=work/);
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Chat' }).click();
    t.match(page.url(), /profile=work/, 'the profile stays over every step');
    await page.getByRole('textbox', { name: 'Message' }).fill('say: 3 words');
    await page.keyboard.press('Enter');
    await page.locator('[data-role=assistant]').getByText('alpha bravo charlie').waitFor();
    t.ok(existsSync(join(home.root, 'profiles/work/state.db')));
    await page.getByLabel('Profile', { exact: true }).selectOption('default');
    await page.waitForURL((url) => !url.searchParams.has('profile'));
  });

  await t.test('deleting it stops what runs of it and says where it is kept', async (t) => {
    await page.getByRole('link', { name: 'Profiles' }).click();
    await page.getByRole('button', { name: /^work/ }).click();
    await page.getByRole('button', { name: 'Delete' }).click();
    t.match(await dialog.innerText(), /What runs of it is stopped first/);
    await keepScreenshot(page, 'profiles-delete');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await page.getByText(/work is deleted\. It is kept in/).waitFor();
    t.notOk(existsSync(join(home.root, 'profiles/work')));
  });

  await t.test('an address with a profile that is gone says so', async () => {
    await page.goto(`http://127.0.0.1:${service.port}/platforms?profile=work`);
    await page
      .getByText(/no profile "work"/)
      .first()
      .waitFor();
  });
  t.same(
    errors.filter((text) => !/WebSocket|Failed to load resource|ERR_CONNECTION/.test(text)),
    [],
  );
});

t.test('on a phone, in the dark, it fits and can be read', { timeout: 200_000 }, async (t) => {
  using home = testHome({ 'profiles/work/SOUL.md': 'You work.' });
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser({ width: 390, height: 780, phone: true, colorScheme: 'dark' });
  const { page } = await browser.open(`http://127.0.0.1:${service.port}/profiles`);
  await page.getByRole('tab', { name: 'Tools' }).click();
  await page.getByRole('switch', { name: 'Toolset terminal' }).waitFor();
  t.ok(await page.evaluate(fits));
  t.same(await accessibilityFaults(page), []);
  await keepScreenshot(page, 'profiles-phone');
});
