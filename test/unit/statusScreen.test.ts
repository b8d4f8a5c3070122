/** The live screen of `agent status --watch`, as lines: whatever the size of the terminal. */
import t from 'tap';
import type { Snapshot, WorkerRow } from '../../bin/snapshot.ts';
import { noteTrend, sparkline, statusScreen, type Trend } from '../../bin/statusScreen.ts';
import { cutToWidth, visibleWidth } from '../../bin/terminal.ts';
import { painter, type Paint } from '../../base/paint.ts';
import { workerRow } from '../harness/records.ts';

const nowMs = Date.parse('2026-01-02T03:04:05Z');
const ago = (ms: number): string => new Date(nowMs - ms).toISOString();

const row = (slot: string, more: Partial<WorkerRow> = {}): WorkerRow =>
  workerRow(slot, { since: ago(65_000), rss_bytes: 100 * 1024 ** 2, cpu_percent: 1.5, lag_ms: 2.4, fds: 28, ...more });

const seen = (workers: WorkerRow[], more: Partial<Snapshot['status']> = {}): Snapshot => ({
  status: {
    supervisor: {
      pid: 7,
      version: '1.2.3',
      code: 'c',
      started_at: ago(3_600_000),
      home: '/home/u/.agent',
      managed_by: 'none',
      adopted: 0,
      start_time: 1,
      boot_id: 'b',
      dashboard: null,
      demo: false,
    },
    paused: null,
    problems: [],
    workers,
    at: ago(1_000),
    ...more,
  },
  live: true,
  supervisor: 'running',
  ageMs: 1_000,
  pausedProfiles: [],
});

const plain: Paint = (_style, text) => text;
const coloured = painter({ isTTY: true });
const draw = (snapshot: Snapshot, columns: number, rows: number, paint = plain, trend: Trend = new Map()): string[] =>
  statusScreen(snapshot, { screen: { columns, rows }, trend, paint, nowMs });

const lastExit = { code: 1, signal: null, at: ago(5_000), signature: 's', summary: 'cron crashed with code 1 after 3 min of service' };

t.test('a wide terminal shows every figure, the note of a slot and the last event', async (t) => {
  const lines = draw(
    seen([row('agent', { leak_bytes_per_hour: 12 * 1024 ** 2 }), row('cron', { restarts: 2, last_exit: lastExit })]),
    200,
    24,
  );
  t.match(lines[0], /^agent 1\.2\.3 {2}supervisor 7, up 1 h 0 min {2}\/home\/u\/\.agent$/);
  t.match(lines[2], /^SLOT +STATE +UP +MEMORY +CPU +RESTARTS +LAG +FDS +PID +GROWTH +NOTE$/);
  t.match(lines[3], /^agent +ready +1 min +100 MiB +1\.5% +0 +2 ms +28 +100 +\+12 MiB\/h$/);
  t.match(lines[4], /^cron +ready .* cron crashed with code 1/);
  t.ok(lines.some((line) => line === 'Last event: cron crashed with code 1 after 3 min of service, 5.0 s ago'));
});

t.test('no line is wider and no screen higher than the terminal, from 20 columns up, with colours too', async (t) => {
  const workers = Array.from({ length: 40 }, (_, n) => row(`slot-with-a-long-name-${n}`, { last_exit: lastExit, reason: 'x'.repeat(300) }));
  const snapshot = seen(workers, { problems: [{ what: 'w'.repeat(200), fix: 'f'.repeat(200) }] });
  for (const columns of [20, 40, 61, 80, 100, 133, 250])
    for (const rows of [6, 10, 24, 60]) {
      const lines = draw(snapshot, columns, rows, coloured);
      t.ok(lines.length <= rows && lines.every((line) => visibleWidth(line) <= columns), `${columns} x ${rows}`);
    }
});

t.test('what matters stays the longest when it gets narrow', async (t) => {
  const titles = (columns: number) =>
    draw(seen([row('agent')]), columns, 24)[2]!
      .split(/ +/)
      .join(' ');
  t.equal(titles(80), 'SLOT STATE UP MEMORY CPU RESTARTS LAG FDS PID');
  t.equal(titles(45), 'SLOT STATE UP MEMORY CPU RESTARTS');
  t.equal(titles(30), 'SLOT STATE UP MEMORY');
  t.equal(titles(12), 'SLOT STATE');
});

t.test('when not all slots fit, those in trouble come first and the rest is counted', async (t) => {
  const workers = Array.from({ length: 200 }, (_, n) =>
    row(`s${n}`, n === 150 ? { state: 'parked', pid: null, reason: 'parked: no' } : {}),
  );
  const lines = draw(seen(workers), 100, 20);
  t.match(lines[3], /^s150 +parked/);
  t.ok(
    lines.some((line) => /^… and 18\d more, all well$/.test(line)),
    lines.join('\n'),
  );
  t.ok(lines.some((line) => line === 'Not ready: s150 is parked: no'));
});

t.test('the trend is of one process, flat while nothing moves, and bounded', async (t) => {
  const trend: Trend = new Map();
  for (let n = 0; n < 30; n++) noteTrend(trend, [row('agent', { rss_bytes: 100e6 + n * 10e6 })]);
  t.equal(sparkline(trend.get('agent')!.rss), '▁▂▂▃▄▄▅▅▆▇▇█');
  noteTrend(trend, [row('agent', { pid: 101, rss_bytes: 50e6 })]);
  noteTrend(trend, [row('agent', { pid: 101, rss_bytes: 50.1e6 })]);
  t.equal(sparkline(trend.get('agent')!.rss), '▁▁');
  t.equal(sparkline([]), '');
});

t.test('text is cut by what is visible, styles stay whole', async (t) => {
  t.equal(cutToWidth('\u001b[31mred\u001b[39m and more', 6), '\u001b[31mred\u001b[39m a…');
  t.equal(cutToWidth('short', 5), 'short');
});
