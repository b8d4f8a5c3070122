/** What a child prints, from its pipe to its log, over rotations, floods and deaths of whoever captures it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { LogFile } from '../../base/logFile.ts';
import { limits } from '../../base/limits.ts';
import { createRedactor } from '../../base/redact.ts';
import { OutputDesk, type Output, type OutputOptions } from '../../supervisor/output.ts';
import { journalHeadBytes, OutputJournal } from '../../supervisor/outputJournal.ts';
import { until } from '../harness/until.ts';
import { projectRoot } from '../harness/worker.ts';

interface Place extends Disposable {
  dir: string;
  pipe: string;
  log: string;
  /** All records, oldest first. */
  records(): { msg: string; slot: string; pid: number; component: string; repeated?: number; dropped?: number; level: string }[];
  /** Lets go of it, as a supervisor does that leaves. */
  close(output: Output): void;
  open(desk: OutputDesk, more?: Partial<OutputOptions> & { maxBytes?: number }): Output;
}

function place(): Place {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  const [pipe, log] = [join(dir, 'bridge.out'), join(dir, 'logs', 'bridge.log')];
  const opened = new Set<Output>();
  return {
    dir,
    pipe,
    log,
    records: () =>
      [9, 8, 7, 6, 5, 4, 3, 2, 1]
        .map((n) => `${log}.${n}`)
        .concat(log)
        .filter((path) => statSync(path, { throwIfNoEntry: false }))
        .flatMap((path) => readFileSync(path, 'utf8').split('\n'))
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as ReturnType<Place['records']>[number]),
    open(desk, { maxBytes = 1e9, ...more } = {}) {
      const file = new LogFile(log, { maxBytes, keep: 9 });
      const output = desk.open(pipe, { file, shared: false, slot: 'bridge', redact: createRedactor(), ...more });
      opened.add(output);
      return output;
    },
    close(output) {
      opened.delete(output);
      output[Symbol.dispose]();
    },
    [Symbol.dispose]() {
      for (const output of opened) output[Symbol.dispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** Ends when everything has been printed. */
async function prints(output: Output, program: string): Promise<void> {
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', output.writeFd, output.writeFd] });
  await once(child, 'exit');
}

t.test('a hundred thousand lines over many rotations: none lost, none torn, all in order', async (t) => {
  using here = place();
  const output = here.open(new OutputDesk(), { maxBytes: 3_000_000 });
  output.from(4_711);
  // Written in pieces that end anywhere.
  await prints(
    output,
    `const all = Buffer.from(Array.from({ length: 100_000 }, (_, n) => 'line ' + n + ' ' + 'x'.repeat(n % 170)).join('\\n') + '\\n');
     for (let at = 0; at < all.length;) at += require('fs').writeSync(1, all, at, Math.min(70_001, all.length - at));`,
  );
  t.match(output.tail().at(-1), /^line 99999 /);
  t.equal(output.tail().length, 200);
  const records = here.records();
  t.equal(records.length, 100_000);
  t.equal(
    records.findIndex(({ msg }, n) => msg !== `line ${n} ${'x'.repeat(n % 170)}`),
    -1,
  );
  t.match(records[0], { level: 'info', component: 'stdio', slot: 'bridge', pid: 4_711 });
  t.ok(readdirSync(join(here.dir, 'logs')).length > 5);
});

t.test('a secret in disguise is neither in the log, nor in the tail, nor in the journal', async (t) => {
  using here = place();
  const redact = createRedactor();
  const secret = 'hunter9-Geheim-8842-tail';
  redact.learn([secret, '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----']);
  const output = here.open(new OutputDesk(), { redact });
  const [head, end] = [secret.slice(0, 11), secret.slice(11)];
  const lines = [
    `1 ${head}\u001b[1m${end}`,
    `2 ${head}\r${end}`,
    `3 ${head}\0${end}`,
    `4 ${head}`,
    `${end} 5`,
    Buffer.from(`user:${secret}!`).toString('base64'),
    'AQEFAASCBKcwggSjAgEAAoIB',
    `${'x'.repeat(limits.supervisor.tailLineMaxChars - 11)}${secret}`,
    'the end',
  ];
  await prints(output, `require('fs').writeSync(1, ${JSON.stringify(`${lines.join('\n')}\nunfinished`)})`);
  const tail = output.tail();
  const journal = () => readFileSync(`${here.pipe}.journal`, 'latin1');
  t.equal(tail.at(-1), 'unfinished');
  const kept = [...here.records().map(({ msg }) => msg), ...tail, journal()].join('\n');
  for (const part of ['hunter9', 'Geheim', '8842', 'AQEFAASC', Buffer.from(secret.slice(1, 13)).toString('base64').slice(0, 12)])
    t.notMatch(kept, part);
  t.equal(here.records().length, lines.length, 'no line is lost');
  t.match(journal(), /unfinished/, 'what has no end yet stays noted');
});

t.test('lesson 38: quotes, colours, umlauts, broken bytes and secrets reach the log as JSON without the secrets', async (t) => {
  using here = place();
  const redact = createRedactor();
  redact.learn(['hunter-geheim-7', 'plainwordsecret']);
  const output = here.open(new OutputDesk(), { redact });
  const lines = [
    'plain',
    'says "hi" \\o/',
    '\u001b[31mred\u001b[0m\ttab',
    'zwölf Boxkämpfer',
    'OPENAI_API_KEY=sk-abcdef1234567890abcdef',
    'the word is hunter-geheim-7!',
    'plainwordsecret',
    '-----BEGIN PRIVATE KEY-----',
    'MIIEvQIBADANBgkqhkiG9w0BAQEFAASC',
    '-----END PRIVATE KEY-----',
    'windows\r',
    'last',
  ];
  await prints(output, `require('fs').writeSync(1, ${JSON.stringify(`${lines.join('\n')}\n`)})`);
  await prints(output, `require('fs').writeSync(1, Buffer.from([0x62, 0xff, 0x0a]))`);
  output.tail();
  t.same(
    here.records().map(({ msg }) => msg),
    [
      ...lines.slice(0, 4),
      'OPENAI_API_KEY=[redacted]',
      'the word is [redacted]!',
      '[redacted]',
      '[redacted]',
      '[redacted]',
      'windows',
      'last',
      'b\ufffd',
    ].toSpliced(7, 0, '[redacted]'),
  );
});

t.test('lesson 20: identical lines in a row become one line and a count, over chunks and in floods', async (t) => {
  using here = place();
  const output = here.open(new OutputDesk());
  await prints(
    output,
    `const again = 'the same again\\n'.repeat(10_000);
     for (let i = 0; i < 200; i++) require('fs').writeSync(1, again);
     require('fs').writeSync(1, 'other\\n"quoted"\\n"quoted"\\n"quoted"\\nend\\n');`,
  );
  output.tail();
  t.same(
    here.records().map(({ msg, repeated }) => [msg, repeated ?? 0]),
    [
      ['the same again', 0],
      ['the same again', 1_999_999],
      ['other', 0],
      ['"quoted"', 0],
      ['"quoted"', 2],
      ['end', 0],
    ],
  );
  t.equal(output.dropped, 0);
});

t.test('an unfinished line is held, seen in the tail, and written when the incarnation ends', async (t) => {
  using here = place();
  const output = here.open(new OutputDesk());
  const seen: string[] = [];
  output.onLine((line) => seen.push(line));
  await prints(output, `process.stdout.write('one\\nPassword: ')`);
  t.same(output.tail(), ['one', 'Password: ']);
  t.same(
    here.records().map(({ msg }) => msg),
    ['one'],
  );
  output.reset();
  t.same(output.tail(), []);
  t.same(
    here.records().map(({ msg }) => msg),
    ['one', 'Password: '],
  );
  t.same(seen, ['one', 'Password: ']);
});

t.test('a line without end comes in pieces, bounded each', async (t) => {
  using here = place();
  const output = here.open(new OutputDesk());
  await prints(output, `process.stdout.write('x'.repeat(300_000) + '\\nnext\\n')`);
  output.tail();
  const records = here.records();
  t.equal(records.at(-1)?.msg, 'next');
  t.equal(
    records.slice(0, -1).reduce((sum, { msg }) => sum + msg.length, 0),
    300_000,
  );
  t.ok(records.length > 2 && records.length < 20);
});

t.test('one process makes the pipes of all slots; a pipe that exists is kept', async (t) => {
  using here = place();
  const desk = new OutputDesk();
  const paths = Array.from({ length: 50 }, (_, n) => join(here.dir, `${n}.out`));
  await desk.prepare(paths);
  const inode = statSync(paths[7]!).ino;
  await desk.prepare(paths);
  t.ok(paths.every((path) => statSync(path).isFIFO() && (statSync(path).mode & 0o777) === 0o600));
  t.equal(statSync(paths[7]!).ino, inode);
});

/** A process that captures, until it is killed. */
async function capturer(here: Place): Promise<ChildProcess> {
  const child = spawn(process.execPath, [join(projectRoot, 'test/fixtures/capturesOutput.ts'), here.pipe, here.log], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  await once(child, 'message');
  return child;
}

t.test(
  'lesson 19: whoever captures is killed over and over while a child prints: no line doubled, none torn, none that was read is lost',
  async (t) => {
    using here = place();
    await new OutputDesk().prepare([here.pipe]);
    const writeFd = openSync(here.pipe, constants.O_RDWR);
    t.teardown(() => closeSync(writeFd));
    const count = 40_000;
    const program = `
    const fs = require('fs');
    for (let n = 0; n < ${count}; n++) {
      const line = 'number ' + n + ' ' + 'y'.repeat(n % 90);
      // Now and then the end of the line comes later.
      if (n % 7 === 0) { fs.writeSync(1, line.slice(0, 5)); fs.writeSync(1, line.slice(5) + '\\n'); }
      else fs.writeSync(1, line + '\\n');
      if (n % 40 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }`;
    const writer = spawn(process.execPath, ['-e', program], { stdio: ['ignore', writeFd, 'inherit'] });
    t.teardown(() => writer.kill('SIGKILL'));
    const written = once(writer, 'exit');
    let kills = 0;
    for (; kills < 8; kills++) {
      const child = await capturer(here);
      // Read while it is written: the last line may be half there.
      const [before] = await until('the log can be read', () => [here.records().length] as const);
      await until('it captures', () => here.records().length > before + 300 || writer.exitCode !== null);
      child.kill('SIGKILL');
      await once(child, 'exit');
      if (writer.exitCode !== null) break;
    }
    const last = await capturer(here);
    await written;
    await until('the last line', () =>
      here
        .records()
        .at(-1)
        ?.msg.startsWith(`number ${count - 1} `),
    );
    last.kill('SIGKILL');
    await once(last, 'exit');
    t.ok(kills >= 2, `${kills} kills`);
    const numbers = here.records().map(({ msg }) => Number(/^number (\d+) y*$/.exec(msg)?.[1] ?? Number.NaN));
    t.notOk(numbers.some(Number.isNaN), 'no torn line');
    const missing = numbers.filter((n, i) => i > 0 && n !== numbers[i - 1]! + 1).length;
    t.notOk(
      numbers.some((n, i) => i > 0 && n <= numbers[i - 1]!),
      'no line twice, all in order',
    );
    // Only a kill between the kernel's answer and the first write after it, some microseconds, can take anything.
    t.ok(missing <= 2, `${missing} gaps after ${kills} kills`);
  },
);

t.test('what was read but not written when the capturer died is written by the next one, once', async (t) => {
  using here = place();
  const desk = new OutputDesk();
  const output = here.open(desk);
  writeSync(output.writeFd, 'before\nhalf a li');
  await until('the first line', () => here.records().length === 1);
  here.close(output);
  // As if killed after the note: two lines and a half were read, one of them stands in the log, torn.
  const file = new LogFile(here.log, { maxBytes: 1e9, keep: 9 });
  const buffer = Buffer.concat([Buffer.alloc(journalHeadBytes), Buffer.from('half a line\nsecond\nthi')]);
  new OutputJournal(`${here.pipe}.journal`).note(buffer, {
    start: journalHeadBytes,
    length: buffer.length - journalHeadBytes,
    place: file.place(),
  });
  file.appendBlock(Buffer.from('{"msg":"half a line"}\n{"msg":"sec'));
  const next = here.open(desk);
  writeSync(next.writeFd, 'rd\n');
  await until('the last line', () => here.records().at(-1)?.msg === 'third');
  t.same(
    here.records().map(({ msg }) => msg),
    ['before', 'half a line', 'second', 'third'],
  );
});

t.test('lesson 20: repeats that were only counted when the capturer was killed are counted on by the next one', async (t) => {
  using here = place();
  await new OutputDesk().prepare([here.pipe]);
  const writeFd = openSync(here.pipe, constants.O_RDWR);
  t.teardown(() => closeSync(writeFd));
  const first = await capturer(here);
  for (let n = 0; n < 5; n++) writeSync(writeFd, 'the same\n');
  await until('it is captured', () => here.records().length === 1 && new OutputJournal(`${here.pipe}.journal`).read()?.repeats === 4);
  first.kill('SIGKILL');
  await once(first, 'exit');
  const second = await capturer(here);
  writeSync(writeFd, 'the same\nother\n');
  await until('the next line', () => here.records().at(-1)?.msg === 'other');
  second.kill('SIGKILL');
  await once(second, 'exit');
  t.match(here.records(), [{ msg: 'the same' }, { msg: 'the same', repeated: 5 }, { msg: 'other' }]);
  t.equal(here.records().length, 3);
});
