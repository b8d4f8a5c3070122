import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import t from 'tap';
import { AgentError } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Level } from '../../base/closedWords.ts';
import { createConsoleSink, createFileSink, createLogger, errorFields, type LogSink } from '../../base/log.ts';
import { createRedactor } from '../../base/redact.ts';

interface Lines extends LogSink {
  records: Record<string, unknown>[];
  lines: string[];
}

function memorySink(): Lines {
  const lines: string[] = [];
  return {
    lines,
    get records() {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    write: (_level, line) => void lines.push(line),
    close() {},
  };
}

t.test('lesson 22: a line: time level component slot … pid … msg, in the order of the contract', async (t) => {
  const sink = memorySink();
  const log = createLogger({ sink, component: 'gateway', fields: { slot: 'gateway' } });
  log.warn('platform lost', { session_id: 's1', tries: 3 });
  log.child('irc', { nick: 'agent' }).info('joined');
  log.debug('below the level');
  t.match(sink.records, [
    {
      time: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/,
      level: 'warn',
      component: 'gateway',
      slot: 'gateway',
      session_id: 's1',
      tries: 3,
      pid: process.pid,
      msg: 'platform lost',
    },
    { level: 'info', component: 'irc', slot: 'gateway', nick: 'agent', msg: 'joined' },
  ]);
  t.equal(sink.records.length, 2);
  t.same(Object.keys(sink.records[0]!).slice(0, 3), ['time', 'level', 'component']);
});

t.test('a field cannot pose as another part of the line', async (t) => {
  const sink = memorySink();
  createLogger({ sink, component: 'c' }).info('true', { msg: 'false', level: 'fatal', component: 'x', time: 'never', pid: 0 });
  t.match(sink.records, [{ level: 'info', component: 'c', msg: 'true', pid: process.pid, time: /^20/ }]);
});

t.test('what JSON cannot say is left out, never thrown over', async (t) => {
  const sink = memorySink();
  const log = createLogger({ sink, component: 'c' });
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  log.info('circle', { circle });
  log.info('big', { n: 1n });
  log.info('odd', { f: () => 1, u: undefined, s: 'a\n"b"\u2028' });
  t.match(sink.records, [
    { msg: 'circle', unserialisable: true },
    { msg: 'big', unserialisable: true },
    { msg: 'odd', s: 'a\n"b"\u2028' },
  ]);
  t.ok(sink.lines.every((line) => !line.includes('\n')));
});

t.test('a line stays under its limit and keeps the beginning of its message', async (t) => {
  const sink = memorySink();
  const log = createLogger({ sink, component: 'c', fields: { slot: 's' } });
  log.info('m'.repeat(200_000), { small: 1, big: 'b'.repeat(200_000), object: { a: 1 } });
  log.info('\u0001'.repeat(200_000));
  log.info('short', { list: Array.from({ length: 50_000 }, () => 7) });
  log.info('many', Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`field_${n}`, 'v'.repeat(90)])));
  t.ok(sink.lines.every((line) => Buffer.byteLength(line) <= limits.logs.lineMaxBytes));
  t.match(sink.records, [
    { msg: /^m{10000,}$/, cut: true, small: 1, slot: 's' },
    { msg: /^\u0001{1000,}$/, cut: true },
    { msg: 'short', cut: true },
    { msg: 'many', field_0: /^v+$/ },
  ]);
});

t.test('secrets are taken out of the values, whatever is in them, and the line stays JSON', async (t) => {
  const sink = memorySink();
  const redact = createRedactor();
  redact.learn(['with "quotes" and \\ in it']);
  const log = createLogger({ sink, component: 'c', redact });
  log.info('env API_KEY="sk" and the value with "quotes" and \\ in it');
  log.info('-----BEGIN PRIVATE KEY-----\nMIIE', { after: 'kept' });
  log.info('http://a:b', {
    x: 'c@d',
    password: 'plain',
    nested: { authorization: 'Negotiate x', list: ['Bearer abc123def456ghi7'] },
    session_key: 'agent:main',
  });
  log.info(`${'m'.repeat(limits.logs.lineMaxBytes / 4 - 10)} sk-abcdef1234567890abcdef ${'m'.repeat(limits.logs.lineMaxBytes)}`);
  t.match(sink.records, [
    { msg: 'env API_KEY=[redacted] and the value [redacted]' },
    { msg: '[redacted]', after: 'kept' },
    {
      msg: 'http://a:b',
      x: 'c@d',
      password: '[redacted]',
      nested: { authorization: '[redacted]', list: ['Bearer [redacted]'] },
      session_key: 'agent:main',
    },
    { cut: true },
  ]);
  t.notOk(sink.lines[3]!.includes('sk-abc'), 'not even the beginning of one at the cut');
});

t.test('thrown values become fields, with cause and code', async (t) => {
  const error = new AgentError('QUEUE_FULL', 'no room', { cause: new Error('below') });
  t.match(errorFields(error), { error: 'no room', code: 'QUEUE_FULL', stack: /no room/, cause: { error: 'below' } });
  t.same(errorFields('text'), { error: 'text' });
});

function fileSink(): { sink: LogSink; main(): Record<string, unknown>[]; errors(): Record<string, unknown>[] } & Disposable {
  const dir = mkdtempSync(join(tmpdir(), 'agent-log-'));
  const read = (name: string) =>
    readFileSync(join(dir, name), { encoding: 'utf8', flag: 'a+' })
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return {
    sink: createFileSink({ file: join(dir, 'main.log'), errorsFile: join(dir, 'errors.log') }),
    main: () => read('main.log'),
    errors: () => read('errors.log'),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}

t.test('warnings and worse stand in errors.log too', async (t) => {
  using files = fileSink();
  const log = createLogger({ sink: files.sink, component: 'c', level: 'debug' });
  for (const level of ['debug', 'info', 'warn', 'error', 'fatal'] as Level[]) log[level](level);
  files.sink.close();
  t.same(
    files.main().map(({ msg }) => msg),
    ['debug', 'info', 'warn', 'error', 'fatal'],
  );
  t.same(
    files.errors().map(({ msg }) => msg),
    ['warn', 'error', 'fatal'],
  );
});

t.test('the same message over and over becomes one line and one count, in both files', async (t) => {
  using files = fileSink();
  const log = createLogger({ sink: files.sink, component: 'c' });
  for (let n = 0; n < 50_000; n++) log.error('disk on fire', { where: 'sda' });
  log.error('disk on fire', { where: 'sdb' });
  log.info('something else');
  for (let n = 0; n < 3; n++) log.error('again');
  files.sink.close();
  const short = (records: Record<string, unknown>[]) =>
    records.map(({ msg, where, repeated }) => [msg, where, repeated].filter(Boolean).join(' '));
  t.same(short(files.main()), ['disk on fire sda', 'disk on fire sda 49999', 'disk on fire sdb', 'something else', 'again', 'again 2']);
  t.same(short(files.errors()), ['disk on fire sda', 'disk on fire sda 49999', 'disk on fire sdb', 'again', 'again 2']);
});

t.test('a person at a terminal gets time, level, component and message', async (t) => {
  let text = '';
  const stream = new Writable({ write: (chunk: Buffer, _encoding, done) => ((text += chunk.toString()), done()) });
  createLogger({ sink: createConsoleSink(stream), component: 'gateway' }).warn('careful');
  t.match(text, /^\d\d:\d\d:\d\d warn {2}gateway {4}careful\n$/);
});
