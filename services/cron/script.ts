/**
 * Runs one file of `scripts/` in its own process group with a small environment, bounded output and a
 * time limit after which the whole group is killed. Nothing outside `scripts/` can be named.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, existsSync, realpathSync, statSync } from 'node:fs';
import { extname, isAbsolute, join, relative, sep } from 'node:path';
import { AgentError } from '../../base/errors.ts';
import { filterEnv } from '../../base/envFilter.ts';
import { limits } from '../../base/limits.ts';
import { sleep } from '../../base/time.ts';
import type { ProfilePaths } from '../../state/home.ts';
import { killOnce, markedProcesses } from '../../state/marks.ts';
import { nodeProgram } from '../../state/nodeProgram.ts';
import { groupAlive, identityOf, isSameProcess, type ProcessIdentity } from '../../state/processIdentity.ts';
import { commonEnv } from '../manifest.ts';

/** Absolute path of a script. Errors: INVALID_PARAMS when it is no file inside `scripts/`. */
export function scriptPath(paths: ProfilePaths, name: string): string {
  const wrong = (why: string) =>
    new AgentError('INVALID_PARAMS', `the script "${name}" cannot be used: ${why}`, {
      field: 'script',
      fix: `put the file into ${paths.scripts} and give its name`,
    });
  if (name === '' || name.includes('\0') || isAbsolute(name)) throw wrong(`it must be the name of a file in ${paths.scripts}`);
  const path = join(paths.scripts, name);
  if (!isInside(paths.scripts, path)) throw wrong(`it is outside ${paths.scripts}`);
  if (!existsSync(path)) throw wrong('there is no such file');
  // A link may lead out as well as dots do.
  const real = realpathSync(path);
  if (!isInside(realpathSync(paths.scripts), real)) throw wrong(`it is outside ${paths.scripts}`);
  if (!statSync(real).isFile()) throw wrong('it is not a file');
  return real;
}

export interface ScriptResult {
  stdout: string;
  /** Why it counts as failed; undefined when it exited 0. */
  problem?: string;
}

export interface ScriptOptions {
  paths: ProfilePaths;
  timeoutMs: number;
  /** Kills the group. */
  signal: AbortSignal;
  env: Record<string, string>;
  /** Called with the group leader once it runs. */
  onStarted(leader: ProcessIdentity): void;
}

/** Never throws for what the script does. Errors: INVALID_PARAMS. */
export async function runScript(name: string, { paths, timeoutMs, signal, env, onStarted }: ScriptOptions): Promise<ScriptResult> {
  const path = scriptPath(paths, name);
  const [command, args] = commandOf(path);
  const child = spawn(command, args, {
    cwd: paths.dir,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...filterEnv(process.env, commonEnv), ...env },
  });
  const stdout = collect(child.stdout, limits.cron.scriptOutputMaxBytes);
  const stderr = collect(child.stderr, limits.cron.scriptErrorMaxBytes);
  const closed = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = new Promise<{ code: number | null; by: NodeJS.Signals | null; failed?: Error }>((resolve) => {
    child.once('error', (failed) => resolve({ code: null, by: null, failed }));
    child.once('exit', (code, by) => resolve({ code, by }));
  });
  if (child.pid === undefined) return { stdout: '', problem: `it could not be started: ${(await ended).failed?.message}` };
  onStarted(identityOf(child.pid));

  const stopped = await Promise.race([ended, interruption(timeoutMs, signal, ended)]);
  const interrupted = typeof stopped === 'string' ? stopped : undefined;
  // What it left running in its group goes with it, whether it ended by itself or not.
  await endGroup(child.pid, interrupted === undefined ? 0 : limits.worker.termMs);
  // A descriptor that a stray outside the group took along does not hold us.
  await Promise.race([closed, sleep(PIPES_MS)]);
  child.stdout.destroy();
  child.stderr.destroy();
  const end = await ended;
  const text = stdout.text();
  if (interrupted) return { stdout: text, problem: interrupted };
  if (end.code === 0) return { stdout: text };
  const last = stderr.text().trim().split('\n').slice(-5).join('\n');
  const how = end.failed ? end.failed.message : end.by ? `it was ended by ${end.by}` : `it exited with code ${end.code}`;
  return { stdout: text, problem: last ? `${how}: ${last}` : how };
}

/**
 * Ends what a dead cron worker left behind of an execution; true when there was something. The record
 * names the group leader (only that very process is touched); the execution id in the environment finds
 * what was started in the instant before it was recorded, or has left the group.
 */
export async function endStray(executionId: string, leader: ProcessIdentity | undefined): Promise<boolean> {
  const led = leader !== undefined && isSameProcess(leader);
  if (led) await endGroup(leader.pid, limits.worker.termMs);
  const marked = killOnce(markedProcesses(EXECUTION_VARIABLE, (value) => value === executionId));
  return led || marked > 0;
}

/** Carried by every process of a script. */
export const EXECUTION_VARIABLE = 'AGENT_EXECUTION_ID';

function isInside(dir: string, path: string): boolean {
  const way = relative(dir, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

const INTERPRETERS: Record<string, string> = { '.sh': 'sh', '.bash': 'bash', '.py': 'python3', '.rb': 'ruby', '.pl': 'perl' };

function commandOf(path: string): [string, string[]] {
  try {
    accessSync(path, constants.X_OK);
    return [path, []];
  } catch {
    const kind = extname(path);
    if (/^\.[cm]?[jt]s$/.test(kind)) return [nodeProgram(), [path]];
    return [INTERPRETERS[kind] ?? 'sh', [path]];
  }
}

async function interruption(timeoutMs: number, signal: AbortSignal, ended: Promise<unknown>): Promise<string> {
  const over = new AbortController();
  void ended.then(() => over.abort());
  try {
    await sleep(timeoutMs, AbortSignal.any([signal, over.signal]));
    return `it ran longer than ${timeoutMs / 1_000} s and was killed`;
  } catch {
    return 'it was stopped because the cron worker is leaving';
  }
}

/** SIGTERM, then SIGKILL to the whole group; returns when none of it is left, or after the kernel had its time. */
async function endGroup(pgid: number, termMs: number): Promise<void> {
  if (termMs > 0 && signalGroup(pgid, 'SIGTERM')) await groupGone(pgid, termMs);
  if (signalGroup(pgid, 'SIGKILL')) await groupGone(pgid, limits.worker.killMs);
}

const signalGroup = (pgid: number, name: NodeJS.Signals): boolean => signalProcess(-pgid, name);

function signalProcess(pid: number, name: NodeJS.Signals): boolean {
  try {
    process.kill(pid, name);
    return true;
  } catch {
    return false;
  }
}

async function groupGone(pgid: number, ms: number): Promise<void> {
  const deadline = performance.now() + ms;
  for (let pauseMs = 1; groupAlive(pgid) && performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 50)) await sleep(pauseMs);
}

/** The group is dead by then; what the pipes still hold is read in no time. */
const PIPES_MS = 1_000;

/** Keeps the first `maxBytes` and reads on, so that the script is never blocked by a full pipe. */
function collect(stream: NodeJS.ReadableStream | null, maxBytes: number): { text(): string } {
  const chunks: Buffer[] = [];
  let size = 0;
  let dropped = 0;
  stream?.on('data', (chunk: Buffer) => {
    const kept = chunk.subarray(0, Math.max(0, maxBytes - size));
    size += kept.length;
    dropped += chunk.length - kept.length;
    if (kept.length > 0) chunks.push(kept);
  });
  return { text: () => Buffer.concat(chunks).toString() + (dropped > 0 ? `\n… ${dropped} more bytes were dropped` : '') };
}
