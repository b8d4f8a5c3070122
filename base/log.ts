/**
 * Structured logging: one JSON object a line, shape of contract §7
 * (`time level component slot pid session_id? msg …`). Redacts, collapses repeats, bounds a line.
 */
import { levels, type Level } from './closedWords.ts';
import { LogFile, type LogFileOptions } from './logFile.ts';
import { limits } from './limits.ts';
import { createRedactor, MARK, SECRET_FIELD, type Redactor } from './redact.ts';
import { messageOf } from './errors.ts';

export type Fields = Record<string, unknown>;

export interface Logger {
  debug(msg: string, fields?: Fields): void;
  info(msg: string, fields?: Fields): void;
  warn(msg: string, fields?: Fields): void;
  error(msg: string, fields?: Fields): void;
  fatal(msg: string, fields?: Fields): void;
  /** Same destination, another component and more fixed fields. */
  child(component: string, fields?: Fields): Logger;
}

/** Where finished lines go. */
export interface LogSink {
  write(level: Level, line: string): void;
  /** Writes out collapsed repeats and closes files. */
  close(): void;
}

export const severity = (level: Level): number => levels.indexOf(level);

/** Thrown values as loggable fields, cause included. */
export function errorFields(thrown: unknown): Fields {
  if (!(thrown instanceof Error)) return { error: messageOf(thrown) };
  const code = (thrown as { code?: unknown }).code;
  return {
    error: thrown.message,
    ...(code === undefined ? {} : { code }),
    stack: thrown.stack,
    ...(thrown.cause === undefined ? {} : { cause: errorFields(thrown.cause) }),
  };
}

export interface LoggerOptions {
  sink: LogSink;
  component: string;
  level?: Level;
  fields?: Fields;
  redact?: Redactor;
}

export function createLogger({ sink, component, level = 'info', fields = {}, redact = createRedactor() }: LoggerOptions): Logger {
  const floor = severity(level);
  const at = (lineLevel: Level) => (msg: string, extra?: Fields) => {
    if (severity(lineLevel) < floor) return;
    sink.write(lineLevel, formatLine({ ...fields, ...extra, level: lineLevel, component, msg, pid: process.pid }, redact));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    fatal: at('fatal'),
    child: (name, more) => createLogger({ sink, component: name, level, fields: { ...fields, ...more }, redact }),
  };
}

/**
 * One line of contract §7, of this process unless `pid` names another; a field that cannot be serialised is replaced by its description, never thrown
 * over. Redaction works on the values, before they are escaped: on the finished line it would miss secrets
 * with a quote in them and could cut the JSON apart.
 */
export function formatLine(
  record: Fields & { level: Level; component: string; msg: string; pid?: number | undefined },
  redact: (text: string) => string = (text) => text,
): string {
  const { level, component, msg, time: _time, pid = process.pid, ...fields } = record;
  const head = { time: new Date().toISOString(), level, component };
  const tail = { pid, msg };
  const line = serialise({ ...head, ...fields, ...tail }, redact) ?? serialise({ ...head, ...tail, unserialisable: true }, redact)!;
  if (Buffer.byteLength(line) <= limits.logs.lineMaxBytes) return line;
  return cutLine({ ...head, ...shortOf(fields), ...tail, cut: true }, redact);
}

/** Fields that only this program fills: half of all strings, which need no look for secrets. */
const OWN_WORDS: ReadonlySet<string> = new Set(['time', 'level', 'component', 'slot']);

function serialise(record: Fields, redact: (text: string) => string): string | undefined {
  try {
    return JSON.stringify(record, (name, value: unknown) => {
      if (typeof value !== 'string' || OWN_WORDS.has(name)) return value;
      return SECRET_FIELD.test(name) ? MARK : redact(value);
    });
  } catch {
    // a cycle, or a value JSON does not know
    return undefined;
  }
}

/** A line this long is a message that ran away: keep its beginning and what tells where it came from. */
function cutLine(record: Fields & { msg: string }, redact: (text: string) => string): string {
  // Redacted whole: a cut through a secret would leave its beginning unrecognised.
  const msg = redact(record.msg);
  for (let chars: number = limits.logs.lineMaxBytes / 4; ; chars = Math.floor(chars / 2)) {
    const line = serialise({ ...record, msg: msg.slice(0, chars).toWellFormed() }, redact)!;
    if (Buffer.byteLength(line) <= limits.logs.lineMaxBytes || chars === 0) return line;
  }
}

/** Numbers, flags and short texts; at most as many as a line holds. */
function shortOf(fields: Fields): Fields {
  const short = Object.entries(fields).filter(([name, value]) => typeof value !== 'object' && `${name}${String(value)}`.length < 200);
  return Object.fromEntries(short.slice(0, 50));
}

export interface FileSinkOptions {
  file: string;
  errorsFile: string;
  /** Of `file`; errors.log has its own. */
  sizes?: Pick<LogFileOptions, 'maxBytes' | 'keep'>;
}

const DEFAULT_SIZES = { maxBytes: limits.logs.fileMaxBytes, keep: limits.logs.filesMax - 1 };

/** `logs/<name>.log` plus `logs/errors.log` for warnings and worse; identical messages in a row collapse. */
export function createFileSink({ file, errorsFile, sizes = DEFAULT_SIZES }: FileSinkOptions): LogSink {
  const main = new LogFile(file, { ...sizes, shared: true });
  const errors = new LogFile(errorsFile, { maxBytes: limits.logs.errorsMaxBytes, keep: limits.logs.errorsFilesMax - 1, shared: true });
  let last: { key: string; level: Level; line: string; repeats: number; atMs: number } | undefined;
  let repeatTimer: NodeJS.Timeout | undefined;

  const put = (level: Level, line: string) => {
    main.append(line);
    if (severity(level) >= severity('warn')) errors.append(line);
  };
  const flushRepeats = () => {
    clearTimeout(repeatTimer);
    repeatTimer = undefined;
    if (!last || last.repeats === 0) return;
    const record = JSON.parse(last.line) as Fields;
    put(last.level, JSON.stringify({ ...record, time: new Date().toISOString(), repeated: last.repeats }));
    last = undefined;
  };
  return {
    write(level, line) {
      const key = line.slice(line.indexOf(',') + 1);
      const nowMs = performance.now();
      if (last && last.key === key && nowMs - last.atMs < limits.logs.repeatMs) {
        last.repeats++;
        repeatTimer ??= setTimeout(flushRepeats, limits.logs.repeatMs).unref();
        return;
      }
      flushRepeats();
      last = { key, level, line, repeats: 0, atMs: nowMs };
      put(level, line);
    },
    close() {
      flushRepeats();
      main.close();
      errors.close();
    },
  };
}

/** Lines for a person at a terminal: `12:00:01 warn  gateway  message`. */
export function createConsoleSink(stream: NodeJS.WritableStream): LogSink {
  return {
    write(level, line) {
      const record = JSON.parse(line) as { time: string; component: string; msg: string };
      stream.write(`${record.time.slice(11, 19)} ${level.padEnd(5)} ${record.component.padEnd(10)} ${record.msg}\n`);
    },
    close() {},
  };
}
