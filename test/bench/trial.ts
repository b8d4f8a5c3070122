/**
 * One run of one peer: a folder, its workers, and what they said of themselves. At the end everything
 * that belongs to the folder is gone, whatever the peer left behind.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../base/time.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { until } from '../harness/until.ts';
import type { Peer, Running, WorkerLine } from './peers/peer.ts';

export interface Said {
  what: string;
  name: string;
  /** The worker's pid, or a count. */
  value: number;
  /** Monotonic clock. */
  atMs: number;
}

/** `node`: the minimal Node worker; `c`: the compiled one, with its mode. */
export type WorkerKind = 'node' | `c ${string}`;

export interface Field {
  /** Where the folders stand. */
  place: string;
  /** The compiled worker. */
  program: string;
}

/** The machine's monotonic clock, the one the workers write. */
export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

export const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `w${String(index).padStart(3, '0')}`);

export class Trial implements AsyncDisposable {
  readonly folder: string;
  readonly events: string;
  readonly peer: Peer;
  running!: Running;
  /** When the start was asked for. */
  startedAtMs = 0;

  private constructor(peer: Peer, folder: string) {
    this.peer = peer;
    this.folder = folder;
    this.events = join(folder, 'events');
  }

  static async begin(peer: Peer, field: Field, count: number, kind: WorkerKind): Promise<Trial> {
    const folder = mkdtempSync(join(field.place, `${peer.name}-`));
    const trial = new Trial(peer, folder);
    peer.prepare(
      folder,
      names(count).map((name) => trial.#line(field, name, kind)),
    );
    mkdirSync(folder, { recursive: true });
    await trial.start();
    return trial;
  }

  #line({ program }: Field, name: string, kind: WorkerKind): WorkerLine {
    const command: [string, ...string[]] =
      kind === 'node'
        ? [process.execPath, join(import.meta.dirname, 'peers/worker.cjs'), name, this.events]
        : [program, name, this.events, ...kind.split(' ').slice(1)];
    return { name, command };
  }

  async start(): Promise<void> {
    this.startedAtMs = nowMs();
    this.running = await this.peer.start(this.folder);
  }

  said(what?: string, name?: string): Said[] {
    if (!existsSync(this.events)) return [];
    return readFileSync(this.events, 'latin1')
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [word, who, value, ns] = line.split(' ') as [string, string, string, string];
        return { what: word, name: who, value: Number(value), atMs: Number(ns) / 1e6 };
      })
      .filter((said) => (!what || said.what === what) && (!name || said.name === name));
  }

  /** The first word of that kind after a moment. */
  async hears(what: string, name: string, sinceMs: number, withinMs = 20_000): Promise<Said> {
    return until(`${this.peer.name}: ${name} says ${what}`, () => this.said(what, name).find(({ atMs }) => atMs > sinceMs), withinMs);
  }

  /** All workers have said since the last start that they are ready; answers when the last one did. */
  async allReady(count: number): Promise<number> {
    return until(`${this.peer.name}: ${count} workers are ready`, () => {
      const said = this.said('ready').filter(({ atMs }) => atMs > this.startedAtMs);
      const ready = new Map(said.map(({ name, atMs }) => [name, atMs]));
      return ready.size >= count && Math.max(...ready.values());
    });
  }

  /** Pid of the last incarnation. */
  pid(name: string): number {
    return this.said('main', name).at(-1)!.value;
  }

  /** Worker processes that live. */
  alive(): { name: string; pid: number }[] {
    return this.said('main')
      .map(({ name, value }) => ({ name, pid: value }))
      .filter(({ pid }) => startTimeOf(pid) !== undefined && commandOf(pid).includes(this.events));
  }

  /** The processes of the supervisor itself: its main one and those below it that are no workers. */
  own(): number[] {
    const workers = new Set(this.said('main').map(({ value }) => value));
    const below = (pid: number): number[] => [
      pid,
      ...childrenOf(pid)
        .filter((child) => !workers.has(child))
        .flatMap(below),
    ];
    return below(this.running.pid);
  }

  /** Stops everything; answers the ms until its command and the last worker have ended. */
  async stop(): Promise<number> {
    const startedAt = nowMs();
    await this.running.stop();
    while (this.alive().length > 0 && nowMs() - startedAt < 45_000) await sleep(1);
    return nowMs() - startedAt;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await sweep(this.folder);
  }
}

/** Ends everything that was started for a folder, then removes it. */
export async function sweep(folder: string): Promise<void> {
  for (let round = 0; round < 100; round++) {
    const left = belongingTo(folder);
    if (left.length === 0) break;
    for (const pid of left) kill(pid);
    await sleep(20);
  }
  rmSync(folder, { recursive: true, force: true });
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // gone meanwhile
  }
}

/** Living processes that were started for this folder: it stands in their command or is where they work. */
function belongingTo(folder: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && startTimeOf(pid) !== undefined)
    .filter((pid) => commandOf(pid).includes(folder) || placeOf(pid).startsWith(folder) || homeOf(pid).includes(folder));
}

const commandOf = (pid: number): string => readOf(`/proc/${pid}/cmdline`);
const homeOf = (pid: number): string => readOf(`/proc/${pid}/environ`);

function readOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function placeOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
}

/** Compiles the C worker; throws where no compiler is. */
export function compileWorker(place: string): string {
  const program = join(place, 'worker');
  const source = join(import.meta.dirname, 'peers/worker.c');
  for (const compiler of ['cc', 'gcc', 'tcc']) {
    try {
      execFileSync(compiler, ['-O2', '-o', program, source], { stdio: ['ignore', 'ignore', 'pipe'] });
      return program;
    } catch (thrown) {
      if ((thrown as { code?: string }).code !== 'ENOENT') throw thrown;
    }
  }
  throw new Error('no C compiler: apt-get install gcc (or tcc)');
}
