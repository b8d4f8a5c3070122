/**
 * When a waiting command is answered, and how: decided from where its slot stands. Pure; the simulator
 * proves that every command gets an answer.
 */
import type { Receipt } from '../ipc/contracts/supervisor.ts';
import type { Slot, SlotEvent } from './slot.ts';

export type Verdict = { ok: true } | { ok: false; error: string | undefined };

/** Undefined = the result is not known yet. `event` is what led to `slot`; `failures` = unplanned ends so far. */
export function verdict(action: Receipt['action'], slot: Slot, event: SlotEvent, failures: number): Verdict | undefined {
  const { phase } = slot;
  if (action === 'stop') return phase === 'down' ? { ok: true } : undefined;
  switch (phase) {
    case 'ready':
      // A successor that did not come up leaves the old one serving: nothing is down, but nothing is new.
      return event.type === 'successorGone' && action === 'restart'
        ? { ok: false, error: 'the new process did not become ready; the old one serves on' }
        : { ok: true };
    case 'relieving':
    case 'retiring':
      return action === 'start' ? { ok: true } : undefined;
    case 'parked':
    case 'backoff':
      return { ok: false, error: undefined };
    case 'down':
      return { ok: false, error: 'it ended and is not started again' };
    case 'starting':
      return event.type === 'gone' && failures > 0 && action === 'start' ? { ok: false, error: undefined } : undefined;
    case 'draining':
    case 'ending':
      return undefined;
  }
}
