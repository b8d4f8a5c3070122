/** The place of scheduled jobs in a real Chromium, on the whole real service. */
import { existsSync } from 'node:fs';
import t from 'tap';
import { createJob, listJobs } from '../../ipc/contracts/cron.ts';
import { engagePause } from '../../state/pause.ts';
import { ensurePage, startBrowser } from '../harness/browser.ts';
import { testHome } from '../harness/home.ts';
import { accessibilityFaults, keepScreenshot } from '../harness/pageChecks.ts';
import { startService } from '../harness/service.ts';
import { until } from '../harness/until.ts';

await ensurePage();
t.setTimeout(240_000);

t.test('jobs are made, seen, run, changed and deleted in the page', { timeout: 200_000 }, async (t) => {
  using home = testHome({
    'scripts/hello.sh': 'echo "<img src=x onerror=window.hacked=1> hello"\n',
    'scripts/fails.sh': 'echo no >&2; exit 3\n',
  });
  await using service = await startService(home);
  await service.ready();
  await using browser = await startBrowser();
  const { page, errors } = await browser.open(`http://127.0.0.1:${service.port}/cron`);
  const jobs = page.getByRole('table', { name: 'Jobs' });
  const row = (name: string) => jobs.locator('tr').filter({ hasText: name });

  await t.test('a home without jobs says what a job is and where to begin', async (t) => {
    await page.getByText('No jobs yet').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-empty');
    await page.getByRole('button', { name: 'Start from a blueprint' }).click();
    await page.getByRole('button', { name: /Disk space watch/ }).waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-blueprints');
  });

  await t.test('a blueprint says when it would run, names a wrong field at the field, and makes the job', async (t) => {
    await page.getByRole('button', { name: /Morning briefing/ }).click();
    const form = page.getByRole('dialog', { name: 'Morning briefing' });
    await form.getByLabel('At most how many lines?').fill('900');
    await form.getByText('a whole number from 3 to 40').waitFor();
    await form.getByLabel('At most how many lines?').fill('8');
    await form.getByLabel('On which days?').selectOption('weekday');
    await form.getByText('Monday to Friday at 07:00').waitFor();
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-blueprint-form');
    await form.getByRole('button', { name: 'Create job' }).click();
    await row('Morning briefing').getByText('scheduled').waitFor();
    // Minutes, when this runs in the hour before seven.
    t.match(await row('Morning briefing').innerText(), /in (?:a few seconds|\d+ (?:s|min|h|d))/);
  });

  await t.test('the schedule is explained while it is typed, and a wrong one says what would be right', async (t) => {
    await page.getByRole('banner').getByRole('button', { name: 'New job' }).click();
    const form = page.getByRole('dialog', { name: 'New job' });
    await form.getByLabel('When?').fill('every now and then');
    await form.getByText(/the schedule "every now and then" cannot be used/).waitFor();
    await form.getByLabel('When?').fill('*/15 9-17 * * 1-5');
    await form.getByText('Monday to Friday: every 15 minutes from 09:00 to 17:59').waitFor();
    await form.getByLabel('Script').fill('no-such-file.sh');
    await form.getByRole('button', { name: 'Create job' }).click();
    await form.getByText(/there is no such file/).waitFor();
    await form.getByLabel('Script').fill('hello.sh');
    await form.getByLabel('Name').fill('<b>Hello</b>');
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-form');
    await form.getByLabel('Name').press('Enter');
    await form.waitFor({ state: 'detached' });
    await row('<b>Hello</b>').getByText('scheduled').waitFor();
  });

  await t.test('run now, then the output: text of strangers stays text', async (t) => {
    await page.getByRole('button', { name: 'Run <b>Hello</b> now' }).click();
    await row('<b>Hello</b>').getByText('done').waitFor();
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('button', { name: 'Output of <b>Hello</b>' }).click();
    await page.getByRole('dialog').getByText('<img src=x onerror=window.hacked=1> hello').waitFor();
    t.equal(await page.evaluate('window.hacked'), undefined);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-output');
    await page.keyboard.press('Escape');
  });

  await t.test('a run that fails says why, in the list and in the history', async (t) => {
    using link = await service.link('cron');
    await link.call(createJob, { schedule: 'every day 6pm', script: 'fails.sh', name: 'Nightly' });
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.getByRole('button', { name: 'Run Nightly now' }).click();
    await row('Nightly').getByText('failed').waitFor();
    t.match(await row('Nightly').innerText(), /it exited with code 3: no/);
    await keepScreenshot(page, 'cron-jobs');
    t.same(await accessibilityFaults(page), []);
    await row('Nightly')
      .getByRole('button', { name: /failed/ })
      .click();
    await page
      .getByRole('table', { name: 'Runs' })
      .getByText(/exited with code 3/)
      .waitFor();
  });

  await t.test('pause, resume, edit, and delete after a question', async (t) => {
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.getByRole('button', { name: 'Pause Nightly' }).click();
    await row('Nightly').getByText('paused').waitFor();
    await page.getByRole('button', { name: 'Resume Nightly' }).click();
    await row('Nightly').getByText('scheduled').waitFor();
    await page.getByRole('button', { name: 'Edit Nightly' }).click();
    const form = page.getByRole('dialog', { name: 'Edit Nightly' });
    await form.getByLabel('When?').fill('every day 11pm');
    await form.getByRole('button', { name: 'Save' }).click();
    await row('Nightly').getByText('Every day at 23:00').waitFor();
    const repeats = async (times: string) => {
      await page.getByRole('button', { name: 'Edit Nightly' }).click();
      await form.getByLabel('Stop after').fill(times);
      await form.getByRole('button', { name: 'Save' }).click();
      await form.waitFor({ state: 'detached' });
      using link = await service.link('cron');
      const { jobs: all } = await link.call(listJobs, {});
      return all.find(({ name }) => name === 'Nightly')!.repeat.times;
    };
    t.equal(await repeats('5'), 5);
    t.equal(await repeats(''), null, 'an end that is taken out is gone');
    await page.getByRole('button', { name: 'Delete Nightly' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await until('it is gone', async () => (await row('Nightly').count()) === 0);
    t.equal(await jobs.locator('tbody tr').count(), 2);
  });

  await t.test('the calendar shows the runs of a week, and jobs of many runs in a line', async (t) => {
    await page.getByRole('tab', { name: 'Calendar' }).click();
    await page.getByText(/Many times a day:/).waitFor();
    await page.getByRole('button', { name: 'Week after' }).click();
    await until('five mornings', async () => (await page.getByRole('button', { name: /07:00 Morning briefing/ }).count()) === 5);
    t.same(await accessibilityFaults(page), []);
    await keepScreenshot(page, 'cron-calendar');
  });

  await t.test('a pause of automation stands above everything, with the way out of it', async (t) => {
    engagePause(home.estop, { reason: 'the disk is being moved' });
    await page.getByText('Automation is paused').waitFor();
    await page.getByRole('tab', { name: 'Jobs' }).click();
    await page.getByText('held by the pause').first().waitFor();
    await keepScreenshot(page, 'cron-paused');
    await page.getByRole('button', { name: 'Resume', exact: true }).click();
    await page.getByText('Automation is paused').waitFor({ state: 'detached' });
    t.notOk(existsSync(home.estop));
  });
  t.same(
    errors.filter((text) => !/422|Failed to load resource/.test(text)),
    [],
  );

  await t.test('on a phone in the dark, everything fits and the calendar is an agenda', async (t) => {
    await using phone = await startBrowser({ width: 390, height: 800, phone: true, colorScheme: 'dark' });
    const { page: small } = await phone.open(`http://127.0.0.1:${service.port}/cron`);
    const fits = () => small.evaluate('document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth');
    await small.getByText('Morning briefing').first().waitFor();
    t.ok(await fits());
    t.same(await accessibilityFaults(small), []);
    await keepScreenshot(small, 'cron-phone-dark');
    await small.getByRole('tab', { name: 'Calendar' }).tap();
    await small.getByText(/Many times a day/).waitFor();
    t.ok(await fits());
    await keepScreenshot(small, 'cron-calendar-phone-dark');
    await small.goto(`http://127.0.0.1:${service.port}/cron?blueprint=disk-space`);
    await small.getByRole('dialog', { name: 'Disk space watch' }).waitFor();
    t.ok(await fits());
    await keepScreenshot(small, 'cron-blueprint-phone-dark');
  });
});
