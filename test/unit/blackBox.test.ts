/** Black boxes: what they hold, that they are bounded, and that a full disk costs nothing but the box. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { readBoxes } from '../../ipc/blackBoxes.ts';
import { composeBox, readLastBox, saveBox, type BoxParts } from '../../supervisor/blackBox.ts';
import { reportEnd } from '../../supervisor/endReport.ts';
import { testHome } from '../harness/home.ts';

const startedMs = Date.parse('2026-01-01T00:00:00Z');

function parts(index: number, more: Partial<BoxParts> = {}, tail: string[] = [`line ${index}`]): BoxParts {
  const report = reportEnd({
    slot: 'a',
    pid: 1_000 + index,
    exit: { code: 1, signal: null },
    atMs: startedMs + index * 60_000,
    livedMs: 5_000,
    readyMs: 4_000,
    activeWork: 2,
    tail,
  });
  return {
    report,
    units: ['turn 1 for secret', 'turn 2'],
    askedBy: { action: 'restart', actor: 'cli', cause: 'agent restart' },
    code: 'abc',
    version: '1.2.3',
    settings: 'digest',
    samples: [],
    liveness: [],
    evidence: null,
    oomKills: null,
    redact: (text) => text.replace('secret', '[redacted]'),
    ...more,
  };
}

t.test('a box tells what ran, what it was doing, who asked, and what the machine was like', async (t) => {
  const sample = (minute: number) => ({
    at: new Date(startedMs + minute * 60_000).toISOString(),
    rss_bytes: minute,
    cpu_percent: 1,
    lag_ms: 0,
    fds: 9,
  });
  const samples = Array.from({ length: 30 }, (_, minute) => sample(minute));
  const box = composeBox(parts(29, { samples }));
  t.match(box, {
    slot: 'a',
    pid: 1_029,
    code: 'abc',
    version: '1.2.3',
    settings: 'digest',
    active_work: 2,
    units: ['turn 1 for [redacted]', 'turn 2'],
    asked_by: { action: 'restart', actor: 'cli' },
    machine: { node: process.version, memory_total_bytes: Number, oom_kills: null },
    last_exit: { summary: /^a crashed with code 1 after 4\.0 s of service, with 2 unit/ },
  });
  t.same(
    box.samples!.map(({ rss_bytes }) => rss_bytes),
    [19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29],
    'the last ten minutes',
  );
});

t.test('ten boxes are kept for a slot, newest first, private', async (t) => {
  using home = testHome();
  for (let index = 0; index < 15; index++) t.equal(saveBox(home.crash, composeBox(parts(index))), true);
  const boxes = readBoxes(home.crash, 'a');
  t.same(
    boxes.map(({ pid }) => pid),
    Array.from({ length: 10 }, (_, index) => 1_014 - index),
  );
  t.equal(readLastBox(home.crash, 'a')?.pid, 1_014);
  t.same(readBoxes(home.crash, 'b'), []);
  t.equal(statSync(join(home.crash, 'a.json')).mode & 0o077, 0);
});

t.test('one box is bounded, its newest lines are kept; all together are bounded', async (t) => {
  using home = testHome();
  const tail = Array.from({ length: 200 }, (_, index) => `${index} ${'ä'.repeat(2_000)}`);
  const box = composeBox(parts(1, {}, tail));
  t.equal(box.tail.at(-1), tail.at(-1));
  for (let slot = 0; slot < 70; slot++) saveBox(home.crash, { ...box, slot: `s${slot}` });
  const sizes = readdirSync(home.crash).map((name) => statSync(join(home.crash, name)).size);
  t.ok(Math.max(...sizes) <= limits.supervisor.boxMaxBytes * 1.05, `largest ${Math.max(...sizes)}`);
  const total = sizes.reduce((sum, size) => sum + size, 0);
  t.ok(total <= limits.supervisor.boxesMaxBytes, `all together ${total}`);
  t.equal(readLastBox(home.crash, 's69')?.slot, 's69', 'the newest is there');
});

t.test('what is no box is not taken for one', async (t) => {
  using home = testHome();
  writeFileSync(join(home.crash, 'a.json'), '{"slot":"a"');
  writeFileSync(join(home.crash, 'a.1.json'), '{"slot":"a"}');
  saveBox(home.crash, { ...composeBox(parts(1)), slot: 'a.b' });
  t.equal(readLastBox(home.crash, 'a'), undefined);
  t.same(readBoxes(home.crash, 'a'), []);
  t.equal(saveBox(join(home.root, 'absent'), composeBox(parts(1))), false);
  t.match(readFileSync(join(home.crash, 'a.b.json'), 'utf8'), /a\.b/);
});
