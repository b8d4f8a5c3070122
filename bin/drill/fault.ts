/**
 * The faults themselves: signals to processes of one home, each proved by its start time just before, and
 * damage to files that is put back. `agent drill` and `npm run soak` use the same.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { AgentError, errnoOf } from '../../base/errors.ts';
import { writeFileAtomic, readJson } from '../../state/atomicFile.ts';
import type { Home } from '../../state/home.ts';
import { isSameProcess, type ProcessIdentity } from '../../state/processIdentity.ts';

export interface SlotProcess extends ProcessIdentity {
  slot: string;
}

/** The processes that the supervisor has on record (`run/slots.json`). */
export function processesOf(home: Home): SlotProcess[] {
  try {
    const { slots } = readJson(home.run.slots) as { slots?: unknown };
    return Array.isArray(slots) ? slots.filter(isSlotProcess) : [];
  } catch {
    // absent or damaged: then nothing is proved, and nothing is signalled
    return [];
  }
}

function isSlotProcess(value: unknown): value is SlotProcess {
  const { slot, pid, start_time, boot_id } = (value ?? {}) as Partial<Record<keyof SlotProcess, unknown>>;
  return typeof slot === 'string' && typeof pid === 'number' && pid > 1 && typeof start_time === 'number' && typeof boot_id === 'string';
}

/** Errors: NOT_FOUND when the slot has no living process of this home. */
export function processOf(home: Home, slot: string): SlotProcess {
  const found = processesOf(home).find((one) => one.slot === slot);
  if (found && isSameProcess(found)) return found;
  throw new AgentError('NOT_FOUND', `${slot} has no running process`, { fix: `agent start ${slot}` });
}

/** Sends a signal to exactly that process; false when it is gone. Never to a group, never to a reused number. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isSameProcess(identity)) return false;
  try {
    return process.kill(identity.pid, signal);
  } catch (thrown) {
    if (errnoOf(thrown) === 'ESRCH') return false;
    throw thrown;
  }
}

/** Half a JSON document: what a power cut or a full disk of a careless program leaves. */
const DAMAGE = '{"version": 1, "slots": [{"slot": "age';

/**
 * Damages a file. Disposing it puts the old content back unless the service has written the file anew meanwhile.
 * `true` of `restore` = it had to be put back.
 */
export function damage(path: string): { path: string; restore(): boolean } & Disposable {
  const before = existsSync(path) ? readFileSync(path) : undefined;
  writeFileAtomic(path, DAMAGE, { durable: false });
  const restore = (): boolean => {
    if (!existsSync(path) || readFileSync(path, 'utf8') !== DAMAGE) return false;
    if (before) writeFileAtomic(path, before);
    else rmSync(path, { force: true });
    return true;
  };
  return { path, restore, [Symbol.dispose]: () => void restore() };
}
