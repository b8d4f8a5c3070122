/**
 * A command of a tool as a tree of processes: a group of its own, a mark in the environment that
 * descendants keep whatever group they join, output bounded in memory. Its end is the end of all of them.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { ProcessGroups } from '../ports.ts';
import { SpilledText, type SpillFolder } from './spill.ts';

/** What the host gives to tools that start processes. */
export interface CommandHost {
  /** Allow-listed environment, as it is now. */
  env(): Record<string, string>;
  groups?: ProcessGroups | undefined;
  trees?: ProcessTrees | undefined;
  spill?: SpillFolder | undefined;
  /** Runs every command of this host inside it; absent = the level is `none`. */
  sandbox?: CommandSandbox | undefined;
}

/** What runs the commands of one session inside a sandbox. */
export interface CommandSandbox {
  /** A folder of this machine that commands see as /tmp. */
  temp: string;
  /** `cwd` is as seen inside. Errors: NOT_FOUND, TOOL_REFUSED (the working directory), SANDBOX_FAILED. */
  confine(command: Pick<CommandSpec, 'file' | 'args' | 'cwd'>, env: Record<string, string>): Promise<ConfinedCommand>;
}

export interface ConfinedCommand {
  file: string;
  args: readonly string[];
  /** On this machine. */
  cwd: string;
  env: Record<string, string>;
  limits: ResourceLimits;
  /** To be called once, when it has ended or could not be started. */
  release(): void;
}

/** By the names of prlimit(1): `nproc`, `cpu` (seconds), `fsize` (bytes), … */
export type ResourceLimits = Readonly<Record<string, number>>;

/** Finds what left the group of its command. */
export interface ProcessTrees {
  /** Names the tree of a command: `env` for its environment, and `command` adds what stays when that is cleared. */
  mark(): {
    value: string;
    env: Record<string, string>;
    command?(file: string, args: readonly string[], limits?: ResourceLimits): { file: string; args: string[] };
  };
  /** SIGKILL to everything that carries the mark until nothing does; false when something lives on. */
  kill(mark: string): Promise<boolean>;
}

export interface CommandSpec {
  file: string;
  args: readonly string[];
  cwd: string;
  /** What the file of its full output is called. */
  name: string;
  /** On a pseudoterminal: for programs that want one. */
  pty?: boolean | undefined;
  /** Keeps standard input open for `write`; without it there is none. */
  input?: boolean | undefined;
  onText?: ((text: string) => void) | undefined;
}

export interface CommandEnd {
  code: number | null;
  signal: string | null;
}

export interface RunningCommand {
  readonly pid: number;
  readonly output: SpilledText;
  /** Resolves when nothing of its tree lives and its output is read. */
  readonly ended: Promise<CommandEnd>;
  /** False when it no longer takes input. */
  write(text: string): boolean;
  closeInput(): void;
  /** Asks its group to end, then kills it. Idempotent. */
  stop(): void;
}

/** Room for the notes that stand below an output. */
const SHOWN_CHARS = limits.turn.toolOutputMaxChars - 1_000;

/** Errors: NOT_FOUND (the directory), FILE_FAILED (it could not be started), those of the sandbox. */
export async function startCommand(spec: CommandSpec, host: CommandHost): Promise<RunningCommand> {
  const mark = host.trees?.mark();
  const plainEnv = { ...host.env(), ...mark?.env };
  const {
    file,
    args,
    cwd,
    env,
    limits: bounds,
    release,
  } = host.sandbox ? await host.sandbox.confine(spec, plainEnv) : unconfined(spec, plainEnv);
  const output = new SpilledText(SHOWN_CHARS, spec.name, host.spill);
  const take = (text: string) => {
    output.push(text);
    spec.onText?.(text);
  };
  const tagged = { ...spec, cwd, ...(mark?.command?.(file, args, bounds) ?? { file, args }) };
  let child: Started;
  try {
    child = spec.pty ? await startOnTerminal(tagged, env, take) : startOnPipes(tagged, env, take);
  } catch (thrown) {
    release();
    throw thrown;
  }
  host.groups?.started(child.pid);
  const ended = child.ended.then(async (end) => {
    killGroup(child.pid, 'SIGKILL');
    if (mark) await host.trees!.kill(mark.value);
    host.groups?.ended(child.pid);
    release();
    output.close();
    return end;
  });
  return { pid: child.pid, output, ended, write: child.write, closeInput: child.closeInput, stop: createStop(child.pid, child.ended) };
}

/** Errors: NOT_FOUND. */
function unconfined({ file, args, cwd }: CommandSpec, env: Record<string, string>): ConfinedCommand {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new AgentError('NOT_FOUND', `the working directory ${cwd} does not exist`, { fix: 'give another workdir' });
  }
  return { file, args, cwd, env, limits: {}, release() {} };
}

interface Started {
  pid: number;
  ended: Promise<CommandEnd>;
  write(text: string): boolean;
  closeInput(): void;
}

// --- pipes ---

function startOnPipes({ file, args, cwd, input }: CommandSpec, env: Record<string, string>, take: (text: string) => void): Started {
  const child = spawn(file, args, { cwd, env, detached: true, stdio: [input ? 'pipe' : 'ignore', 'pipe', 'pipe'] });
  if (child.pid === undefined) {
    child.once('error', () => {});
    throw new AgentError('FILE_FAILED', `${file} could not be started`, { fix: 'is it installed, and are there processes left?' });
  }
  child.on('error', () => {});
  child.stdin?.on('error', () => {});
  collect(child, take);
  return {
    pid: child.pid,
    ended: endOf(child),
    write: (text) => child.stdin?.writable === true && (child.stdin.write(text), true),
    closeInput: () => void child.stdin?.end(),
  };
}

/** Both streams into one text, in the order they arrive. */
function collect(child: ChildProcess, take: (text: string) => void): void {
  for (const stream of [child.stdout!, child.stderr!]) {
    const decoder = new StringDecoder('utf8');
    stream.on('data', (chunk: Buffer) => take(decoder.write(chunk)));
    stream.on('end', () => take(decoder.end()));
    stream.on('error', () => {});
  }
}

/** Resolves when the leader has ended and its output is read; what else holds the output open is killed. */
function endOf(child: ChildProcess): Promise<CommandEnd> {
  return new Promise((resolve) => {
    let flush: NodeJS.Timeout | undefined;
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

// --- pseudoterminal ---

/** The native module costs memory and is loaded with the first one. */
async function startOnTerminal(
  { file, args, cwd }: CommandSpec,
  env: Record<string, string>,
  take: (text: string) => void,
): Promise<Started> {
  const { spawn: open } = await import('node-pty');
  const { ptyCols: cols, ptyRows: rows } = limits.tools;
  let pty: ReturnType<typeof open>;
  try {
    pty = open(file, [...args], { name: 'xterm-256color', cols, rows, cwd, env: { ...env, TERM: 'xterm-256color' } });
  } catch (cause) {
    throw new AgentError('FILE_FAILED', `${file} could not be started on a terminal (${errnoOf(cause) ?? String(cause)})`, { cause });
  }
  let alive = true;
  pty.onData(take);
  const ended = new Promise<CommandEnd>((resolve) =>
    pty.onExit(({ exitCode, signal }) => {
      alive = false;
      resolve({ code: signal ? null : exitCode, signal: signal ? (signalNames[signal] ?? `signal ${signal}`) : null });
    }),
  );
  return {
    pid: pty.pid,
    ended,
    write: (text) => alive && (pty.write(text), true),
    // The end of input on a terminal is a character.
    closeInput: () => void (alive && pty.write('\u0004')),
  };
}

const signalNames: Record<number, string> = {
  1: 'SIGHUP',
  2: 'SIGINT',
  3: 'SIGQUIT',
  6: 'SIGABRT',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM',
};

// --- ending ---

function createStop(pid: number, ended: Promise<CommandEnd>): () => void {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    killGroup(pid, 'SIGTERM');
    const timer = setTimeout(() => killGroup(pid, 'SIGKILL'), limits.tools.terminalTermMs);
    void ended.then(() => clearTimeout(timer));
  };
}

export function killGroup(pgid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pgid, signal);
  } catch {
    // the group is gone
  }
}

let bashOnce: string | undefined;

/**
 * What runs a line of shell. `--norc`: bash takes a standard input that is a socket, as Node's pipes are, for a
 * remote login and would read ~/.bashrc.
 */
export function shellLine(command: string): { file: string; args: string[] } {
  bashOnce ??= ['/bin/bash', '/usr/bin/bash'].find((path) => existsSync(path)) ?? '';
  return bashOnce ? { file: bashOnce, args: ['--norc', '-c', command] } : { file: '/bin/sh', args: ['-c', command] };
}
