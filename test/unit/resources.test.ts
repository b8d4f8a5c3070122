/** Samples, history and verdicts about memory; the budget of the logs. */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import t from 'tap';
import { limits } from '../../base/limits.ts';
import { readPoints, writePoint } from '../../supervisor/history.ts';
import { keepBudget } from '../../supervisor/logBudget.ts';
import { judgeMemory, leakBytesPerHour } from '../../supervisor/memory.ts';
import { ResourceBook } from '../../supervisor/resources.ts';
import { UsageReader, type Usage } from '../../supervisor/usage.ts';

const MB = 1e6;
const startMs = Date.parse('2026-03-01T00:00:00Z');

function directory(): { dir: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

t.test('lesson 29: two samples in a row over the soft limit recycle, one over the hard limit kills', async (t) => {
  const limit = { softBytes: 400, hardBytes: 1_000 };
  const cases: { name: string; rssBytes: number[]; want: string }[] = [
    { name: 'nothing known', rssBytes: [], want: 'ok' },
    { name: 'below', rssBytes: [300, 400], want: 'ok' },
    { name: 'a peak', rssBytes: [300, 500], want: 'ok' },
    { name: 'a peak that is over', rssBytes: [500, 300], want: 'ok' },
    { name: 'twice', rssBytes: [300, 500, 401], want: 'recycle' },
    { name: 'the first sample already', rssBytes: [999], want: 'ok' },
    { name: 'over the hard limit', rssBytes: [1_001], want: 'kill' },
  ];
  for (const { name, rssBytes, want } of cases) t.equal(judgeMemory({ ...limit, rssBytes }), want, name);
  t.equal(judgeMemory({ softBytes: undefined, hardBytes: undefined, rssBytes: [1e12, 1e12] }), 'ok', 'no limits');
});

t.test('the slope of memory is robust against peaks, and unknown for the first hour', async (t) => {
  const points = Array.from({ length: 36 }, (_, n) => ({ atMs: startMs + n * 600_000, rssBytes: 100 * MB + n * 2 * MB }));
  t.equal(leakBytesPerHour(points), 12 * MB);
  t.equal(leakBytesPerHour(points.map((point, n) => (n % 4 === 1 ? { ...point, rssBytes: 900 * MB } : point))), 12 * MB);
  t.equal(leakBytesPerHour(points.map((point) => ({ ...point, rssBytes: 100 * MB }))), 0);
  t.equal(leakBytesPerHour(points.slice(0, 6)), null);
  t.equal(leakBytesPerHour([]), null);
});

t.test('seven days of history take one file of fixed size; older points and broken bytes are not read', async (t) => {
  using place = directory();
  const path = join(place.dir, 'history', 'agent.ring');
  const point = (n: number) => ({
    atMs: startMs + n * 600_000,
    rssBytes: n * 1_024,
    cpuPercent: 1.5,
    lagMs: n % 2 ? 3 : null,
    fds: n % 3 ? 20 : null,
  });
  for (let n = 0; n < 2_000; n++) writePoint(path, point(n));
  t.equal(statSync(path).size, 1_008 * 20);
  const nowMs = startMs + 1_999 * 600_000;
  const points = readPoints(path, nowMs);
  t.equal(points.length, 1_008);
  t.same([points[0], points.at(-1)], [point(992), point(1_999)]);
  t.equal(readPoints(path, nowMs + 6 * 86_400_000).length, 144, 'a service that was off for six days');
  truncateSync(path, 5_555);
  t.equal(readPoints(path, nowMs).length, 277);
  writeFileSync(path, Buffer.alloc(30_000, 0xa7));
  t.same(readPoints(path, nowMs), []);
  t.same(readPoints(join(place.dir, 'none'), nowMs), []);
});

interface Played {
  book: ResourceBook;
  /** Advances by one pulse; answers whether samples came. */
  pulse(rssBytes: number, pid?: number): Promise<boolean>;
}

function played(dir: string): Played {
  let nowMs = startMs;
  let usage: Usage = { rssBytes: 0, cpuMs: 0, fds: 9 };
  const book = new ResourceBook({ dir, now: () => nowMs, read: async (pids) => new Map(pids.map((pid) => [pid, usage])) });
  return {
    book,
    async pulse(rssBytes, pid = 1) {
      nowMs += limits.worker.heartbeatMs;
      usage = { rssBytes, cpuMs: usage.cpuMs + limits.worker.heartbeatMs / 10, fds: 9 };
      return (await book.onPulse([{ slot: 'agent', pid, lagMs: 2 }], nowMs)) !== undefined;
    },
  };
}

t.test(
  'samples ride on the pulse: every sixth heartbeat, ten minutes of them, a point each ten minutes, a slope after an hour',
  async (t) => {
    using place = directory();
    const { book, pulse } = played(place.dir);
    const sampled = [];
    for (let n = 0; n < 13; n++) sampled.push(await pulse(100 * MB));
    t.same(
      sampled.flatMap((yes, n) => (yes ? [n] : [])),
      [0, 6, 12],
    );
    for (let n = 0; n < 2 * 720; n++) await pulse(100 * MB + n * 10_000);
    const recent = book.recent('agent');
    t.equal(recent.length, 20);
    t.match(recent.at(-1), { cpu_percent: 10, lag_ms: 2, fds: 9 });
    t.same(
      recent.map(({ at }) => at),
      recent.map(({ at }) => at).toSorted(),
    );
    const history = book.history('agent', 86_400_000);
    t.ok(history.length >= 28 && history.length <= 33, `${history.length} samples`);
    t.same(
      history.map(({ at }) => at),
      history.map(({ at }) => at).toSorted(),
      'oldest first',
    );
    t.ok(book.history('agent', 60_000).length <= 3);
    const last = await book.sample([{ slot: 'agent', pid: 1, lagMs: null }]);
    t.ok(Math.abs(last.get('agent')!.leakBytesPerHour! - 7.2 * MB) < 0.3 * MB, `${last.get('agent')!.leakBytesPerHour}`);
  },
);

t.test('lesson 30: the verdict is on resident memory of the running incarnation; a new one starts afresh', async (t) => {
  using place = directory();
  const { book, pulse } = played(place.dir);
  const limit = { softBytes: 400 * MB, hardBytes: 9_000 * MB };
  for (let n = 0; n < 12; n++) await pulse(500 * MB);
  t.equal(book.judge('agent', limit), 'recycle');
  for (let n = 0; n < 6; n++) await pulse(500 * MB, 2);
  t.equal(book.judge('agent', limit), 'ok', 'one sample of the new process');
  await book.sample([]);
  t.same(book.recent('agent'), [], 'a slot that is down has none');
});

t.test('the usage of real processes: memory, CPU time and descriptors; one that is gone is left out', async (t) => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], { stdio: 'ignore' });
  t.teardown(() => child.kill('SIGKILL'));
  using reader = new UsageReader();
  const usage = await reader.read([process.pid, child.pid!, 2 ** 22 + 1]);
  t.equal(usage.size, 2);
  const own = usage.get(process.pid)!;
  t.ok(Math.abs(own.rssBytes / process.memoryUsage.rss() - 1) < 0.3, `${own.rssBytes} of ${process.memoryUsage.rss()}`);
  const { user, system } = process.cpuUsage();
  t.ok(Math.abs(own.cpuMs - (user + system) / 1_000) < 200, `${own.cpuMs} ms`);
  if (process.platform !== 'linux') return;
  const openNow = () => readdirSync('/proc/self/fd').length - 1;
  // The reader opens its file of this process before it counts, and that of the child after it.
  t.equal(own.fds, openNow() - 1);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const held = openNow();
  t.same([...(await reader.read([process.pid, child.pid!])).keys()], [process.pid], 'its open file does not keep it alive');
  t.equal(openNow(), held - 1, 'nor is the file kept');
  t.equal((await reader.read([process.pid])).get(process.pid)!.fds, openNow());
  reader[Symbol.dispose]();
  t.equal(openNow(), held - 2);
});

t.test('lesson 19: logs and crash files stay within one budget; the oldest rotated ones go, the current ones never', async (t) => {
  using place = directory();
  const [logs, crash] = [join(place.dir, 'logs'), join(place.dir, 'crash')];
  const put = (path: string, size: number, day: number) => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, Buffer.alloc(size));
    utimesSync(path, day, day);
  };
  put(join(logs, 'agent.log'), 500, 1);
  put(join(logs, 'agent.log.1'), 100, 5);
  put(join(logs, 'agent.log.2'), 100, 3);
  put(join(logs, 'gone.log.1'), 100, 2);
  put(join(crash, 'agent.json'), 50, 1);
  put(join(crash, 'agent', 'old.json'), 100, 4);
  t.same(keepBudget({ logs: [logs], crash: [crash, join(place.dir, 'none')], budgetBytes: 950 }).removed, []);
  const { totalBytes, removed } = keepBudget({ logs: [logs], crash: [crash], budgetBytes: 750 });
  t.equal(totalBytes, 950);
  t.same(
    removed.map(({ path }) => path.slice(place.dir.length + 1)),
    ['logs/gone.log.1', 'logs/agent.log.2'],
  );
  keepBudget({ logs: [logs], crash: [crash], budgetBytes: 0 });
  t.same([readdirSync(logs), readdirSync(crash).toSorted()], [['agent.log'], ['agent', 'agent.json']]);
});
