/**
 * `terminal`: one command in its own process group. The group is ended with the command, at its time
 * limit and at an interrupt, so nothing it started in that group stays behind. It sees an
 * allow-listed environment; no secret of the service is in it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { z } from 'zod';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Danger, ProcessGroups, ToolResult, ToolRun } from '../ports.ts';
import { CappedText } from './outputCap.ts';
import { defineTool, type Tool } from './registry.ts';

export interface TerminalOptions {
  /** Working directory of the session. */
  cwd: string;
  env: Record<string, string>;
  groups?: ProcessGroups;
  /** What is dangerous about a command that would run in `cwd`. */
  danger?(command: string, cwd: string): Danger | undefined;
}

const maxSeconds = limits.tools.terminalMaxMs / 1_000;

const Args = z.object({
  command: z.string().min(1).describe('Shell command; it runs to its end, background processes are ended with it.'),
  workdir: z.string().optional().describe('Directory to run it in; default: the directory of the session.'),
  timeout: z
    .number()
    .positive()
    .max(maxSeconds)
    .optional()
    .describe(`Seconds until it is stopped; default ${limits.tools.terminalMs / 1_000}, at most ${maxSeconds}.`),
});

export function terminalTool(options: TerminalOptions): Tool {
  return defineTool({
    name: 'terminal',
    toolset: 'terminal',
    description: 'Runs a shell command and returns its output and exit code. No terminal is attached: nothing interactive.',
    args: Args,
    danger: ({ command, workdir }) => options.danger?.(command, workdir ?? options.cwd),
    run: ({ command, workdir, timeout }, run) =>
      runCommand({ ...options, command, cwd: workdir ?? options.cwd, timeoutMs: timeout ? timeout * 1_000 : limits.tools.terminalMs }, run),
  });
}

interface Command extends TerminalOptions {
  command: string;
  timeoutMs: number;
}

export interface CommandEnd {
  exit_code: number | null;
  signal: string | null;
  timed_out: boolean;
  truncated: boolean;
  duration_ms: number;
  output: string;
}

async function runCommand({ command, cwd, env, timeoutMs, groups }: Command, { signal, progress }: ToolRun): Promise<ToolResult> {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AgentError('NOT_FOUND', `the working directory ${cwd} does not exist`, { fix: 'give another workdir' });
  }
  const startedAt = performance.now();
  const child = spawn(shell(), ['-c', command], { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = new CappedText(limits.turn.toolOutputMaxChars);
  collect(child, output, progress);
  const stop = createStop(child);
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    stop();
  }, timeoutMs);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  if (child.pid !== undefined) groups?.started(child.pid);
  try {
    const { code, signal: by } = await endOf(child);
    const duration_ms = Math.round(performance.now() - startedAt);
    return describe(
      { exit_code: code, signal: by, timed_out: timedOut, truncated: output.isCut, duration_ms, output: output.toString() },
      timeoutMs,
    );
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    if (child.pid !== undefined) {
      killGroup(child.pid, 'SIGKILL');
      groups?.ended(child.pid);
    }
  }
}

let shellOnce: string | undefined;
const shell = (): string => (shellOnce ??= existsSync('/bin/bash') ? '/bin/bash' : '/bin/sh');

/** Both streams into one text, in the order they arrive; the last line is shown while it runs. */
function collect(child: ChildProcess, output: CappedText, progress: (preview: string) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => {
      const text = decoder.write(chunk);
      output.push(text);
      const line = text.trimEnd().split('\n').at(-1);
      if (line) progress(line.slice(-200));
    });
    stream.on('end', () => output.push(decoder.end()));
    stream.on('error', () => {});
  }
}

/** Asks the group to end, then kills it. Idempotent. */
function createStop(child: ChildProcess): () => void {
  let asked = false;
  return () => {
    if (asked || child.pid === undefined) return;
    asked = true;
    const { pid } = child;
    killGroup(pid, 'SIGTERM');
    const timer = setTimeout(() => killGroup(pid, 'SIGKILL'), limits.tools.terminalTermMs);
    child.once('close', () => clearTimeout(timer));
  };
}

/** Resolves when the shell has ended and its output is read; what else holds the output open is killed. */
function endOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    let flush: NodeJS.Timeout | undefined;
    child.once('error', (cause) =>
      reject(new AgentError('INTERNAL', `the command could not be started (${errnoOf(cause) ?? cause.message})`, { cause })),
    );
    child.once('exit', () => {
      flush = setTimeout(() => {
        killGroup(child.pid!, 'SIGKILL');
        // A process that left the group may still hold the pipes: reading ends here all the same.
        child.stdout!.destroy();
        child.stderr!.destroy();
      }, limits.tools.terminalFlushMs);
    });
    child.once('close', (code, signal) => {
      clearTimeout(flush);
      resolve({ code, signal });
    });
  });
}

export function killGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch {
    // the group is gone
  }
}

function describe(end: CommandEnd, timeoutMs: number): ToolResult {
  const how = end.timed_out
    ? `[stopped after ${timeoutMs / 1_000} s: it was still running]`
    : end.signal
      ? `[ended by ${end.signal}]`
      : end.exit_code === 0
        ? ''
        : `[exit code ${end.exit_code}]`;
  const body = end.output.trimEnd();
  const text = [body, how].filter(Boolean).join('\n') || '[no output, exit code 0]';
  return { text, data: end, isError: end.timed_out || end.signal !== null };
}
