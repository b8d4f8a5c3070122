/** Row `logs` of the page bench: a log of a hundred thousand lines, loaded whole, searched and scrolled from end to end. */
import { startBrowser } from '../harness/browser.ts';
import type { TestDashboard } from '../harness/dashboard.ts';
import type { TestHome } from '../harness/home.ts';
import { round } from './measure.ts';
import { frameLine, scrolled, type Line } from './pageFrames.ts';

const LINES = 100_000;

export async function logs({ home, dashboard, address }: { home: TestHome; dashboard: TestDashboard; address: string }): Promise<Line[]> {
  home.write('logs/bench.log', longLog());
  await using browser = await startBrowser();
  const { page } = await browser.open(address);
  await page.getByText('Connected', { exact: true }).waitFor();
  await page.goto(`${dashboard.address}logs?file=bench`);
  await page.getByText('2,000 lines').waitFor();
  const startedAt = performance.now();
  await page.getByRole('button', { name: 'Load all that is kept' }).click();
  await page.getByText('100,000 lines').waitFor();
  const loadMs = performance.now() - startedAt;

  const box = `document.querySelector('[role=log]')`;
  const back = await scrolled(page, box, { pixels: -60_000, perFrame: 60 });
  const fast = await scrolled(page, box, { pixels: -2_700_000, perFrame: 5_400 });
  const searchAt = performance.now();
  await page.getByLabel('Search in the lines').fill('needle 77777');
  await page.getByText('1 of 100,000 lines').waitFor();
  const searchMs = performance.now() - searchAt;
  return [
    { what: `a log of ${LINES} lines: until all can be scrolled, ms`, value: String(round(loadMs, 0)), limit: '' },
    frameLine('a log: scrolling by three lines a frame', back),
    frameLine(`a log: scrolling through all ${LINES} lines`, fast),
    { what: 'a log: finding one line, ms', value: String(round(searchMs, 0)), limit: '' },
  ];
}

function longLog(): string {
  const lines = Array.from({ length: LINES }, (_, n) =>
    JSON.stringify({
      time: new Date(1_700_000_000_000 + n * 1_000).toISOString(),
      level: n % 17 === 0 ? 'warn' : 'info',
      component: ['turns', 'http', 'tools'][n % 3],
      slot: 'bench',
      msg: `GET /api/sessions answered 200, needle ${n}`,
      session: `ses_${n % 50}`,
    }),
  );
  return `${lines.join('\n')}\n`;
}
