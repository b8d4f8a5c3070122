/** Which agent of this machine the page talks to, and whether its automation is held; there is nothing to choose while there is but one. */
import { Link } from '@tanstack/react-router';
import { CirclePause } from 'lucide-react';
import { holding, usePauses } from './pauses.ts';
import { openProfile, useProfile, useProfiles } from './profile.ts';

export function ProfilePicker() {
  const current = useProfile() ?? 'default';
  const { data } = useProfiles();
  const { data: pauses = [], refetch } = usePauses();
  const names = data?.profiles.map(({ name }) => name) ?? [];
  // A profile that is gone is still what the address says.
  const listed = names.includes(current) ? names : [current, ...names];
  if (listed.length < 2) return null;
  return (
    <select
      aria-label="Profile"
      title={`Profile: ${current}`}
      value={current}
      // Pauses are made in terminals too.
      onFocus={() => void refetch()}
      onChange={(event) => openProfile(event.target.value)}
      className="h-7 w-full max-w-40 min-w-0 appearance-none truncate rounded-lg border border-edge bg-paper px-1 text-center text-xs text-ink pointer-coarse:h-10"
    >
      {listed.map((name) => (
        <option key={name} value={name}>
          {name}
          {name !== current && pauses.some(({ profile }) => profile === name && name !== 'default') ? ' (paused)' : ''}
        </option>
      ))}
    </select>
  );
}

/** Stands while the automation of this profile is held, by its own pause or by that of all. */
export function PausedSign() {
  const current = useProfile();
  const [first] = holding(usePauses().data ?? [], current);
  if (!first) return null;
  const whose = first.profile === 'default' ? 'automation' : `automation of ${first.profile}`;
  return (
    <Link
      to="/workers"
      title={`Paused: ${whose}${first.reason ? ` (${first.reason})` : ''}`}
      aria-label={`Paused: ${whose}. See Workers`}
      className="grid size-8 shrink-0 place-items-center rounded-lg text-warn hover:bg-sunken pointer-coarse:size-10"
    >
      <CirclePause size={17} aria-hidden="true" />
    </Link>
  );
}
