/** Measuring whole processes from outside: medians, pairs run in turn, memory and CPU from /proc. */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cpus, release as kernel, totalmem } from 'node:os';

export interface Spread {
  min: number;
  median: number;
  max: number;
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { min: sorted[0]!, median, max: sorted.at(-1)! };
}

/** Wall time of one whole run of a command, in ms. Its exit code must be one of `codes`. */
export function runMs(command: string[], env: NodeJS.ProcessEnv, codes: number[] = [0]): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(command[0]!, command.slice(1), { env, stdio: ['ignore', 'ignore', 'pipe'] });
  const ms = performance.now() - startedAt;
  if (!codes.includes(status ?? -1)) throw new Error(`${command.join(' ')} ended with ${status}: ${String(stderr)}`);
  return ms;
}

/** A and B in turn, A B A B …, after one warm-up of each: the machine's drift hits both alike. */
export function inTurn(rounds: number, a: () => number, b: () => number): { a: Spread; b: Spread; ratio: Spread } {
  a();
  b();
  const pairs = Array.from({ length: rounds }, () => ({ a: a(), b: b() }));
  return {
    a: spread(pairs.map((pair) => pair.a)),
    b: spread(pairs.map((pair) => pair.b)),
    ratio: spread(pairs.map((pair) => pair.a / pair.b)),
  };
}

/** Proportional set size in MiB: shared pages are divided among those who share them. */
export function pssMiB(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))![1]) / 1024;
}

/** CPU time used so far, user and system, in ms (clock ticks of 10 ms). */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** CPU time of a process in nanoseconds, all its threads, from the scheduler: finer than clock ticks. */
export function cpuNs(pid: number): number {
  let total = 0;
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    total += Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'latin1').split(' ')[0]);
  }
  return total;
}

/** Starts a program and resolves with the ms until `ready` answers; the caller ends it. */
export async function untilReady(
  command: string[],
  env: NodeJS.ProcessEnv,
  ready: () => Promise<unknown>,
): Promise<{ ms: number; pid: number; end: () => Promise<void> }> {
  const startedAt = performance.now();
  const child = spawn(command[0]!, command.slice(1), { env, stdio: 'ignore', detached: true });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await ready();
  const ms = performance.now() - startedAt;
  return {
    ms,
    pid: child.pid!,
    async end() {
      if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGKILL');
      await ended;
    },
  };
}

export const round = (value: number, digits = 1): number => Number(value.toFixed(digits));

/** `median (min–max)`. */
export const shown = ({ min, median, max }: Spread, digits = 1): string =>
  `${round(median, digits)} (${round(min, digits)}–${round(max, digits)})`;

export const machine = (): string =>
  `${process.platform} ${kernel()}, Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'cpu'}, ${round(totalmem() / 2 ** 30, 0)} GiB`;
