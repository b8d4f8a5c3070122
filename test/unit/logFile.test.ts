import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LogFile } from '../../base/logFile.ts';
import { projectRoot } from '../harness/worker.ts';

function directory(): { dir: string; file: string } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-log-'));
  return { dir, file: join(dir, 'logs', 'a.log'), [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) };
}

const linesOf = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

t.test('lines are appended to a private file in a private directory, also to what is there already', async (t) => {
  using place = directory();
  const log = new LogFile(place.file, { maxBytes: 1_000, keep: 2 });
  log.append('one');
  log.append('twö');
  log.close();
  new LogFile(place.file, { maxBytes: 1_000, keep: 2 }).append('three');
  t.same(linesOf(place.file), ['one', 'twö', 'three']);
  t.same([statSync(place.file).mode & 0o777, statSync(join(place.dir, 'logs')).mode & 0o777], [0o600, 0o700]);
});

t.test('rotation: never more files than asked for, each bounded, the newest lines kept in order', async (t) => {
  using place = directory();
  const log = new LogFile(place.file, { maxBytes: 500, keep: 2 });
  for (let n = 0; n < 200; n++) log.append(`line ${n}`);
  const names = readdirSync(join(place.dir, 'logs')).toSorted();
  t.same(
    names.filter((name) => name !== 'a.log'),
    ['a.log.1', 'a.log.2'],
  );
  t.ok(names.every((name) => statSync(join(place.dir, 'logs', name)).size <= 500 + 'line 199\n'.length));
  const kept = [`${place.file}.2`, `${place.file}.1`, ...(names.includes('a.log') ? [place.file] : [])].flatMap(linesOf);
  t.same(
    kept,
    Array.from({ length: kept.length }, (_, n) => `line ${200 - kept.length + n}`),
  );
});

t.test('four processes write and rotate one file at once: no line is lost, none is torn', async (t) => {
  using place = directory();
  const [writers, count] = [4, 6_000];
  const children = Array.from({ length: writers }, (_, writer) =>
    spawn(process.execPath, [`${projectRoot}/test/fixtures/writesLines.ts`, place.file, `w${writer}`, String(count), '60000', '200'], {
      stdio: ['pipe', 'inherit', 'inherit'],
    }),
  );
  for (const child of children) child.stdin.end();
  t.same(await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code as number))), [0, 0, 0, 0]);
  const files = readdirSync(join(place.dir, 'logs'));
  const seen = new Map<string, number>();
  for (const name of files)
    for (const line of linesOf(join(place.dir, 'logs', name)).filter((text) => text !== '')) {
      const { writer, n } = JSON.parse(line) as { writer: string; n: number };
      seen.set(`${writer}.${n}`, (seen.get(`${writer}.${n}`) ?? 0) + 1);
    }
  t.same({ lines: seen.size, twice: [...seen.values()].filter((times) => times > 1).length }, { lines: writers * count, twice: 0 });
  t.ok(files.length > 15 && files.length <= 201, `${files.length} files`);
});

t.test('a claim left by a process that died while it rotated is broken in time, a fresh one is respected', async (t) => {
  using place = directory();
  const claim = `${place.file}.rotating`;
  const log = new LogFile(place.file, { maxBytes: 20, keep: 1 });
  mkdirSync(claim, { recursive: true });
  log.append('more than twenty bytes');
  log.append('while another one rotates');
  t.notOk(readdirSync(join(place.dir, 'logs')).includes('a.log.1'));
  utimesSync(claim, 0, 0);
  log.append('breaks the claim');
  log.append('rotates');
  log.append('and writes on');
  t.same(linesOf(`${place.file}.1`).length, 4);
  t.same(linesOf(place.file), ['and writes on']);
});

t.test('a full disk: nothing is thrown, the loss is counted, no half line stays', async (t) => {
  using place = directory();
  mkdirSync(join(place.dir, 'logs'));
  const log = new LogFile(place.file, { maxBytes: 1e6, keep: 1, shared: true });
  log.append('{"before":1}');
  // /dev/full answers every write with ENOSPC.
  renameSync(place.file, `${place.file}.real`);
  symlinkSync('/dev/full', place.file);
  log.append('{"lost":1}');
  log.append('{"lost":2}');
  rmSync(place.file);
  renameSync(`${place.file}.real`, place.file);
  log.append('{"after":1}');
  t.match(
    linesOf(place.file).map((line) => JSON.parse(line) as object),
    [{ before: 1 }, { level: 'warn', dropped: 2 }, { after: 1 }],
  );
});

t.test('a disk that fills up in the middle of a line: the half is taken back', async (t) => {
  using place = directory();
  const script = `
    import { LogFile } from '${projectRoot}/base/logFile.ts';
    const log = new LogFile(process.argv[1], { maxBytes: 1e9, keep: 1 });
    for (let n = 0; n < 40; n++) log.append(JSON.stringify({ n, filler: 'x'.repeat(70) }));
  `;
  // A limit on the size of files stands for the disk; 2 blocks of 512 bytes, no multiple of the line.
  execFileSync('sh', [
    '-c',
    'ulimit -f 2; trap "" XFSZ; exec "$@"',
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    script,
    place.file,
  ]);
  const text = readFileSync(place.file, 'utf8');
  t.ok(text.length > 800 && text.length <= 1_024 && text.endsWith('\n'), `${text.length} bytes`);
  t.same(
    linesOf(place.file).map((line) => (JSON.parse(line) as { n: number }).n),
    Array.from({ length: linesOf(place.file).length }, (_, n) => n),
  );
});

t.test('a deleted directory is made again; a file moved away by hand is left alone', async (t) => {
  using place = directory();
  const log = new LogFile(place.file, { maxBytes: 1e6, keep: 1, shared: true });
  log.append('one');
  rmSync(join(place.dir, 'logs'), { recursive: true });
  log.append('two');
  t.same(linesOf(place.file), ['two']);
  renameSync(place.file, `${place.file}.mine`);
  log.append('three');
  t.same([linesOf(place.file), linesOf(`${place.file}.mine`)], [['three'], ['two']]);
});

t.test('something in the way of the directory: the lines are lost and counted, nothing is thrown', async (t) => {
  using place = directory();
  writeFileSync(join(place.dir, 'logs'), 'a file');
  const log = new LogFile(place.file, { maxBytes: 1e6, keep: 1 });
  log.append('lost');
  rmSync(join(place.dir, 'logs'));
  log.append('kept');
  t.match(linesOf(place.file), [/"dropped":1\}$/, 'kept']);
});

t.test('lesson 22: half a line that a killed writer left is ended before the next line', async (t) => {
  using place = directory();
  mkdirSync(join(place.dir, 'logs'));
  for (const shared of [false, true]) {
    writeFileSync(place.file, '{"n":1}\n{"n":2');
    const log = new LogFile(place.file, { maxBytes: 1e6, keep: 1, shared });
    log.append('{"n":3}');
    log.close();
    t.same(linesOf(place.file), ['{"n":1}', '{"n":2', '{"n":3}']);
  }
});

t.test('a block of lines is cut between two of them where the file is full', async (t) => {
  using place = directory();
  const log = new LogFile(place.file, { maxBytes: 100, keep: 9 });
  const lines = Array.from({ length: 20 }, (_, n) => `line ${n} ${'x'.repeat(n * 3)}`);
  log.appendBlock(Buffer.from(`${lines.join('\n')}\n`));
  log.appendBlock(Buffer.from(`${'y'.repeat(300)}\nlast\n`));
  const names = readdirSync(join(place.dir, 'logs'));
  const sizes = names.map((name) => statSync(join(place.dir, 'logs', name)).size);
  t.ok(
    sizes.every((size) => size <= 100 || size === 301),
    sizes.join(' '),
  );
  const all = [9, 8, 7, 6, 5, 4, 3, 2, 1]
    .map((n) => `a.log.${n}`)
    .concat('a.log')
    .filter((name) => names.includes(name));
  const kept = all.flatMap((name) => linesOf(join(place.dir, 'logs', name)));
  t.same(kept, [...lines, 'y'.repeat(300), 'last'].slice(-kept.length));
});
