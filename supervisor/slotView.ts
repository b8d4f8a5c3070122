/** What `status` says of a slot that does not serve: read from its phase and its last end. Pure. */
import { AgentError } from '../base/errors.ts';
import type { ShortageKind } from '../ipc/contracts/supervisor.ts';
import type { EndReport } from './endReport.ts';
import type { Slot } from './slot.ts';

export function shortageOf(slot: Slot): ShortageKind | null {
  return slot.phase === 'backoff' ? (slot.waits?.shortage.kind ?? null) : null;
}

/** Parked, or short of something for longer than a check takes. */
export function isStuck(slot: Slot, nowMs: number): boolean {
  if (slot.phase !== 'backoff' || !slot.waits) return slot.phase === 'parked';
  return nowMs - slot.waits.sinceMs >= slot.policy.shortageCheckMs;
}

/** Why it is not serving, with the fix where it is known. */
export function reasonOf(
  slot: Slot,
  { name, last, restarts }: { name: string; last: EndReport | undefined; restarts: number },
): string | null {
  const because = last ? `${last.last_exit.summary}${last.fix ? ` — ${last.fix}` : ''}` : 'it keeps failing';
  if (slot.phase === 'parked') return `parked: ${slot.why}. ${because}. Then: agent start ${name}`;
  if (shortageOf(slot)) return `${because}. It starts when that is over, which is checked every few seconds`;
  if (slot.phase === 'backoff' || slot.phase === 'ending') return because;
  return slot.phase === 'starting' && restarts > 0 && last ? because : null;
}

export const notStarted = (slot: string, reason: string | null): AgentError =>
  new AgentError('START_FAILED', reason ?? `${slot} did not start`, { fix: `agent why ${slot}` });
