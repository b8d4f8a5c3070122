/**
 * A stdio MCP server as a child process: started in a process group of its own with an allow-listed
 * environment, read line by line under a size limit, its stderr logged within a rate, ended with
 * everything it started. Knows nothing of MCP but "one JSON message a line".
 */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { filterEnv } from '../../base/envFilter.ts';
import { AgentError, errnoOf, messageOf } from '../../base/errors.ts';
import { hexId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/time.ts';
import { tagCommand } from '../../state/limitTag.ts';
import { commonEnv } from '../manifest.ts';
import { MARK_VARIABLE, stopGroup } from './group.ts';
import { LineReader } from './lineReader.ts';
import type { StdioSettings } from './settings.ts';
import type { McpStore } from './store.ts';

export interface ChildParts {
  name: string;
  settings: StdioSettings;
  log: Logger;
  store: McpStore;
}

/** Lines of stderr looked through for the one that tells most. */
const LAST_LINES = 30;

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class StdioChild {
  readonly pid: number;
  /** Resolves with a sentence when the process has ended. */
  readonly ended: Promise<string>;
  onLine: (line: string) => void = () => {};
  #child: Child;
  #mark: string;
  #store: McpStore;
  #stopping: Promise<void> | undefined;
  /** Its output has been read to the end. */
  #drained: Promise<void>;
  /** Last lines of stderr, and unusable output: the best hint when something fails. */
  #lastLines: string[] = [];
  #garbage = '';

  private constructor(child: Child, mark: string, { name, log, store }: ChildParts) {
    this.#child = child;
    this.#mark = mark;
    this.#store = store;
    this.pid = child.pid!;
    const ended = Promise.withResolvers<string>();
    this.ended = ended.promise;
    this.#drained = new Promise((resolve) => child.once('close', () => resolve()));
    child.once('exit', (code, signal) => ended.resolve(signal ? `ended by ${signal}` : `ended with exit code ${code}`));
    child.stdin.on('error', () => {});
    const lines = new LineReader(limits.mcp.messageMaxBytes);
    child.stdout.on('data', (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) if (line.trim() !== '') this.onLine(line);
      } catch (thrown) {
        log.error(`${name}: ${messageOf(thrown)}`);
        ended.resolve('sent a message over the size limit');
        child.stdout.removeAllListeners('data').resume();
      }
    });
    const say = limitedLog(name, log);
    const errors = new LineReader(limits.logs.lineMaxBytes, { cut: true });
    child.stderr.on('data', (chunk: Buffer) => {
      for (const line of errors.push(chunk)) {
        if (line.trim() === '') continue;
        this.#lastLines.push(line.trim().slice(0, 300));
        if (this.#lastLines.length > LAST_LINES) this.#lastLines.shift();
        say(line);
      }
    });
  }

  /** Errors: MCP_FAILED with the fix when the command cannot be started. */
  static async start(parts: ChildParts): Promise<StdioChild> {
    const { name, settings, store } = parts;
    const mark = hexId(32);
    const env: NodeJS.ProcessEnv = { ...filterEnv(process.env, commonEnv), ...settings.env, [MARK_VARIABLE]: mark };
    const { command, args, cwd } = settings;
    // A command that cannot be run is left to `spawn`, which says why.
    const run = isRunnable(command, cwd, env.PATH ?? '') ? tagCommand(mark, command, args) : { file: command, args };
    const child = spawn(run.file, run.args, { cwd, detached: true, stdio: ['pipe', 'pipe', 'pipe'], env });
    try {
      await once(child, 'spawn');
    } catch (thrown) {
      throw startError(name, settings, thrown);
    }
    store.addChild(mark, name, child.pid!);
    return new StdioChild(child, mark, parts);
  }

  /** What it said last that tells most, for an error message; empty when it said nothing. */
  get lastWords(): string {
    // A stack trace ends with anything but its message.
    return (
      this.#garbage ||
      (this.#lastLines.find((line) => /\berror\b|cannot|not found|denied|refused|invalid/i.test(line)) ?? this.#lastLines.at(-1) ?? '')
    );
  }

  /** Remembers output that is not MCP as its last words. */
  noteGarbage(line: string): void {
    this.#garbage = `it printed on stdout, where only MCP messages belong: ${line.slice(0, 200)}`;
  }

  /** Sends one line. Errors: MCP_FAILED when the server does not read or is gone. */
  async send(line: string): Promise<void> {
    const { stdin } = this.#child;
    if (!stdin.writable) throw new AgentError('MCP_FAILED', 'the server is gone');
    if (stdin.writableLength > limits.mcp.messageMaxBytes)
      throw new AgentError('MCP_FAILED', 'the server does not read its standard input');
    stdin.write(`${line}\n`);
  }

  /** End of input, SIGTERM, SIGKILL, proof. A second call joins the first. Errors: STOP_FAILED. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop().catch((thrown: unknown) => {
      this.#stopping = undefined;
      throw thrown;
    });
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    // A well-behaved server leaves at the end of its input (MCP, Shutdown).
    this.#child.stdin.end();
    await Promise.race([this.ended, sleep(limits.mcp.closeMs)]);
    await stopGroup(this.pid, this.#mark);
    await Promise.race([this.#drained, sleep(limits.mcp.closeMs)]);
    for (const stream of [this.#child.stdin, this.#child.stdout, this.#child.stderr]) stream.destroy();
    this.#store.removeChild(this.#mark);
  }
}

function startError(name: string, { command, cwd }: StdioSettings, cause: unknown): AgentError {
  const errno = errnoOf(cause);
  if (errno === 'ENOENT' && !isExecutable(cwd)) {
    return new AgentError('MCP_FAILED', `${name}: the working directory ${cwd} does not exist`, {
      cause,
      fix: `make it, or change mcp_servers.${name}.cwd`,
      facts: { permanent: true },
    });
  }
  const place = isAbsolute(command) ? 'is not there' : 'is not on the PATH of the service';
  return new AgentError(
    'MCP_FAILED',
    `${name}: the command "${command}" ${errno === 'ENOENT' ? place : `cannot be started (${errno ?? messageOf(cause)})`}`,
    {
      cause,
      fix:
        errno === 'EACCES'
          ? `make it executable: chmod +x ${command}`
          : `install it, or write its full path in mcp_servers.${name}.command`,
      facts: { permanent: errno === 'ENOENT' || errno === 'EACCES' },
    },
  );
}

function isRunnable(command: string, cwd: string, path: string): boolean {
  if (!isExecutable(cwd)) return false;
  return command.includes('/')
    ? isExecutable(resolve(cwd, command))
    : path.split(delimiter).some((dir) => isExecutable(resolve(cwd, dir, command)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Logs at most so many lines a minute; says how many were left out (lessons 20). */
function limitedLog(name: string, log: Logger): (line: string) => void {
  let windowStartMs = performance.now();
  let lines = 0;
  return (line) => {
    const nowMs = performance.now();
    if (nowMs - windowStartMs > 60_000) {
      if (lines > limits.mcp.stderrLinesPerMinute)
        log.warn(`${name}: ${lines - limits.mcp.stderrLinesPerMinute} lines of its stderr left out`);
      windowStartMs = nowMs;
      lines = 0;
    }
    if (++lines <= limits.mcp.stderrLinesPerMinute) log.info(line, { stream: 'stderr' });
  };
}
