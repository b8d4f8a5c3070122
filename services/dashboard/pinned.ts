/** A dashboard of one profile alone (`agent dashboard --isolated`): its slot names the profile, and it knows no other. */
import { AgentError } from '../../base/errors.ts';
import { manifest } from '../manifest.ts';

/** Null for the dashboard of the machine, which serves all of them. */
export const pinnedProfile = ({ slot, profile }: { slot: string; profile: string }): string | null => (slot.includes('@') ? profile : null);

/** The profile that a request means. Errors: UNKNOWN_PROFILE for another one than the pinned. */
export function withinPinned(pinned: string | null, wanted: string | undefined): string | undefined {
  if (pinned === null || wanted === undefined || wanted === pinned) return wanted ?? pinned ?? undefined;
  throw new AgentError('UNKNOWN_PROFILE', `this dashboard serves the profile ${pinned} alone`, {
    fix: 'open the one of the machine: agent dashboard',
  });
}

/** Whether a slot concerns it: those of its profile, and those that all profiles share. */
export function slotsWithin(pinned: string | null): (slot: string) => boolean {
  return (slot) => {
    const [name, profile = 'default'] = slot.split('@', 2) as [string, string?];
    return pinned === null || profile === pinned || (profile === 'default' && !manifest.some((row) => row.slot === name && row.perProfile));
  };
}
