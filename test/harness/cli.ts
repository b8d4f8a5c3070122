/** The `agent` command as a user runs it: a process of its own, its output and its exit code. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { projectRoot } from './worker.ts';

export interface CliResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

export interface CliOptions {
  /** AGENT_HOME. */
  home?: { root: string };
  env?: Record<string, string>;
  stdin?: string;
  cwd?: string;
}

/** Compiled sources of the command, kept between tests. */
const compileCache = join(projectRoot, 'node_modules', '.cache', 'compile');

export function cliEnv({ home, env = {} }: CliOptions): Record<string, string> {
  const root = home?.root ?? '/nonexistent';
  return { PATH: process.env.PATH ?? '', HOME: root, AGENT_HOME: root, NODE_COMPILE_CACHE: compileCache, ...env };
}

/** Starts `agent …args`; the caller ends it. */
export function spawnCli(args: string[], options: CliOptions = {}): ChildProcess {
  return spawn(process.execPath, [join(projectRoot, 'bin', 'main.ts'), ...args], {
    env: cliEnv(options),
    cwd: options.cwd ?? projectRoot,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
}

/** Runs `agent …args` to its end. */
export async function cli(args: string[], options: CliOptions = {}): Promise<CliResult> {
  return finished(spawnCli(args, options), options.stdin);
}

/** Runs any program to its end. */
export async function run(file: string, args: string[], options: CliOptions = {}): Promise<CliResult> {
  const child = spawn(file, args, {
    env: cliEnv(options),
    cwd: options.cwd ?? projectRoot,
    stdio: [options.stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  });
  return finished(child, options.stdin);
}

export async function finished(child: ChildProcess, stdin?: string): Promise<CliResult> {
  child.stdin?.end(stdin);
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const [stdout, stderr, [code, signal]] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
  return { code, signal, stdout, stderr };
}

/** The `error` of a command that was run with --json. */
export function errorOf({ stderr }: CliResult): { code: string; message: string; fix: string | null } {
  return (JSON.parse(stderr) as { error: { code: string; message: string; fix: string | null } }).error;
}
