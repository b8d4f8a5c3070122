/** One line of a log: reading it, filtering it, and showing it to a person. */
import { levels, type Level } from '../../base/closedWords.ts';
import { severity } from '../../base/log.ts';
import type { Paint, Style } from '../../base/paint.ts';
import { printedLine, visibleLines, visibleText } from '../../base/visibleText.ts';
import { localTimeMs } from '../instants.ts';

export interface LogLine {
  raw: string;
  /** Undefined when the line is not one of ours (a stack trace, a torn line). */
  record: LogRecord | undefined;
}

export interface LogRecord {
  time: string;
  level: Level;
  component: string;
  msg: string;
  slot?: string;
  pid?: number;
  session_id?: string;
  repeated?: number;
  [field: string]: unknown;
}

export interface LogFilter {
  /** This severe or worse. */
  level?: Level;
  sinceMs?: number;
  component?: string;
  /** A session id or the beginning of one. */
  session?: string;
}

export function parseLine(raw: string): LogLine {
  try {
    const value = JSON.parse(raw) as Partial<LogRecord> | null;
    const ours = value !== null && typeof value === 'object' && typeof value.time === 'string' && levels.includes(value.level as Level);
    return { raw, record: ours ? ({ component: '', msg: '', ...value } as LogRecord) : undefined };
  } catch {
    return { raw, record: undefined };
  }
}

/** Lines that are not ours pass by level and time (they belong to what stands above), never by component or session. */
export function passes({ record }: LogLine, { level, sinceMs, component, session }: LogFilter): boolean {
  if (!record) return component === undefined && session === undefined;
  if (level !== undefined && severity(record.level) < severity(level)) return false;
  if (sinceMs !== undefined && Date.parse(record.time) < sinceMs) return false;
  if (component !== undefined && record.component !== component) return false;
  return session === undefined || (record.session_id?.startsWith(session) ?? false);
}

const levelStyle: Record<Level, Style> = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red', fatal: 'magenta' };
const HEAD: ReadonlySet<string> = new Set(['time', 'level', 'component', 'slot', 'pid', 'msg', 'stack', 'repeated', 'cause']);

/** `2026-01-02 12:00:01.123 warn  gateway  message  key=value`, local time; a stack below. What programs and strangers said steers no terminal. */
export function renderLine({ raw, record }: LogLine, paint: Paint): string {
  if (!record) return paint('dim', printedLine(raw));
  const { time, level, component, msg, repeated, slot } = record;
  const rest = Object.entries(record)
    .filter(([field, value]) => !HEAD.has(field) && value !== undefined && value !== null)
    .map(([field, value]) => `${field}=${typeof value === 'string' ? quoted(value) : JSON.stringify(value)}`);
  const where = slot && slot !== component ? `${slot}/${component}` : component;
  const head = `${paint('dim', localTimeMs(visibleText(time)))} ${paint(levelStyle[level], level.padEnd(5))} ${paint('cyan', visibleText(where).padEnd(10))} ${printedLine(msg)}`;
  const times = repeated ? paint('yellow', ` ×${repeated}`) : '';
  const stack = typeof record.stack === 'string' ? `\n${paint('dim', visibleLines(record.stack.split('\n').slice(1).join('\n')))}` : '';
  return `${head}${times}${rest.length ? paint('dim', `  ${visibleText(rest.join(' '))}`) : ''}${stack.trimEnd()}`;
}

/** Always one JSON object: a line that is not ours is wrapped. */
export const jsonLine = ({ raw, record }: LogLine): string =>
  record ? raw : JSON.stringify({ time: null, level: 'info', component: 'unknown', msg: raw });

const quoted = (value: string): string => (/[\s"=]/.test(value) || value === '' ? JSON.stringify(value) : value);
