/** How the page reads logs: bounded steps, and every line once over any number of rotations. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { followLog, tailLog } from '../../services/dashboard/logFile.ts';
import { rotateWhileFollowed } from '../harness/rotatingWriter.ts';

interface Dir extends Disposable {
  log: string;
}

function logDir(): Dir {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  return { log: join(dir, 'x.log'), [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

t.test('the tail is taken over all rotated files, none when none is wanted, and following goes on at its end', async (t) => {
  using dir = logDir();
  writeFileSync(`${dir.log}.1`, 'a\nb\n');
  writeFileSync(dir.log, 'c\n');
  t.same((await tailLog(dir.log, 2, {})).lines, ['b', 'c']);
  t.same((await tailLog(dir.log, 9, {})).lines, ['a', 'b', 'c']);
  const { lines, end } = await tailLog(dir.log, 0, {});
  t.same({ lines, offset: end.offset }, { lines: [], offset: 2 });
});

t.test('following gives every line once while a writer in another process rotates as it looks', async (t) => {
  using dir = logDir();
  const stop = new AbortController();
  const seen: number[] = [];
  const { end } = await tailLog(dir.log, 0, {});
  const onLines = async (lines: string[]) => void seen.push(...lines.map((line) => Number(line.split(' ')[1])));
  const following = followLog(dir.log, { from: end, onLines, signal: stop.signal });
  const written = await rotateWhileFollowed(t, { log: dir.log, bursts: 40, seen: () => seen.length });
  stop.abort();
  await following;
  t.same(seen, written);
});

t.test('lesson 34: looking through full logs for a line that is not there leaves the loop free', async (t) => {
  using dir = logDir();
  const line = JSON.stringify({ time: '2026-01-01T00:00:00.000Z', level: 'info', component: 'c', msg: 'x'.repeat(200) });
  const full = `${line}\n`.repeat(5_000_000 / (line.length + 1));
  for (const name of [dir.log, `${dir.log}.1`, `${dir.log}.2`]) writeFileSync(name, full);
  let turns = 0;
  let looking = true;
  const count = () => {
    turns++;
    if (looking) setImmediate(count);
  };
  setImmediate(count);
  t.same((await tailLog(dir.log, 5_000, { level: 'fatal' })).lines, []);
  looking = false;
  // The loop comes round between two steps, however slow the machine is.
  const steps = (3 * full.length) / limits.dashboard.logChunkBytes;
  t.ok(turns >= steps, `${turns} turns of the loop, ${Math.round(steps)} steps`);
});
