/**
 * Which processes belong to the service of a home, proved by what the kernel shows of them: files that they hold open,
 * the process that started them, their process tag. This finds them in a home that was moved, or whose `run/` is gone.
 */
import { existsSync, readdirSync, readFileSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { readJson } from './atomicFile.ts';
import type { Home } from './home.ts';
import { lockHolder, SUPERVISOR } from './lock.ts';
import { INCARNATION_VARIABLE } from '../base/envFilter.ts';
import { homeIdOf, markedProcesses, processesOfHome, type Marked } from './marks.ts';
import { identityOf, isSameProcess, parentOf, type ProcessIdentity } from './processIdentity.ts';

/** What `ps -o comm` shows of a supervisor: the kernel keeps 15 characters of `agent-supervisor`. */
const SUPERVISOR_NAME = 'agent-superviso';

/** Living supervisors of this home, never this process. Where the system shows no open files the records alone decide. */
export function supervisorsOf(home: Home): ProcessIdentity[] {
  const claims = recordedSupervisors(home);
  if (process.platform !== 'linux') return claims;
  const parents = new Set(processesOfHome(homeIdOf(home.root)).map(({ pid }) => parentOf(pid)));
  const isProved = (pid: number, isClaimed: boolean): boolean => {
    const holds = holdsFilesOf(pid, home);
    return holds ?? (parents.has(pid) || (isClaimed && isAtHome(pid, home)));
  };
  const claimed = claims.filter(({ pid }) => isProved(pid, true));
  const others = processNumbers().filter(
    (pid) => !claims.some((one) => one.pid === pid) && pid !== process.pid && nameOf(pid) === SUPERVISOR_NAME,
  );
  // The tag of its workers is proof enough for one whose home was moved or removed.
  return [...claimed, ...others.filter((pid) => parents.has(pid) || isProved(pid, false)).map(identityOf)].filter(isSameProcess);
}

/** Looks for every process that carries a process tag of this home: of its path, and of the path it had when these were started. */
export function taggedProcesses(home: Home, supervisors: readonly ProcessIdentity[]): () => Marked[] {
  const ids = new Set([homeIdOf(home.root), ...formerIds(home, supervisors)]);
  return () => markedProcesses(INCARNATION_VARIABLE, (mark) => ids.has(homePartOf(mark)));
}

function formerIds(home: Home, supervisors: readonly ProcessIdentity[]): string[] {
  const former = read<{ supervisor: { home: string } }>(home.run.status)?.supervisor?.home;
  const records = read<{ slots: (ProcessIdentity & { mark?: string })[] }>(home.run.slots)?.slots ?? [];
  const pids = new Set(supervisors.map(({ pid }) => pid));
  const children =
    pids.size === 0 ? [] : markedProcesses(INCARNATION_VARIABLE, () => true).filter(({ pid }) => pids.has(parentOf(pid) ?? 0));
  return [
    ...(former !== undefined && !existsSync(former) ? [homeIdOf(former)] : []),
    ...children.map(({ value }) => homePartOf(value)),
    ...records.flatMap((record) => (record.mark && isSameProcess(record) && isAtHome(record.pid, home) ? [homePartOf(record.mark)] : [])),
  ];
}

const homePartOf = (mark: string): string => mark.slice(0, mark.indexOf('.'));

function recordedSupervisors(home: Home): ProcessIdentity[] {
  const holder = lockHolder(home.run.supervisorLock);
  const status = read<{ supervisor: ProcessIdentity }>(home.run.status)?.supervisor;
  const all = [...(holder?.holder === SUPERVISOR ? [holder] : []), ...(status && isSameProcess(status) ? [status] : [])];
  const byPid = new Map(all.map(({ pid, start_time, boot_id }) => [pid, { pid, start_time, boot_id }]));
  byPid.delete(process.pid);
  return [...byPid.values()];
}

/** True: it holds logs or pipes of this home open; false: those of another home; undefined: none of either. */
function holdsFilesOf(pid: number, home: Home): boolean | undefined {
  const folders = new Set([home.logs, home.run.dir].map(real));
  const files = list(`/proc/${pid}/fd`).flatMap((fd) => linkOf(`/proc/${pid}/fd/${fd}`) ?? []);
  if (files.some((file) => folders.has(dirname(file)))) return true;
  return files.some((file) => /\/logs\/supervisor\.log[^/]*$/.test(file)) ? false : undefined;
}

const isAtHome = (pid: number, home: Home): boolean =>
  process.platform !== 'linux' || linkOf(`/proc/${pid}/cwd`) === real(home.root) || homeVariableOf(pid) === home.root;

function homeVariableOf(pid: number): string | undefined {
  try {
    return /(?:^|\0)AGENT_HOME=([^\0]*)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** Where it leads now: the kernel follows renames, and adds a word to the path of a removed file. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path).replace(/ \(deleted\)$/, '');
  } catch {
    return undefined;
  }
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}

const processNumbers = (): number[] => list('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

function list(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}

function read<T>(path: string): T | undefined {
  try {
    return readJson(path) as T;
  } catch {
    return undefined;
  }
}
