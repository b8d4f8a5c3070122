/** What /proc tells of a process: cheap to read, bounded, and empty on systems without it. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { limits } from '../base/limits.ts';
import type { ProcessSigns } from './liveness.ts';

export interface ThreadFacts {
  name: string;
  state: string;
  waits_in: string | null;
}

export interface MainLook {
  atMs: number;
  wantedMs: number;
  waitedMs: number;
  signs: ProcessSigns;
}

/** Clock ticks a second: fixed in the interface of Linux on every platform that Node runs on. */
const TICKS_PER_SECOND = 100;

/** One look at the main thread; `before` makes the share of the processor known. Undefined where the system does not tell. */
export function lookAtMain(pid: number, nowMs: number, before?: MainLook): MainLook | undefined {
  const stat = fieldsOf(`/proc/${pid}/task/${pid}/stat`);
  if (!stat) return undefined;
  const { wantedMs, waitedMs } = processorMs(pid, stat);
  const passedMs = before ? nowMs - before.atMs : 0;
  const mainShare = before && passedMs > 0 ? (wantedMs - before.wantedMs) / passedMs : undefined;
  const inLineMs = before ? (before.signs.inLineMs ?? 0) + waitedMs - before.waitedMs : 0;
  return {
    atMs: nowMs,
    wantedMs,
    waitedMs,
    signs: { state: stat[0]!, mainShare, waitsIn: waitChannel(`/proc/${pid}/task/${pid}`), inLineMs },
  };
}

/** Time that the main thread had the processor or waited in line for it: on a busy machine a loop that computes gets only a part of it. */
function processorMs(pid: number, stat: string[]): { wantedMs: number; waitedMs: number } {
  const main = scheduledMs(`/proc/${pid}/task/${pid}`);
  if (!main) return { wantedMs: ((Number(stat[11]) + Number(stat[12])) / TICKS_PER_SECOND) * 1_000, waitedMs: 0 };
  return { wantedMs: main.ranMs + main.waitedMs + helpersMs(pid), waitedMs: main.waitedMs };
}

/** The same of the threads that collect its garbage and compile for it: a loop that fills the memory mostly waits for them. */
function helpersMs(pid: number): number {
  return namesIn(`/proc/${pid}/task`).reduce((sum, thread) => {
    const dir = `/proc/${pid}/task/${thread}`;
    if (thread === String(pid) || textOf(`${dir}/comm`).trim() !== 'V8Worker') return sum;
    const { ranMs, waitedMs } = scheduledMs(dir) ?? { ranMs: 0, waitedMs: 0 };
    return sum + ranMs + waitedMs;
  }, 0);
}

/** Undefined where the kernel keeps no such account. */
function scheduledMs(dir: string): { ranMs: number; waitedMs: number } | undefined {
  const [ranNs, waitedNs] = textOf(`${dir}/schedstat`).split(' ').map(Number);
  return ranNs === undefined || waitedNs === undefined ? undefined : { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 };
}

/** Of the process and what it holds; every list is cut. */
export interface ProcessFacts {
  status: Record<string, string>;
  threads: ThreadFacts[];
  files: { count: number; kinds: Record<string, number>; first: string[] };
  /** The rest of its process group. */
  group: { pid: number; state: string; command: string }[];
}

const STATUS_FIELDS = new Set(['State', 'VmRSS', 'VmHWM', 'VmSwap', 'RssAnon', 'Threads', 'SigBlk', 'SigIgn', 'SigCgt', 'FDSize']);

export function processFacts(pid: number): ProcessFacts | null {
  const status = textOf(`/proc/${pid}/status`);
  if (status === '') return null;
  const rows = status.split('\n').map((line) => line.split(/:\s+/) as [string, string?]);
  return {
    status: Object.fromEntries(rows.filter(([name]) => STATUS_FIELDS.has(name)).map(([name, value]) => [name, value ?? ''])),
    threads: namesIn(`/proc/${pid}/task`)
      .slice(0, limits.supervisor.evidenceThreadsMax)
      .map((thread) => threadFacts(`/proc/${pid}/task/${thread}`)),
    files: openFiles(pid),
    group: groupOf(pid),
  };
}

function threadFacts(dir: string): ThreadFacts {
  return { name: textOf(`${dir}/comm`).trim(), state: fieldsOf(`${dir}/stat`)?.[0] ?? '?', waits_in: waitChannel(dir) ?? null };
}

function waitChannel(dir: string): string | undefined {
  const channel = textOf(`${dir}/wchan`).trim();
  return channel === '' || channel === '0' ? undefined : channel;
}

function openFiles(pid: number): ProcessFacts['files'] {
  const targets = namesIn(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return 'closed';
    }
  });
  const kinds: Record<string, number> = {};
  for (const target of targets) {
    const kind = /^(socket|pipe|anon_inode)/.exec(target)?.[1] ?? (target.startsWith('/dev/') ? 'device' : 'file');
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  // Numbers of sockets tell nobody anything: files first.
  const named = targets.filter((target) => target.startsWith('/')).concat(targets.filter((target) => !target.startsWith('/')));
  return { count: targets.length, kinds, first: named.slice(0, limits.supervisor.evidenceFilesMax) };
}

function groupOf(pgid: number): ProcessFacts['group'] {
  const members: ProcessFacts['group'] = [];
  for (const name of namesIn('/proc')) {
    if (members.length >= limits.supervisor.evidenceChildrenMax) break;
    if (!/^\d+$/.test(name) || Number(name) === pgid) continue;
    const stat = fieldsOf(`/proc/${name}/stat`);
    if (Number(stat?.[2]) !== pgid) continue;
    members.push({
      pid: Number(name),
      state: stat![0]!,
      command: textOf(`/proc/${name}/cmdline`).replaceAll('\0', ' ').trim().slice(0, 200),
    });
  }
  return members;
}

/** From the third field (state) on: the second is a name that may hold spaces. */
function fieldsOf(path: string): string[] | undefined {
  const text = textOf(path);
  return text === '' ? undefined : text.slice(text.lastIndexOf(')') + 2).split(' ');
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function namesIn(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
