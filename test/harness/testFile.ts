/**
 * One test file as a process: with a folder for temporary files of its own, under a limit, ended with all that it
 * started: its process group, and whoever carries the name of that folder in environment, arguments or directory.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

export interface FileRun {
  file: string;
  /** What it wrote as TAP, and to stderr; the latter cut at its beginning. */
  tap: string[];
  stderr: string;
  code: number | null;
  signal: NodeJS.Signals | null;
  ms: number;
  /** It did not end by itself within its limit. */
  overdue: boolean;
  /** Processes that were there after its end, and are no more. */
  leftRunning: string[];
  /** Names in its folder for temporary files, which is gone. */
  leftFiles: string[];
}

/** What a file may take: tap's own limit ends its tests before, and tells which. */
const LIMIT_MS = 330_000;
/** From SIGTERM, upon which tap says what ran, to SIGKILL. */
const GRACE_MS = 5_000;
/** For processes that are being ended while the file ends. */
const LEAVE_MS = 3_000;
/** For what is still in a pipe that a stray holds open. */
const DRAIN_MS = 1_000;
const STDERR_MAX_CHARS = 20_000;

interface RunOptions {
  limitMs?: number;
  graceMs?: number;
  env?: NodeJS.ProcessEnv;
  /** Ends the file before its time. */
  stop?: AbortSignal;
}

export async function runFile(file: string, { limitMs = LIMIT_MS, graceMs = GRACE_MS, env = {}, stop }: RunOptions = {}): Promise<FileRun> {
  const startedAt = performance.now();
  const folder = mkdtempSync(join(tmpdir(), 'run-'));
  const child = spawn(process.execPath, [file], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { TAP_TIMEOUT: '300', ...process.env, ...env, TAP: '1', TMPDIR: folder },
  });
  let tap = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (tap += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-STDERR_MAX_CHARS)));
  const told = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: 1, signal: null }));
  });
  let overdue = false;
  const leave = () => {
    child.kill('SIGTERM');
    setTimeout(() => child.kill('SIGKILL'), graceMs).unref();
  };
  const limit = setTimeout(() => {
    overdue = true;
    leave();
  }, limitMs);
  stop?.addEventListener('abort', leave);
  const end = await ended;
  stop?.removeEventListener('abort', leave);
  clearTimeout(limit);
  const ms = performance.now() - startedAt;
  const leftRunning = await endStrays({ folder, group: child.pid }, overdue || stop?.aborted ? 0 : LEAVE_MS);
  // A stray that is none of ours by any sign could hold the pipe.
  await Promise.race([told, new Promise((resolve) => setTimeout(resolve, DRAIN_MS).unref())]);
  const leftFiles = readdirSync(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  return { file, tap: tap.split('\n'), stderr, ...end, ms, overdue, leftRunning, leftFiles };
}

interface Marks {
  folder: string;
  group: number | undefined;
}

/** Ends what still runs of a file after `leaveMs`; a line for each. */
async function endStrays(marks: Marks, leaveMs: number): Promise<string[]> {
  const gone = () => processesOf(marks).length === 0;
  if (await until('all have left', gone, leaveMs).catch(() => false)) return [];
  const told = new Map<number, string>();
  await until(
    'the strays are dead',
    () => {
      for (const pid of processesOf(marks)) {
        told.set(pid, `process ${pid}: ${told.get(pid) ?? textOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200)}`);
        try {
          process.kill(pid, 'SIGKILL');
        } catch {
          // It ended meanwhile.
        }
      }
      return gone();
    },
    LEAVE_MS,
  ).catch(() => {});
  return [...told.values()];
}

/** Living processes that bear the marks; on Linux alone, elsewhere none are known. */
function processesOf({ folder, group }: Marks): number[] {
  const pids = readable(() => readdirSync('/proc'), []).filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    // State and group stand behind the name, which may hold anything.
    const [state, , pgrp] = textOf(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ');
    if (pid === process.pid || state === undefined || /[ZX]/.test(state)) return false;
    return (group !== undefined && Number(pgrp) === group) || carries(pid, folder);
  });
}

const carries = (pid: number, folder: string): boolean =>
  textOf(`/proc/${pid}/environ`).includes(folder) ||
  textOf(`/proc/${pid}/cmdline`).includes(folder) ||
  readable(() => readlinkSync(`/proc/${pid}/cwd`), '').startsWith(folder);

const textOf = (path: string): string => readable(() => readFileSync(path, 'utf8'), '');

/** Processes come and go while one looks. */
function readable<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
