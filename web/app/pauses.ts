/** What holds automation, of all profiles or of the one that the page looks at; everything on the page asks through here. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { Held } from '../../ipc/contracts/http/pause.ts';
import { request } from '../api.ts';
import { age, duration, sentence } from './format.ts';

export type { Held } from '../../ipc/contracts/http/pause.ts';

/** `lookMs`: how often it is looked at again while it is shown; pauses are made in terminals too. */
export function usePauses(lookMs?: number) {
  return useQuery({
    queryKey: ['pauses'],
    queryFn: ({ signal }) => request('GET /api/pause', { query: { profile: 'all' }, signal }),
    select: ({ pauses }) => pauses,
    ...(lookMs === undefined ? {} : { refetchInterval: lookMs }),
  });
}

/** The root home's holds everybody. */
export const holding = (pauses: readonly Held[], profile = 'default'): Held[] =>
  pauses.filter((pause) => pause.profile === 'default' || pause.profile === profile);

/** Lifts the pause of one profile. */
export function useLift() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (profile: string) => request('DELETE /api/pause', { query: { profile } }),
    onSettled: () => queries.invalidateQueries(),
  });
}

const parts = { cron: 'scheduled jobs', gateway: 'chat platforms', webhook: 'fire webhooks' } as const;
const partsCount = Object.keys(parts).length;

/** `Scheduled jobs are held for 5 min: lunch. Running work finishes; nothing new of them starts by itself.` */
export function heldWords({ engaged_at, expires_at, reason, holds }: Held): string {
  const all = holds.length === partsCount;
  const what = all ? 'Held' : `${sentence(holds.map((part) => parts[part]).join(' and '))} are held`;
  const since = engaged_at ? ` for ${age(engaged_at).replace('now', 'a moment')}` : '';
  const left = expires_at === null ? 0 : Date.parse(expires_at) - Date.now();
  const until = left > 0 ? ` It goes on by itself in ${duration(left)}.` : '';
  return `${what}${since}${reason ? `: ${reason}` : ''}. Running work finishes; nothing new${all ? '' : ' of them'} starts by itself.${until}`;
}
