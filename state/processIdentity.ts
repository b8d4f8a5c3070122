/**
 * Which process is meant: a pid alone is reused, so an identity is boot id + pid + start time
 * (lessons 23, 24). Every signal to a recorded process checks it first.
 */
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessIdentity {
  pid: number;
  /** Kernel start time: clock ticks since boot on Linux, start date as epoch seconds elsewhere; `0` = unknown. */
  start_time: number;
  boot_id: string;
}

/** Output of a system tool. Not needed on Linux, and 3 ms to load there: so it is loaded here. */
const outputOf = (file: string, ...args: string[]): string =>
  process
    .getBuiltinModule('node:child_process')
    .execFileSync(file, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    .trim();

let bootIdOnce: string | undefined;

/** Changes with every boot; empty where the system does not tell. */
export function bootId(): string {
  bootIdOnce ??= readBootId();
  return bootIdOnce;
}

function readBootId(): string {
  try {
    if (process.platform === 'linux') return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return outputOf('sysctl', '-n', 'kern.boottime');
  } catch {
    return '';
  }
}

/** Start time of a living process, `undefined` when there is none. A zombie counts as dead, unless threads of it go on. */
export function startTimeOf(pid: number): number | undefined {
  try {
    if (process.platform === 'linux') {
      const fields = statFields(pid);
      return isOver(fields) ? undefined : Number(fields[19]);
    }
    const started = outputOf('ps', '-o', 'lstart=', '-p', String(pid));
    return started ? Math.floor(Date.parse(started) / 1_000) : undefined;
  } catch {
    return undefined;
  }
}

/** Only to the process that was proved: a pid alone may belong to another one by now. */
export function signalProcess(one: ProcessIdentity, name: NodeJS.Signals): void {
  try {
    if (isSameProcess(one)) process.kill(one.pid, name);
  } catch {
    // it is gone, or belongs to another user
  }
}

/** Stopped by a signal (SIGSTOP) or a debugger. False where the system does not show it. */
export function isStopped(pid: number): boolean {
  try {
    return process.platform === 'linux' && /^[Tt]$/.test(statFields(pid)[0]!);
  } catch {
    return false;
  }
}

/** Undefined when there is no such process, or the system does not show it. */
export function parentOf(pid: number): number | undefined {
  try {
    return process.platform === 'linux' ? Number(statFields(pid)[1]) : undefined;
  } catch {
    return undefined;
  }
}

export const identityOf = (pid: number): ProcessIdentity => ({ pid, start_time: startTimeOf(pid) ?? 0, boot_id: bootId() });

/** True only when the very process of the record still lives. */
export function isSameProcess(record: ProcessIdentity): boolean {
  if (record.boot_id !== bootId()) return false;
  return record.start_time !== 0 && startTimeOf(record.pid) === record.start_time;
}

/** Does anything of this process group still live? Zombies that init has not reaped yet do not count. */
export function groupAlive(pgid: number): boolean {
  // "No such group" is an answer, not a fault: without a stack it takes 3 µs instead of 11, 200 times at a stop of 200.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    process.kill(-pgid, 0);
  } catch (thrown) {
    return (thrown as { code?: string }).code === 'EPERM';
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
  // The signal also reaches zombies; a slow init leaves them for seconds, a missing one for ever.
  return process.platform === 'linux' ? readdirSync('/proc').some((name) => isLivingMember(name, pgid)) : true;
}

function isLivingMember(name: string, pgid: number): boolean {
  if (!/^\d+$/.test(name)) return false;
  try {
    const fields = statFields(Number(name));
    return Number(fields[2]) === pgid && !isOver(fields);
  } catch {
    return false;
  }
}

/** A main thread that has ended alone is shown as a zombie too, while the others go on. */
const isOver = (fields: string[]): boolean => fields[0] === 'X' || (fields[0] === 'Z' && Number(fields[THREADS]) <= 1);

/** Place of the number of threads among the fields from the state on. */
const THREADS = 17;

/** Fields of /proc/<pid>/stat from the third (state) on. */
function statFields(pid: number): string[] {
  // utf8 is what Node reads with one call; the only field that may be anything else is cut off.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The second field is the name in parentheses and may hold spaces: split after the last ')'.
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
