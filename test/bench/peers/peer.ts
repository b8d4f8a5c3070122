/**
 * What a process supervisor is to the bench: it starts a list of programs, keeps them alive, keeps what
 * they print, and ends. Each peer is set up as its own documentation says, with its defaults.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../harness/until.ts';

export interface WorkerLine {
  name: string;
  command: [string, ...string[]];
}

export interface Running {
  /** The process that supervises. */
  pid: number;
  /** Ends everything in its own way; resolves when its own command has ended. */
  stop(): Promise<void>;
  /** What a user types to see the state. */
  status: string[];
  /** Environment of `status`. */
  env: NodeJS.ProcessEnv;
  /** Files with what a worker printed, oldest first, rotated ones included. */
  logs(name: string): string[];
}

export interface Peer {
  name: string;
  version: string;
  /** Why it cannot be measured here. */
  missing?: string;
  /** Writes its configuration into the folder. */
  prepare(folder: string, workers: readonly WorkerLine[]): void;
  /** Starts it as an operator does; resolves when its process is known. Called again after its death. */
  start(folder: string): Promise<Running>;
}

export const BASE_ENV = { PATH: process.env.PATH, LANG: 'C.UTF-8' };

/** Starts a program that stays in the foreground, in its own session. */
export function foreground(command: readonly string[], env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(command[0]!, command.slice(1), { env, stdio: 'ignore', detached: true });
  child.on('error', () => {});
  return child;
}

/** supervisord takes 30 s to stop 200 programs; what takes longer is ended hard. */
export const STOP_MAX_MS = 45_000;

/** Sends a signal and waits for the end. */
export async function endWith(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  const hard = setTimeout(() => child.kill('SIGKILL'), STOP_MAX_MS);
  child.kill(signal);
  await ended;
  clearTimeout(hard);
}

/** Runs a command of a peer to its end. */
export async function runQuietly(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number | null> {
  const child = spawn(command[0]!, command.slice(1), { env, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

export async function pidFrom(path: string): Promise<number> {
  return until(`a process id stands in ${path}`, () => (existsSync(path) ? Number(readFileSync(path, 'utf8')) || undefined : undefined));
}

/** `name` and its rotated siblings in a folder, oldest first by the time of the last write. */
export function filesOf(folder: string, accept: (name: string) => boolean): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter(accept)
    .toSorted()
    .map((name) => join(folder, name));
}
