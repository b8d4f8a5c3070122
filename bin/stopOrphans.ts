/**
 * What a killed supervisor left running: workers outlive it by intent, sidecars for as long as they like. `agent down`
 * ends both without starting a supervisor, and nobody can start one meanwhile.
 */
import { existsSync } from 'node:fs';
import { limits } from '../base/limits.ts';
import { AgentError } from '../base/errors.ts';
import { sleep } from '../base/time.ts';
import { stop } from '../ipc/contracts/peer.ts';
import { dial } from '../ipc/dial.ts';
import { prepareHome, readToken, type Home } from '../state/home.ts';
import { acquireHomeLock } from '../state/homeLock.ts';
import type { HeldLock } from '../state/lock.ts';
import { KEEPER, slotOfMark, type Marked } from '../state/marks.ts';

/** `look`: finds the processes of the service. Answers the slots that were ended. Errors: LOCK_HELD, STOP_FAILED naming what lives on. */
export async function stopOrphans(home: Home, { drain, look }: { drain: boolean; look: () => Marked[] }): Promise<string[]> {
  const found = look();
  if (found.length === 0) return [];
  // Of a home that was removed there is nothing to lock.
  using _lock = existsSync(home.root) ? await lockHome(home) : undefined;
  const slots = [...new Set(found.map(({ value }) => slotOfMark(value)))].filter((slot) => slot !== KEEPER);
  const draining = drain ? await askToStop(home, slots) : new Set<number>();
  const left = await endAll(look, draining);
  if (left.length > 0) {
    const pids = left.map(({ pid }) => pid).join(',');
    throw new AgentError('STOP_FAILED', `${left.length} processes survive SIGKILL`, {
      fix: `see what holds them: ps -o pid,stat,wchan,args -p ${pids}`,
    });
  }
  return slots;
}

function lockHome(home: Home): Promise<HeldLock> {
  prepareHome(home);
  return acquireHomeLock(home.run.supervisorLock, 'agent down');
}

/** Workers drain by themselves and close their stores. Answers those that will; a sidecar has no socket. */
async function askToStop(home: Home, slots: readonly string[]): Promise<Set<number>> {
  const asked = slots.map(async (slot) => {
    try {
      using link = await dial(home.run.socket(slot), { token: readToken(home) ?? '', slot: 'cli' });
      await link.call(stop, {});
      return [link.peer.pid];
    } catch {
      return [];
    }
  });
  return new Set((await Promise.all(asked)).flat());
}

/** SIGTERM, then SIGKILL, each with its limit; to one that drains, and what it started, when its time for that is over. Answers what lives on. */
async function endAll(look: () => Marked[], draining: ReadonlySet<number>): Promise<Marked[]> {
  const startedAtMs = performance.now();
  const drainedAtMs = startedAtMs + limits.worker.drainMs;
  const deadlineMs = drainedAtMs + limits.worker.termMs + limits.worker.killMs;
  const toldAtMs = new Map<number, number>();
  let left = look();
  for (; left.length > 0 && performance.now() < deadlineMs; left = look()) {
    const nowMs = performance.now();
    const patientMarks = new Set(nowMs < drainedAtMs ? left.flatMap(({ pid, value }) => (draining.has(pid) ? [value] : [])) : []);
    for (const one of left.filter(({ value }) => !patientMarks.has(value))) {
      const at = toldAtMs.get(one.pid);
      if (at === undefined) {
        toldAtMs.set(one.pid, nowMs);
        signal(one, 'SIGTERM');
      } else if (nowMs - at >= limits.worker.termMs) signal(one, 'SIGKILL');
    }
    await sleep(LOOK_MS);
  }
  return left;
}

/** A look at all processes costs some milliseconds. */
const LOOK_MS = 50;

function signal({ pid }: Marked, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it is gone already
  }
}
