/** How `npm test` runs a file: what it says of failures, and that nothing holds it up or stays behind. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { startTimeOf } from '../../state/processIdentity.ts';
import { until } from '../harness/until.ts';
import { runFile } from '../harness/testFile.ts';
import { failures, pointsOf } from '../harness/testReport.ts';

const file = (name: string) => join(import.meta.dirname, '..', 'fixtures', 'testFiles', `${name}.ts`);
/** Pids of what was left running. */
const pidsOf = (lines: string[]) => lines.map((line) => Number(/^process (\d+): /.exec(line)![1]));

t.test('each failure is told with its title, what differed, what was thrown, and what ran out of time', async (t) => {
  const run = await runFile(file('mixed'));
  t.match(run, { code: 1, overdue: false, leftRunning: [], leftFiles: [], stderr: /said on the way/ });
  t.same(
    pointsOf(run.tap).map(({ ok, title, skip }) => [ok, title, skip]),
    [
      [true, 'fine', undefined],
      [false, 'differs', undefined],
      [true, 'not today', 'it rains'],
      [false, 'throws', undefined],
      [false, 'waits', undefined],
    ],
  );
  const told = failures(run.tap).join('\n');
  t.match(told, /^✗ differs › the colours\n[^]*- {2}"colour": "blue"[^]*\+ {2}"colour": "red"[^]*mixed\.ts/);
  t.match(told, /\n✗ throws › the flux capacitor is missing\n[^]*mixed\.ts/);
  t.match(told, /\n✗ waits › timeout!\n/);
  t.equal(told.match(/✗/g)?.length, 3, 'each once');
});

t.test('a file that does not end is ended in its time with all it started, and is told from one that fails', async (t) => {
  const run = await runFile(file('hangs'), { limitMs: 6_000, graceMs: 200 });
  t.match(run, { overdue: true, signal: 'SIGKILL' });
  t.match(run.leftRunning, [/trap "" TERM/]);
  for (const pid of pidsOf(run.leftRunning)) t.equal(startTimeOf(pid), undefined);
});

t.test('what a file leaves running holds nobody up: it is named and ended, and its files are removed', async (t) => {
  const run = await runFile(file('litters'));
  t.match(run, { code: 0, overdue: false, leftRunning: [/sleep 997$/], leftFiles: ['litter'] });
  for (const pid of pidsOf(run.leftRunning)) t.equal(startTimeOf(pid), undefined);
});

t.test('an interrupt of the run ends the file that runs', async (t) => {
  const stop = new AbortController();
  const begun = join(t.testdir({}), 'begun');
  const running = runFile(file('hangs'), { stop: stop.signal, graceMs: 200, env: { BEGUN: begun } });
  await until('it runs', () => existsSync(begun));
  stop.abort();
  t.match(await running, { overdue: false, signal: 'SIGKILL', leftRunning: [/trap "" TERM/] });
});
