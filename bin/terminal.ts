/**
 * How commands speak: results on stdout, everything else on stderr. Colour only on a terminal and
 * never with NO_COLOR; with `--json` one document on stdout.
 */
import { fstatSync, statSync, writeSync } from 'node:fs';
import { AgentError, errnoOf, errorTable, isAgentError, messageOf, type ErrorCode } from '../base/errors.ts';
import { exitCodes } from '../base/exitCodes.ts';
import { painter } from '../base/paint.ts';
import { steadyText, visibleJson, visibleLines } from '../base/visibleText.ts';

/** Results go to stdout. On a terminal nothing of them steers it, whoever wrote it: a model, a log, a page. */
export const print = (text: string): void => writeAll(1, `${out.isTTY ? steadyText(text) : text}\n`);
/** Everything else goes to stderr, likewise. */
export const note = (text: string): void => writeAll(2, `${err.isTTY ? steadyText(text) : text}\n`);
export const printJson = (value: unknown): void => print(visibleJson(JSON.stringify(value, null, out.isTTY ? 2 : 0)));

/** Text on stdout that moves the cursor itself, or bytes for another program. */
export const writeOut = (text: string | Uint8Array): void => writeAll(1, text);
/** Text on stderr that moves the cursor itself. */
export const draw = (text: string): void => writeAll(2, text);

/** A terminal behind a descriptor. Asked of the descriptor: node's own streams take 5 ms to make. */
const terminalAt = (fd: number): { readonly isTTY: boolean } => ({
  get isTTY() {
    const stat = fstatSync(fd);
    return stat.isCharacterDevice() && stat.rdev !== statSync('/dev/null').rdev;
  },
});
export const out = terminalAt(1);
export const err = terminalAt(2);

/** Whole text, at once. A reader that went away (`agent logs | head`) ends the command quietly. */
function writeAll(fd: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let offset = 0; offset < bytes.length;) {
    try {
      offset += writeSync(fd, bytes, offset);
    } catch (thrown) {
      if (errnoOf(thrown) === 'EPIPE') {
        if (fd === 1) process.exit(exitCodes.ok);
        return;
      }
      if (errnoOf(thrown) === 'ENOSPC' || errnoOf(thrown) === 'EDQUOT') {
        // What cannot be printed cannot be complained about there either.
        if (fd === 2) return;
        throw new AgentError('DISK_FULL', 'no room for the output of this command', {
          cause: thrown,
          fix: 'free some disk space, then repeat',
        });
      }
      // A descriptor that someone else made non-blocking is full: its reader is slow, not gone.
      if (errnoOf(thrown) !== 'EAGAIN') throw thrown;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

const usageCodes: ReadonlySet<ErrorCode> = new Set([
  'USAGE',
  'CONFIG_KEY',
  'UNKNOWN_SLOT',
  'UNKNOWN_PROFILE',
  'BAD_SCHEDULE',
  'BAD_REQUEST',
  'INVALID_PARAMS',
  'MODEL_SWITCH_ERR_BAD_REASONING',
]);

/** The exit code of contract §4 for anything thrown. */
export function exitCodeOf(thrown: unknown): number {
  if (!isAgentError(thrown)) return exitCodes.failed;
  if (usageCodes.has(thrown.code)) return exitCodes.usage;
  if (thrown.code === 'NO_SUPERVISOR') return exitCodes.noSupervisor;
  return thrown.code === 'CONFIG_INVALID' || thrown.code === 'CONFIG_LOCKOUT' ? exitCodes.config : exitCodes.failed;
}

/** `agent: <what> — <what to do>`, or `{"error":{"code","message","fix"}}`. */
export function printError(thrown: unknown, json: boolean): void {
  const error = isAgentError(thrown)
    ? thrown
    : new AgentError('INTERNAL', messageOf(thrown), { fix: 'this is a defect: AGENT_DEBUG=1 prints the stack' });
  printProblem({ code: error.code, message: error.message, fix: error.fix ?? null }, json);
  if (process.env.AGENT_DEBUG === '1' && thrown instanceof Error) note(thrown.stack ?? '');
}

/** The same for what another process reported. What it quotes of strangers steers no terminal. */
export function printProblem({ code, message, fix: said }: { code: string; message: string; fix: string | null }, json: boolean): void {
  const fix = said || fixOf(code);
  if (json) note(JSON.stringify({ error: { code, message, fix } }));
  else note(`${painter(err)('red', 'agent:')} ${visibleLines(`${message} — ${fix}`)}`);
}

/** Contract §13: every error says what to do, also one that knows nothing better. */
function fixOf(code: string): string {
  if (code === 'CANCELLED') return 'the same command starts it again';
  return errorTable[code as ErrorCode]?.retry
    ? 'try again; if it stays so, `agent logs errors` says more'
    : '`agent logs errors` and `agent doctor` say more';
}

/** Columns for people: pads by what is visible, leaves the last column alone. */
export function table(rows: string[][]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => visibleWidth(row[column] ?? '')))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => (i === row.length - 1 ? cell : cell + ' '.repeat(widths[i]! - visibleWidth(cell))))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

// eslint-disable-next-line no-control-regex -- the escape sequences written above
const STYLES = /\u001b\[\d+m/g;
export const visibleWidth = (text: string): number => text.replace(STYLES, '').length;

/** At most so many visible characters; styles are kept, the cut is shown. */
export function cutToWidth(text: string, columns: number): string {
  if (visibleWidth(text) <= columns) return text;
  let left = columns - 1;
  let cut = '';
  for (const part of text.split(/(\u001b\[\d+m)/)) {
    if (part.startsWith('\u001b[')) cut += part;
    else {
      cut += part.slice(0, left);
      left -= Math.min(left, part.length);
    }
  }
  return `${cut}…`;
}

/** Sizes for people: `123 MiB`. */
export const bytesForPeople = (bytes: number): string =>
  bytes >= 1024 ** 3
    ? `${(bytes / 1024 ** 3).toFixed(1)} GiB`
    : bytes >= 1024 ** 2
      ? `${Math.round(bytes / 1024 ** 2)} MiB`
      : `${Math.round(bytes / 1024)} KiB`;
