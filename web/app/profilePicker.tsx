/** Which agent of this machine the page talks to; there is nothing to choose while there is but one. */
import { useQuery } from '@tanstack/react-query';
import { request } from '../api.ts';
import { openProfile, useProfile } from './profile.ts';

/** Profiles come and go by hand; whoever makes one here refreshes the list. */
const FRESH_MS = 60_000;

export function ProfilePicker() {
  const current = useProfile() ?? 'default';
  const { data } = useQuery({
    queryKey: ['profiles'],
    queryFn: ({ signal }) => request('GET /api/profiles', { signal }),
    staleTime: FRESH_MS,
  });
  const names = data?.profiles.map(({ name }) => name) ?? [];
  // A profile that is gone is still what the address says.
  const listed = names.includes(current) ? names : [current, ...names];
  if (listed.length < 2) return null;
  return (
    <select
      aria-label="Profile"
      title={`Profile: ${current}`}
      value={current}
      onChange={(event) => openProfile(event.target.value)}
      className="h-7 w-full max-w-40 min-w-0 appearance-none truncate rounded-lg border border-edge bg-paper px-1 text-center text-xs text-ink pointer-coarse:h-10"
    >
      {listed.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
