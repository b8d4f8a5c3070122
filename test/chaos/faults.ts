/**
 * What happens to the service during a chaos run: signals to single processes, to pairs and to all at once, freezes of
 * them and of their peers, slots that are stopped for a while, a disk that fills, and a time of day that is stepped.
 * Every choice comes from the seed.
 */
import { processOf, processesOf, signalProcess, type SlotProcess } from '../../bin/drill/fault.ts';
import { sleep } from '../../base/time.ts';
import { startSlot, stopSlot } from '../../ipc/contracts/supervisor.ts';
import { identityOf } from '../../state/processIdentity.ts';
import type { Ngircd } from '../harness/ngircd.ts';
import type { SmallDisk } from '../harness/smallDisk.ts';
import type { Random } from './random.ts';
import type { ChaosService } from './service.ts';

export const WORKERS = ['agent', 'dashboard', 'gateway', 'cron', 'mcp'] as const;
export const SIDECARS = ['counter', 'parent'] as const;

export interface FaultOptions {
  /** How long faults are injected. */
  ms: number;
  /** Ends earlier once so many processes were killed. */
  kills?: number | undefined;
  /** Between two faults, at random. */
  pauseMs: [from: number, to: number];
  /** The longest freeze; from 1 s. */
  freezeMaxMs: number;
  /** The disk of the home, where it has one of its own. */
  disk?: SmallDisk | undefined;
  /** The chat server that it is connected to. */
  irc?: Pick<Ngircd, 'freeze' | 'thaw'> | undefined;
  say(line: string): void;
  signal: AbortSignal;
}

export type FaultCounts = Record<
  'kills' | 'SIGTERM' | 'freezes' | 'pairs' | 'all' | 'stopped' | 'fullDisk' | 'clock' | 'peers' | 'supervisor',
  number
>;

interface Stage {
  service: ChaosService;
  random: Random;
  options: FaultOptions;
  counts: FaultCounts;
  note(what: string): void;
}

/** By weight: killing one process is what happens most. */
const kinds: readonly ((stage: Stage) => void | Promise<void>)[] = [
  ...Array.from({ length: 9 }, () => killOne),
  ...Array.from({ length: 2 }, () => freeze),
  terminate,
  killWithSuccessor,
  killWithSupervisor,
  killAll,
  stopForAWhile,
  fillDisk,
  stepClock,
  freezePeer,
];

/** Until the time is over. Answers how many of each there were. */
export async function injectFaults(service: ChaosService, random: Random, options: FaultOptions): Promise<FaultCounts> {
  const { ms, kills = Number.POSITIVE_INFINITY, pauseMs, say, signal } = options;
  const counts: FaultCounts = {
    kills: 0,
    SIGTERM: 0,
    freezes: 0,
    pairs: 0,
    all: 0,
    stopped: 0,
    fullDisk: 0,
    clock: 0,
    peers: 0,
    supervisor: 0,
  };
  const startedAt = performance.now();
  const note = (what: string) => say(`+${((performance.now() - startedAt) / 1_000).toFixed(1)} s  ${what}`);
  const stage: Stage = { service, random, options, counts, note };
  while (performance.now() - startedAt < ms && counts.kills < kills && !signal.aborted) {
    await sleep(random.between(...pauseMs), signal).catch(() => {});
    if (signal.aborted) break;
    await random.pick(kinds)(stage);
    await unpark(service);
  }
  for (const target of processesOf(service.home)) signalProcess(target, 'SIGCONT');
  signalProcess(identityOf(service.pid), 'SIGCONT');
  options.irc?.thaw();
  return counts;
}

/** What dies too often is parked, which is right; an operator starts it again. */
async function unpark(service: ChaosService): Promise<void> {
  try {
    const { workers } = await service.status();
    if (workers.some(({ state }) => state === 'parked')) await service.ready(5_000);
  } catch {
    // the supervisor itself is down, or frozen
  }
}

const anySlot = (random: Random): string => random.pick(['supervisor', 'supervisor', ...WORKERS, ...WORKERS, ...SIDECARS]);

function targetOf({ service }: Stage, slot: string): SlotProcess | undefined {
  if (slot === 'supervisor') return { ...identityOf(service.pid), slot };
  try {
    return processOf(service.home, slot);
  } catch {
    // not running at this moment: the next fault finds another
    return undefined;
  }
}

function kill(stage: Stage, slot: string): boolean {
  const target = targetOf(stage, slot);
  if (!target || !signalProcess(target, 'SIGKILL')) return false;
  stage.counts.kills++;
  if (slot === 'supervisor') stage.counts.supervisor++;
  stage.note(`SIGKILL to ${slot} (process ${target.pid})`);
  return true;
}

function killOne(stage: Stage): void {
  kill(stage, anySlot(stage.random));
}

/** The supervisor is left out: asked to end, it takes the service down in order. */
function terminate(stage: Stage): void {
  const slot = stage.random.pick([...WORKERS, ...SIDECARS]);
  const target = targetOf(stage, slot);
  if (!target || !signalProcess(target, 'SIGTERM')) return;
  stage.counts.SIGTERM++;
  stage.note(`SIGTERM to ${slot} (process ${target.pid})`);
}

async function killWithSuccessor(stage: Stage): Promise<void> {
  const slot = stage.random.pick(WORKERS);
  if (!kill(stage, slot)) return;
  await sleep(105);
  if (kill(stage, slot)) stage.counts.pairs++;
}

function killWithSupervisor(stage: Stage): void {
  const slot = stage.random.pick([...WORKERS, ...SIDECARS]);
  if (kill(stage, slot) && kill(stage, 'supervisor')) stage.counts.pairs++;
}

function killAll(stage: Stage): void {
  kill(stage, 'supervisor');
  for (const { slot } of processesOf(stage.service.home)) kill(stage, slot);
  stage.counts.all++;
}

/** Workers among them are found by their missing heartbeat when it lasts long enough. */
function freeze(stage: Stage): void {
  const { random, counts, note, options } = stage;
  const slot = anySlot(random);
  const forMs = random.between(1_000, options.freezeMaxMs);
  const target = targetOf(stage, slot);
  if (!target || !signalProcess(target, 'SIGSTOP')) return;
  counts.freezes++;
  note(`SIGSTOP to ${slot} (process ${target.pid}) for ${forMs} ms`);
  setTimeout(() => signalProcess(target, 'SIGCONT'), forMs).unref();
}

async function stopForAWhile({ service, random, counts, note }: Stage): Promise<void> {
  const slot = random.pick(WORKERS);
  const forMs = random.between(500, 6_000);
  const command = { slot, actor: 'chaos', cause: 'fault' };
  try {
    using link = await service.link();
    await link.call(stopSlot, command);
  } catch {
    // the supervisor is down itself
    return;
  }
  counts.stopped++;
  note(`${slot} stopped for ${forMs} ms`);
  await sleep(forMs);
  await service.call('supervisor', (link) => link.call(startSlot, command), 30_000).catch(() => {});
}

async function fillDisk({ random, counts, note, options }: Stage): Promise<void> {
  if (!options.disk) return;
  const forMs = random.between(500, 6_000);
  options.disk.fill();
  counts.fullDisk++;
  note(`the disk is full for ${forMs} ms`);
  await sleep(forMs);
  options.disk.empty();
}

/** Back by up to two hours, or forward by up to a day, and later back to what it was. */
async function stepClock({ service, random, counts, note }: Stage): Promise<void> {
  const { clock } = service;
  if (!clock) return;
  const seconds = random.next() < 0.5 ? -random.between(2, 7_200) : random.between(2, 86_400);
  const forMs = random.between(500, 8_000);
  clock.set(seconds);
  counts.clock++;
  note(`the clock is stepped by ${seconds} s for ${forMs} ms`);
  await sleep(forMs);
  clock.set(0);
}

/** A chat server that takes bytes and answers nothing. */
function freezePeer({ random, counts, note, options }: Stage): void {
  const { irc } = options;
  if (!irc) return;
  const forMs = random.between(1_000, options.freezeMaxMs);
  irc.freeze();
  counts.peers++;
  note(`the chat server hangs for ${forMs} ms`);
  setTimeout(() => irc.thaw(), forMs).unref();
}
