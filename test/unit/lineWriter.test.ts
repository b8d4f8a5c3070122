/** Floods and repeats of captured output, and the look at every byte that decides which way a block goes. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { LogFile } from '../../base/logFile.ts';
import { createRedactor } from '../../base/redact.ts';
import { CaptureBuffer, has } from '../../supervisor/captureBuffer.ts';
import { LineWriter, type LineWriterOptions } from '../../supervisor/lineWriter.ts';
import { until } from '../harness/until.ts';

interface Written extends Disposable {
  writer: LineWriter;
  /** `from` is where in the buffer the block is put: odd and even alike. */
  write(text: string, from?: number): void;
  records(): { msg: string; level: string; repeated?: number; dropped?: number }[];
}

function written(options: Partial<LineWriterOptions> = {}): Written {
  const dir = mkdtempSync(join(tmpdir(), 'agent-test-'));
  const path = join(dir, 'x.log');
  const buffer = new CaptureBuffer(100_000);
  const writer = new LineWriter({
    file: new LogFile(path, { maxBytes: 1e9, keep: 1 }),
    slot: 'x',
    redact: createRedactor(),
    buffer,
    ...options,
  });
  return {
    writer,
    write: (text, from = 0) => writer.write(from, from + buffer.bytes.write(text, from)),
    records: () =>
      readFileSync(path, { encoding: 'utf8', flag: 'a+' })
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as ReturnType<Written['records']>[number]),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}

t.test('whatever is printed, its lines are the messages of the log', async (t) => {
  const line = fc
    .oneof(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.constantFrom('', 'a', 'a', 'INFO "quoted"', '12:00:00 - = _'))
    .map((text) => text.replaceAll(/[\n\r]/g, ' '));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.array(line, { minLength: 1, maxLength: 20 }), fc.nat(7)), { minLength: 1, maxLength: 5 }),
      async (blocks) => {
        using here = written();
        for (const [lines, from] of blocks) here.write(`${lines.join('\n')}\n`, from);
        here.writer.flush();
        const expanded = here.records().flatMap(({ msg, repeated }) => Array.from({ length: repeated ?? 1 }, () => msg));
        const wanted = blocks.flatMap(([lines]) => lines).filter((text) => text !== '');
        if (JSON.stringify(expanded) !== JSON.stringify(wanted.map((text) => Buffer.from(text).toString())))
          throw new Error(JSON.stringify({ expanded, wanted }));
      },
    ),
    { numRuns: 300 },
  );
  t.pass();
});

t.test('lesson 19: a flood beyond the allowance is declared, cut and counted; what comes after it is kept', async (t) => {
  const said: string[] = [];
  using here = written({ burstBytes: 1_000, sustainedBytesPerSecond: 1, repeatMs: 30, onFlood: (msg) => said.push(msg) });
  const block = (name: string) => Array.from({ length: 10 }, (_, n) => `${name} ${n} ${'x'.repeat(90)}`).join('\n');
  for (const name of ['a', 'b', 'c', 'd', 'e']) here.write(`${block(name)}\n`);
  t.equal(here.writer.dropped, 30, 'the burst lets the block through that overdraws it');
  await until('the count stands in the log', () => here.records().some(({ dropped }) => dropped === 30));
  t.match(
    here.records().map(({ level, msg }) => `${level} ${msg}`),
    [...Array.from({ length: 20 }, () => /^info [ab] /), /^warn x floods its output/, /^warn 30 line\(s\) of a flood were dropped here/],
  );
  t.match(said, [/floods its output/, /30 line/]);
  t.equal(here.records().length + here.writer.dropped - 2, 50, 'every line is kept or counted');
});

t.test('lesson 20: repeats never count as a flood, and their number is written without waiting for another line', async (t) => {
  using here = written({ burstBytes: 1_000, sustainedBytesPerSecond: 1, repeatMs: 20 });
  for (let n = 0; n < 100; n++) here.write('all the same\n'.repeat(100));
  await until('the count', () => here.records().length === 2);
  t.match(here.records(), [{ msg: 'all the same' }, { msg: 'all the same', repeated: 9_999 }]);
  t.equal(here.writer.dropped, 0);
});

t.test('the scan finds every newline and never misses what JSON escapes, wherever it stands', async (t) => {
  const buffer = new CaptureBuffer(4_096);
  const redact = createRedactor();
  redact.learn(['geheimnis-99']);
  for (let start = 0; start < 9; start++) {
    for (let at = 0; at < 40; at++) {
      for (const [text, bit] of [
        ['"', has.escape],
        ['\\', has.escape],
        ['\u0007', has.escape],
        ['ü', has.beyondAscii],
        ['geheimnis-99', has.suspect],
        ['AKIA', has.suspect],
      ] as const) {
        const line = `${'x'.repeat(at)}${text}${'x'.repeat(40 - at)}\nyy\n`;
        const end = start + buffer.bytes.write(line, start);
        const found = buffer.scan(start, end, redact);
        if ((found & bit) === 0) t.fail(`${JSON.stringify(text)} at ${start}+${at} was not seen`);
        if (buffer.newlineCount !== 2 || buffer.newlines[1] !== end - 1) t.fail(`newlines at ${start}+${at}: ${buffer.newlineCount}`);
      }
    }
  }
  const end = buffer.bytes.write(`${'no words 123 '.repeat(20)}\n`, 0);
  t.equal(buffer.scan(0, end, redact) & ~has.newline, 0);
});
