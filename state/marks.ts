/**
 * Finding processes by an entry of the environment they were started with: descendants keep it whatever session,
 * group or parent they have now. Trees of tools and MCP servers also carry a resource limit (limitTag.ts), which
 * finds those that cleared their environment. The net below process groups and cgroups.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { INCARNATION_VARIABLE } from '../base/envFilter.ts';
import { errnoOf } from '../base/errors.ts';
import { digest } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { sleep } from '../base/time.ts';
import { limitOf, limitOfFamily, limitOfTag, type LimitMatch } from './limitTag.ts';
import { startTimeOf } from './processIdentity.ts';

export interface Marked {
  pid: number;
  /** What the variable says there. */
  value: string;
}

/**
 * Living processes that carry the variable with a wanted value; never this one. One look costs about 12 µs a
 * process (measured: 6 ms for 500). Empty where the system does not show environments.
 */
export function markedProcesses(variable: string, isWanted: (value: string) => boolean, hasLimit?: LimitMatch): Marked[] {
  if (process.platform !== 'linux') return fromPs(variable, isWanted);
  const needle = Buffer.from(`${variable}=`);
  const buffer = Buffer.allocUnsafe(ENVIRONMENT_MAX_BYTES);
  const found: Marked[] = [];
  for (const name of readdirSync('/proc')) {
    if (!isNumber(name) || name === String(process.pid)) continue;
    const environment = environmentOf(name, buffer);
    const value = environment && valueIn(environment, needle);
    if (value !== undefined && isWanted(value)) found.push({ pid: Number(name), value });
    else if (hasLimit && isLimited(Number(name), hasLimit)) found.push({ pid: Number(name), value: '' });
  }
  return found;
}

/** A zombie keeps its limits until it is reaped. */
function isLimited(pid: number, hasLimit: LimitMatch): boolean {
  const limit = limitOf(pid);
  return limit !== undefined && hasLimit(limit) && startTimeOf(pid) !== undefined;
}

/** What was started with `tagCommand(tag, …)` and the variable, and everything that descends from it. */
export const processesOfTag = (variable: string, tag: string): Marked[] =>
  markedProcesses(variable, (value) => value === tag, limitOfTag(tag));

/** Of every tag `<family>.<rest>`. */
export const processesOfFamily = (variable: string, family: string): Marked[] =>
  markedProcesses(variable, (value) => value.startsWith(`${family}.`), limitOfFamily(family));

export const killMarked = (variable: string, isWanted: (value: string) => boolean, ms?: number): Promise<boolean> =>
  killAll(() => markedProcesses(variable, isWanted), ms);

export const killTag = (variable: string, tag: string, ms?: number): Promise<boolean> => killAll(() => processesOfTag(variable, tag), ms);

/** SIGKILL to all of them until none is found; false when some live on after `ms`. */
async function killAll(find: () => Marked[], ms: number = limits.worker.killMs): Promise<boolean> {
  const deadlineMs = performance.now() + ms;
  // One may start another between look and signal: a look that finds none is the proof.
  for (let pauseMs = 1; killOnce(find()) > 0; pauseMs = Math.min(pauseMs * 2, 25)) {
    if (performance.now() >= deadlineMs) return false;
    await sleep(pauseMs);
  }
  return true;
}

/** Answers how many there were. */
export function killOnce(processes: readonly Marked[]): number {
  for (const { pid } of processes) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // it is gone already
    }
  }
  return processes.length;
}

const isNumber = (name: string): boolean => name.charCodeAt(0) >= 48 && name.charCodeAt(0) <= 57;

/** Of a larger environment only the beginning is looked through. */
const ENVIRONMENT_MAX_BYTES = 256 * 1024;

/** One buffer for all: half the time of readFileSync. Undefined for processes of others and for those that just ended. */
function environmentOf(pid: string, buffer: Buffer): Buffer | undefined {
  try {
    return contentOf(`/proc/${pid}/environ`, buffer);
  } catch (thrown) {
    // It has no memory: it has ended, or belongs to the kernel, or its main thread alone has ended.
    return errnoOf(thrown) === 'ESRCH' ? environmentOfThread(pid, buffer) : undefined;
  }
}

function environmentOfThread(pid: string, buffer: Buffer): Buffer | undefined {
  try {
    const other = readdirSync(`/proc/${pid}/task`).find((id) => id !== pid);
    return other === undefined ? undefined : contentOf(`/proc/${pid}/task/${other}/environ`, buffer);
  } catch {
    return undefined;
  }
}

function contentOf(path: string, buffer: Buffer): Buffer {
  const fd = openSync(path, 'r');
  try {
    let length = 0;
    for (let read = -1; read !== 0 && length < buffer.length; length += read) {
      read = readSync(fd, buffer, length, buffer.length - length, null);
    }
    return buffer.subarray(0, length);
  } finally {
    closeSync(fd);
  }
}

/** The first entry counts, as it does for the process itself. */
function valueIn(environment: Buffer, needle: Buffer): string | undefined {
  for (let at = environment.indexOf(needle); at !== -1; at = environment.indexOf(needle, at + 1)) {
    if (at !== 0 && environment[at - 1] !== 0) continue;
    const end = environment.indexOf(0, at);
    return environment.toString('latin1', at + needle.length, end === -1 ? environment.length : end);
  }
  return undefined;
}

/** macOS shows the environment of our own processes to `ps -E`. Untested: no such machine at hand. */
function fromPs(variable: string, isWanted: (value: string) => boolean): Marked[] {
  const entry = new RegExp(`(?:^|\\s)${variable}=(\\S+)`);
  return psLines().flatMap((line) => {
    const pid = Number.parseInt(line, 10);
    const value = entry.exec(line)?.[1];
    return value !== undefined && pid > 1 && pid !== process.pid && isWanted(value) ? [{ pid, value }] : [];
  });
}

function psLines(): string[] {
  try {
    return process
      .getBuiltinModule('node:child_process')
      .execFileSync('ps', ['-E', '-x', '-ww', '-o', 'pid=,command='], {
        encoding: 'utf8',
        timeout: limits.supervisor.psMs,
        maxBuffer: 64 * 1024 * 1024,
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      .split('\n');
  } catch {
    return [];
  }
}

/** The mark of an incarnation is `<home>.<slot>.<random>`. */
export const homeIdOf = (root: string): string => digest(root, 12);
export const slotOfMark = (mark: string): string => mark.slice(mark.indexOf('.') + 1, mark.lastIndexOf('.'));

/** In the place of the slot: the process that keeps the pipes of all slots open. No slot can have this name. */
export const KEEPER = ':keeper';

/** Every process that carries a mark of this home, whoever started it. */
export const processesOfHome = (homeId: string): Marked[] => markedProcesses(INCARNATION_VARIABLE, (mark) => mark.startsWith(`${homeId}.`));
