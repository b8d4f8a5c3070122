/** The measurements of the supervisor bench: each takes a peer and answers numbers, the same way for all. */
import { closeSync, fstatSync, linkSync, mkdirSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../../base/time.ts';
import { startTimeOf } from '../../state/processIdentity.ts';
import { cpuNs, pssMiB, runMs } from './measure.ts';
import { controlAnswers } from './peers/nodePeers.ts';
import type { Peer } from './peers/peer.ts';
import { names, nowMs, Trial, type Field, type WorkerKind } from './trial.ts';

export interface StartAndStop {
  /** The first start ever in its folder, and the usual one: what a peer keeps for itself is there. */
  firstMs: number;
  bootMs: number;
  stopMs: number;
}

/** Start asked for → the last of `count` workers is ready; then stop → all gone. Twice in the same folder. */
export async function startAndStop(peer: Peer, field: Field, count: number, kind: WorkerKind): Promise<StartAndStop> {
  await using trial = await Trial.begin(peer, field, count, kind);
  const firstMs = (await trial.allReady(count)) - trial.startedAtMs;
  await sleep(1_000);
  await trial.stop();
  await trial.start();
  const bootMs = (await trial.allReady(count)) - trial.startedAtMs;
  await sleep(1_000);
  return { firstMs, bootMs, stopMs: await trial.stop() };
}

const SLOTS = 6;
/** A worker that has been ready this long has proved itself to every peer's policy. */
const PROVED_MS = 1_100;

export interface Kills {
  first: number[];
  later: number[];
}

/**
 * kill -9 of workers, five times each, each after more than a second of ready. All peers stand side by side and
 * are hit in turn, so that the machine's other work hits all alike; a peer that pauses a second by policy
 * is hit less often.
 */
export async function kills(peers: readonly Peer[], field: Field, kind: WorkerKind, what: 'main' | 'ready'): Promise<Map<Peer, Kills>> {
  await using all = new AsyncDisposableStack();
  const trials: Trial[] = [];
  for (const peer of peers) {
    const trial = all.use(await Trial.begin(peer, field, SLOTS, kind));
    await trial.allReady(SLOTS);
    trials.push(trial);
  }
  const figures = new Map<Peer, Kills>(peers.map((peer) => [peer, { first: [], later: [] }]));
  for (let round = 0; round < 5; round++) {
    await sleep(2 * PROVED_MS);
    for (const [slot, name] of names(SLOTS).entries()) {
      for (const trial of rotated(trials, round + slot)) {
        if (slot > 0 && isSlow(figures.get(trial.peer)!)) continue;
        figures.get(trial.peer)![round === 0 ? 'first' : 'later'].push(await killOne(trial, name, what));
        await sleep(40);
      }
    }
  }
  return figures;
}

/** Another one first each time: whoever comes first follows upon a longer rest. */
const rotated = <T>(list: readonly T[], by: number): T[] => [...list.slice(by % list.length), ...list.slice(0, by % list.length)];

const isSlow = ({ first }: Kills): boolean => first.some((ms) => ms > 500);

async function killOne(trial: Trial, name: string, what: 'main' | 'ready'): Promise<number> {
  const at = nowMs();
  process.kill(trial.pid(name), 'SIGKILL');
  await trial.hears('ready', name, at);
  return (await trial.hears(what, name, at)).atMs - at;
}

export interface Idle {
  cpuMs: number;
  /** Voluntary context switches: the process slept and was woken. */
  wakeUps: number;
  pssMiB: number;
  processes: number;
}

/** What it costs while nothing happens; all peers at the same time, each with its own workers. */
export async function idle(peers: readonly Peer[], field: Field, count: number, seconds: number): Promise<Map<Peer, Idle>> {
  await using all = new AsyncDisposableStack();
  const trials: Trial[] = [];
  for (const peer of peers) {
    const trial = all.use(await Trial.begin(peer, field, count, 'c plain'));
    await trial.allReady(count);
    trials.push(trial);
  }
  // Node tidies up for a while after the start; idle begins when that is over.
  await sleep(20_000);
  const before = trials.map((trial) => ({ own: trial.own(), cpu: sum(trial.own(), cpuNs), wakes: sum(trial.own(), wakeUpsOf) }));
  await sleep(seconds * 1_000);
  return new Map(
    trials.map((trial, index) => {
      const { own, cpu, wakes } = before[index]!;
      return [
        trial.peer,
        { cpuMs: (sum(own, cpuNs) - cpu) / 1e6, wakeUps: sum(own, wakeUpsOf) - wakes, pssMiB: sum(own, pssMiB), processes: own.length },
      ];
    }),
  );
}

const sum = (pids: readonly number[], of: (pid: number) => number): number => pids.reduce((total, pid) => total + of(pid), 0);

function wakeUpsOf(pid: number): number {
  return Number(/^voluntary_ctxt_switches:\s+(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]);
}

export interface Captured {
  /** From the first byte written to the last line on disk. */
  perSecond: number;
  lost: number;
  torn: number;
  doubled: number;
}

/** One worker prints `count` numbered lines of 100 bytes as fast as they are taken; every file that is made is read. */
export async function capture(peer: Peer, field: Field, count: number): Promise<Captured> {
  await using trial = await Trial.begin(peer, field, 1, `c lines ${count}`);
  await trial.allReady(1);
  const [name] = names(1) as [string];
  const keeper = new Keeper(join(trial.folder, 'kept'), () => trial.running.logs(name));
  process.kill(trial.pid(name), 'SIGUSR1');
  const { atMs: startedAt } = await trial.hears('printing', name, 0);
  const last = `L${String(count).padStart(8, '0')} `;
  let lastAt = 0;
  for (const deadline = nowMs() + 120_000; lastAt === 0 && nowMs() < deadline;) {
    keeper.look();
    if (keeper.endsWith(last)) lastAt = nowMs();
    else await sleep(2);
  }
  keeper.look();
  return { perSecond: lastAt ? count / ((lastAt - startedAt) / 1_000) : 0, ...countLines(keeper.files(), count) };
}

/** Keeps every file a log ever was, by a second name: rotation takes the first one away. */
class Keeper {
  #folder: string;
  #logs: () => string[];
  #kept = new Map<number, string>();

  constructor(folder: string, logs: () => string[]) {
    mkdirSync(folder);
    this.#folder = folder;
    this.#logs = logs;
  }

  look(): void {
    for (const path of this.#logs()) {
      try {
        const { ino } = statSync(path);
        if (this.#kept.has(ino)) continue;
        const name = join(this.#folder, String(ino));
        linkSync(path, name);
        this.#kept.set(statSync(name).ino, name);
      } catch {
        // renamed between the two looks: the next one finds it
      }
    }
  }

  files(): string[] {
    return [...this.#kept.values()];
  }

  /** Does one of the files end with that line? */
  endsWith(text: string): boolean {
    return this.#logs().some((path) => tailOf(path).includes(text));
  }
}

/** The last lines; little, because the measured ones need the machine. */
function tailOf(path: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
    const bytes = Buffer.alloc(1_000);
    const from = Math.max(0, fstatSync(fd).size - bytes.length);
    return bytes.toString('latin1', 0, readSync(fd, bytes, 0, bytes.length, from));
  } catch {
    // rotated away between the two calls
    return '';
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** A whole line: its number, its process, its filling to the end. */
const LINE = /L(\d{8}) +(\d+) (x*)(E?)/g;

export function countLines(files: readonly string[], count: number): Pick<Captured, 'lost' | 'torn' | 'doubled'> {
  const seen = new Uint8Array(count + 1);
  let torn = 0;
  for (const path of files) {
    for (const [line, number, , , end] of readFileSync(path, 'latin1').matchAll(LINE)) {
      if (line.length !== 99 || end !== 'E') torn++;
      else seen[Number(number)] = Math.min(255, seen[Number(number)]! + 1);
    }
  }
  const numbers = seen.subarray(1);
  return { lost: numbers.filter((times) => times === 0).length, torn, doubled: numbers.filter((times) => times > 1).length };
}

export interface StatusTimes {
  commandMs: number[];
  bareMs: number[];
  frozenMs: number[];
}

/** The status command as a whole process beside `node -e 0`, in turn; ours also while the supervisor is stopped. */
export async function statusCommand(peer: Peer, field: Field, count: number, rounds: number, frozen: boolean): Promise<StatusTimes> {
  await using trial = await Trial.begin(peer, field, count, 'c plain');
  await trial.allReady(count);
  await sleep(3_000);
  const { status, env, pid } = trial.running;
  const codes = [0, 1, 3];
  const times: StatusTimes = { commandMs: [], bareMs: [], frozenMs: [] };
  runMs(status, env, codes);
  for (let round = 0; round < 2 * rounds; round++) {
    times.commandMs.push(runMs(status, env, codes));
    times.bareMs.push(runMs([process.execPath, '-e', '0'], env));
  }
  if (frozen) {
    process.kill(pid, 'SIGSTOP');
    for (let round = 0; round < 2 * rounds; round++) times.frozenMs.push(runMs(status, env, [0]));
    process.kill(pid, 'SIGCONT');
  }
  await trial.stop();
  return times;
}

export interface Succession {
  /** Of four: still alive when the second supervisor starts, the same processes afterwards, names that run twice. */
  survived: number;
  kept: number;
  doubled: number;
  lostLines: number;
  tornLines: number;
  /** Start → control answers; ours only. */
  controlMs: number | null;
}

/** kill -9 of the supervisor over four workers that print a numbered line every 5 ms; then it is started again. */
export async function supervisorKilled(peer: Peer, field: Field): Promise<Succession> {
  const count = 4;
  await using trial = await Trial.begin(peer, field, count, 'c tick 5');
  await trial.allReady(count);
  await sleep(1_500);
  const before = trial.alive().map(({ pid }) => pid);
  process.kill(trial.running.pid, 'SIGKILL');
  await sleep(500);
  const survived = before.filter((pid) => startTimeOf(pid) !== undefined).length;
  const startedAt = nowMs();
  await trial.start();
  let controlMs: number | null = null;
  if (peer.name === 'agent') {
    await controlAnswers(trial.folder);
    controlMs = nowMs() - startedAt;
  }
  await sleep(2_500);
  const alive = trial.alive();
  const kept = alive.filter(({ pid }) => before.includes(pid)).length;
  const doubled = names(count).filter((name) => alive.filter((one) => one.name === name).length > 1).length;
  await trial.stop();
  return { survived, kept, doubled, ...linesOf(trial, count), controlMs };
}

/** Numbered from 1 for each process, so a hole in the middle shows; the last one is told when a worker ends in order. */
function linesOf(trial: Trial, count: number): { lostLines: number; tornLines: number } {
  const numbers = new Map<number, number[]>();
  let tornLines = 0;
  for (const path of names(count).flatMap((name) => trial.running.logs(name))) {
    for (const [line, number, pid, , end] of readFileSync(path, 'latin1').matchAll(LINE)) {
      if (line.length !== 99 || end !== 'E') tornLines++;
      else numbers.set(Number(pid), [...(numbers.get(Number(pid)) ?? []), Number(number)]);
    }
  }
  let lostLines = 0;
  for (const name of names(count)) {
    // A worker that ends in order says its process and its last number; one that was killed cannot.
    const pids = trial.said('ends', name).map(({ value }) => value);
    trial.said('last', name).forEach(({ value: last }, index) => {
      lostLines += Math.max(0, last - new Set(numbers.get(pids[index]!)).size);
    });
  }
  return { lostLines, tornLines };
}

export interface Grandchild {
  /** Left alive three seconds after the worker was killed. */
  afterCrash: boolean;
  /** Left alive after the stop of everything, and how long that took. */
  afterStop: boolean;
  stopMs: number;
}

/** A worker's child in a session of its own that ignores SIGTERM. */
export async function grandchild(peer: Peer, field: Field): Promise<Grandchild> {
  await using trial = await Trial.begin(peer, field, 1, 'c grandchild');
  const [name] = names(1) as [string];
  await trial.allReady(1);
  const { value: first } = await trial.hears('grandchild', name, 0);
  await sleep(PROVED_MS);
  const at = nowMs();
  process.kill(trial.pid(name), 'SIGKILL');
  await trial.hears('ready', name, at);
  const { value: second } = await trial.hears('grandchild', name, at);
  await sleep(3_000);
  const afterCrash = startTimeOf(first) !== undefined;
  const stopMs = await trial.stop();
  await sleep(1_000);
  return { afterCrash, afterStop: startTimeOf(second) !== undefined, stopMs };
}
