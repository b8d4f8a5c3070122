/** Reading logs backwards over rotated files, filtering, rendering, and following over rotations. */
import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LogFile } from '../../base/logFile.ts';
import { endOf, follow } from '../../bin/logs/follow.ts';
import { jsonLine, parseLine, passes, renderLine } from '../../bin/logs/line.ts';
import { linesBackwards, tail } from '../../bin/logs/tail.ts';
import { rotateWhileFollowed } from '../harness/rotatingWriter.ts';
import { until } from '../harness/until.ts';

interface Dir extends Disposable {
  log: string;
}

function logDir(): Dir {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  return { log: join(dir, 'x.log'), [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

const all = { keep: () => true, enough: () => false };

t.test('lines come back last first, across the chunks of a large file', async (t) => {
  using dir = logDir();
  const lines = Array.from({ length: 5_000 }, (_, i) => `${i} ${'é'.repeat(i % 40)}`);
  writeFileSync(dir.log, `${lines.join('\n')}\n`);
  t.same([...linesBackwards(dir.log)], lines.toReversed());
});

t.test('a torn last line is shown, an empty file and a missing one have no lines', async (t) => {
  using dir = logDir();
  t.same([...linesBackwards(dir.log)], []);
  writeFileSync(dir.log, '');
  t.same([...linesBackwards(dir.log)], []);
  writeFileSync(dir.log, 'one\n\ntwo\nthr');
  t.same([...linesBackwards(dir.log)], ['thr', 'two', 'one']);
});

t.test('the last lines are taken from the rotated files too, as far as they are wanted', async (t) => {
  using dir = logDir();
  writeFileSync(`${dir.log}.2`, 'a\nb\n');
  writeFileSync(`${dir.log}.1`, 'c\nd\n');
  writeFileSync(dir.log, 'e\nf\n');
  t.same(tail(dir.log, { count: 3, ...all }), ['d', 'e', 'f']);
  t.same(tail(dir.log, { count: 100, ...all }), ['a', 'b', 'c', 'd', 'e', 'f']);
  t.same(tail(dir.log, { count: 0, ...all }), []);
  t.same(tail(dir.log, { count: 100, keep: (line) => line !== 'e', enough: (line) => line === 'b' }), ['c', 'd', 'f']);
});

t.test('filters: level, age, component and session', async (t) => {
  const line = parseLine(
    JSON.stringify({ time: '2026-01-01T00:00:00.000Z', level: 'warn', component: 'irc', session_id: 'ses_abc', msg: 'm' }),
  );
  const foreign = parseLine('    at somewhere (file.js:1:1)');
  const cases: { name: string; filter: Parameters<typeof passes>[1]; want: [boolean, boolean] }[] = [
    { name: 'none', filter: {}, want: [true, true] },
    { name: 'a milder level', filter: { level: 'info' }, want: [true, true] },
    { name: 'a worse level', filter: { level: 'error' }, want: [false, true] },
    { name: 'older than wanted', filter: { sinceMs: Date.parse('2026-01-02') }, want: [false, true] },
    { name: 'its component', filter: { component: 'irc' }, want: [true, false] },
    { name: 'another component', filter: { component: 'cron' }, want: [false, false] },
    { name: 'the beginning of its session', filter: { session: 'ses_a' }, want: [true, false] },
  ];
  for (const { name, filter, want } of cases) t.same([passes(line, filter), passes(foreign, filter)], want, name);
});

t.test('a line for people has the fields of its record; a line for programs is always an object', async (t) => {
  const plain = (_style: string, text: string) => text;
  const raw = JSON.stringify({
    time: '2026-01-01T00:00:00.000Z',
    level: 'warn',
    component: 'turn',
    slot: 'agent',
    pid: 1,
    msg: 'slow',
    ms: 7,
    note: 'a b',
    repeated: 3,
  });
  t.match(
    renderLine(parseLine(raw), plain),
    /^2026-01-01 .* warn {2}agent\/turn +slow ×3 {2}ms=7 note="a b"$|^2025-12-31 .* warn {2}agent\/turn +slow ×3 {2}ms=7 note="a b"$/,
  );
  t.equal(jsonLine(parseLine(raw)), raw);
  t.same(JSON.parse(jsonLine(parseLine('{"torn": tr'))), { time: null, level: 'info', component: 'unknown', msg: '{"torn": tr' });
  t.equal(parseLine('null').record, undefined);
  t.equal(parseLine('{"time":"x","level":"loud"}').record, undefined);
});

t.test('following prints each line once, whole, over many rotations', async (t) => {
  using dir = logDir();
  const writer = new LogFile(dir.log, { maxBytes: 4_000, keep: 4, shared: true });
  t.teardown(() => writer.close());
  writer.append('before');
  const seen: string[] = [];
  const stop = new AbortController();
  const following = follow(dir.log, endOf(dir.log), (line) => seen.push(line), stop.signal);
  const wanted = Array.from({ length: 400 }, (_, i) => `line ${i} ${'x'.repeat(60)}`);
  for (const [i, line] of wanted.entries()) {
    writer.append(line);
    // Each burst rotates more than once before the reader gets its turn.
    if (i % 200 === 199) await until(`line ${i} is seen`, () => seen.length === i + 1);
  }
  stop.abort();
  await following;
  t.same(seen, wanted);
});

t.test('following reads a renamed file to its end, and waits for a file that does not exist yet', async (t) => {
  using dir = logDir();
  const seen: string[] = [];
  const stop = new AbortController();
  const following = follow(dir.log, endOf(dir.log), (line) => seen.push(line), stop.signal);
  writeFileSync(dir.log, 'one\ntw');
  await until('the first line', () => seen.length === 1);
  appendFileSync(dir.log, 'o\n');
  await until('the completed line', () => seen.length === 2);
  renameSync(dir.log, `${dir.log}.1`);
  appendFileSync(`${dir.log}.1`, 'late\n');
  writeFileSync(dir.log, 'new\n');
  await until('both files', () => seen.length === 4);
  stop.abort();
  await following;
  t.same(seen.toSorted(), ['late', 'new', 'one', 'two']);
});

t.test('what is written while the tail is read belongs to the following, not to both', async (t) => {
  using dir = logDir();
  writeFileSync(dir.log, 'old\n');
  const start = endOf(dir.log)!;
  appendFileSync(dir.log, 'new\n');
  t.same(tail(dir.log, { count: 10, ...all, until: start }), ['old']);
  const seen: string[] = [];
  const stop = new AbortController();
  const following = follow(dir.log, start, (line) => seen.push(line), stop.signal);
  await until('the new line', () => seen.length === 1);
  stop.abort();
  await following;
  t.same(seen, ['new']);
});

t.test('following keeps up with a writer in another process that rotates while it looks', async (t) => {
  using dir = logDir();
  const stop = new AbortController();
  const seen: number[] = [];
  const following = follow(dir.log, endOf(dir.log), (line) => seen.push(Number(line.split(' ')[1])), stop.signal);
  const written = await rotateWhileFollowed(t, { log: dir.log, bursts: 60, seen: () => seen.length });
  stop.abort();
  await following;
  t.same(seen, written);
});

const plain = (_style: string, text: string): string => text;

t.test('a line for people loses the colours of a program and steers no terminal', (t) => {
  const line = (fields: Record<string, unknown>) =>
    renderLine(
      parseLine(JSON.stringify({ time: '2026-01-02T12:00:00.000Z', level: 'info', component: 'stdio', msg: 'm', ...fields })),
      plain,
    );
  const cases = [
    { name: 'colours', given: line({ msg: '\u001b[32mgreen\u001b[0m tea' }), want: /stdio {6}green tea$/ },
    { name: 'a cleared screen', given: line({ msg: 'a\u001b[2Jb\nc' }), want: /a\\x1b\[2Jb\\nc$/ },
    { name: 'a field', given: line({ nick: '\u001b]0;t\u0007' }), want: /nick=\\x1b\]0;t\\x07$/ },
    { name: 'a stack', given: line({ stack: 'Error: x\n    at \u001b[2J' }), want: /\n {4}at \\x1b\[2J$/ },
    {
      name: 'a line that is not ours',
      given: renderLine(parseLine('torn \u001b[1mbold\u001b[0m \u0007'), plain),
      want: /^torn bold \\x07$/,
    },
  ];
  for (const { name, given, want } of cases) t.match(given, want, name);
  t.end();
});
