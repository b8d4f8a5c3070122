/** A command run to its end inside a tool call: time limit, interrupt, a line of progress, and the result as the model reads it. */
import { stripVTControlCharacters } from 'node:util';
import { limits } from '../../base/limits.ts';
import type { ToolResult, ToolRun } from '../ports.ts';
import { startCommand, type CommandHost, type CommandSpec } from './command.ts';

export interface FinishedCommand {
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  truncated: boolean;
  /** The full output, when it is more than what is shown. */
  output_file: string | null;
  duration_ms: number;
  output: string;
}

/** Errors: as startCommand. */
export async function runToEnd(
  spec: CommandSpec & { timeoutMs: number },
  host: CommandHost,
  { signal, progress }: ToolRun,
): Promise<ToolResult> {
  const startedAt = performance.now();
  const preview = createPreview(progress);
  const command = await startCommand({ ...spec, onText: preview.push }, host);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    command.stop();
  }, spec.timeoutMs);
  signal.addEventListener('abort', command.stop, { once: true });
  if (signal.aborted) command.stop();
  try {
    const { code, signal: by } = await command.ended;
    preview.flush();
    const { output } = command;
    const finished: FinishedCommand = {
      exit_code: code,
      signal: by,
      timed_out: timedOut,
      truncated: output.isCut,
      output_file: output.path,
      duration_ms: Math.round(performance.now() - startedAt),
      output: spec.pty ? plainText(output.toString()) : output.toString(),
    };
    return describe(finished, output.note, spec.timeoutMs);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', command.stop);
  }
}

/** What stands on a terminal after the text: no colours, of a line drawn again and again its last form. */
export function plainText(text: string): string {
  return stripVTControlCharacters(text)
    .replaceAll('\r\n', '\n')
    .replace(/^.*\r(?=[^\n])/gm, '');
}

const PREVIEW_MS = 50;

/** The last line of an output, at once and then at most every 50 ms: a flood of lines is no flood of events. */
function createPreview(progress: (preview: string) => void): { push(text: string): void; flush(): void } {
  let line: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const show = () => {
    if (line !== undefined) progress(line);
    line = undefined;
  };
  return {
    push(text) {
      const last = text.trimEnd().split('\n').at(-1);
      if (!last) return;
      line = stripVTControlCharacters(last.slice(-200));
      if (timer) return;
      show();
      timer = setTimeout(() => {
        timer = undefined;
        show();
      }, PREVIEW_MS);
    },
    flush() {
      clearTimeout(timer);
      timer = undefined;
      show();
    },
  };
}

function describe(end: FinishedCommand, note: string, timeoutMs: number): ToolResult {
  const how = end.timed_out
    ? `[stopped after ${timeoutMs / 1_000} s: it was still running]`
    : end.signal
      ? `[ended by ${end.signal}]`
      : end.exit_code === 0
        ? ''
        : `[exit code ${end.exit_code}]`;
  const text = [end.output.trimEnd(), note, how].filter(Boolean).join('\n') || '[no output, exit code 0]';
  return { text, data: end, isError: end.timed_out || end.signal !== null };
}

/** Seconds as asked for, else as configured, within the guard of a tool call. */
export function timeoutMsOf(seconds: number | undefined, configuredSeconds: number | undefined): number {
  return Math.min((seconds ?? configuredSeconds ?? limits.tools.terminalMs / 1_000) * 1_000, limits.tools.terminalMaxMs);
}
