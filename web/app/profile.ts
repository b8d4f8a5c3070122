/** Which profile the page looks at: `?profile=` of its address, kept over every step inside the page. */
import { useQuery } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { request } from '../api.ts';

/** Undefined = the default profile. To be sent with every call that takes a profile. */
export function useProfile(): string | undefined {
  return useSearch({ strict: false, select: ({ profile }: { profile?: string }) => profile });
}

/** Profiles come and go by hand; whoever makes one here refreshes the list. */
const FRESH_MS = 60_000;

/** All that this page may look at. */
export const useProfiles = () =>
  useQuery({ queryKey: ['profiles'], queryFn: ({ signal }) => request('GET /api/profiles', { signal }), staleTime: FRESH_MS });

/** The same outside of React: the connection of the tab is made before the first element. */
export function profileOfAddress(): string | undefined {
  return new URL(location.href).searchParams.get('profile') ?? undefined;
}

/** Another profile is another agent: the page starts anew for it, at the same place. */
export function openProfile(name: string): void {
  const address = new URL(location.href);
  if (name === 'default') address.searchParams.delete('profile');
  else address.searchParams.set('profile', name);
  // A chat belongs to the profile it was held in.
  if (address.pathname.startsWith('/chat/')) address.pathname = '/';
  location.assign(address);
}
