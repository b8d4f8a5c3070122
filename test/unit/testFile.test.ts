/** How `npm test` runs a file: what it says of failures, and that nothing holds it up or stays behind. */
import { spawnSync } from 'node:child_process';
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

t.test('a file that failed beside another runs once more: what passes then is named, what fails again is red', (t) => {
  const run = (...names: string[]) => {
    const env = { ...process.env, MARK: join(t.testdir({}), 'mark') };
    const { status, stdout } = spawnSync(process.execPath, [join(import.meta.dirname, '..', 'run.ts'), ...names.map(file)], {
      encoding: 'utf8',
      env,
    });
    return { status, lines: stdout.trimEnd().split('\n') };
  };
  const unstable = run('secondTime', 'litters');
  t.match(unstable, {
    status: 0,
    lines: [...unstable.lines.slice(0, -2), /^UNSTABLE .*secondTime\.ts: passes from/, '2 passed, 0 failed'],
  });
  t.match(unstable.lines.join('\n'), /✗ passes from the second time on/, 'its failure is told');
  const red = run('mixed', 'litters');
  t.match(red, {
    status: 1,
    lines: [...red.lines.slice(0, -4), /^FAILED .*: differs$/, /: throws$/, /: waits$/, /^\d+ passed, 3 failed, 1 skipped$/],
  });
  t.equal(red.lines.filter((line) => line.startsWith('FAIL ')).length, 2, 'it had its second run');
  t.equal(run('secondTime').status, 1, 'a file by itself is what it is');
  t.end();
});
