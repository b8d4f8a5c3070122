/** The agent worker of this profile while the page has no line to it: is it on its way back, or does somebody have to start it? */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { request } from '../api.ts';
import { useConnectionState } from './context.ts';
import { useProfile } from './profile.ts';

/** Shorter is a start or a restart, of which there is nothing to say. */
const SETTLE_MS = 1_000;
/** While it is away. */
const LOOK_MS = 2_000;

export function useAgentSlot() {
  const { phase } = useConnectionState();
  const profile = useProfile() ?? 'default';
  const slot = profile === 'default' ? 'agent' : `agent@${profile}`;
  const away = useLasting(phase === 'agentAway');
  const { data } = useQuery({
    queryKey: ['agentSlot', slot],
    queryFn: ({ signal }) => request('GET /api/workers/:slot', { params: { slot }, signal }),
    enabled: away,
    refetchInterval: LOOK_MS,
    // What was said of an earlier absence is not true of this one.
    gcTime: 0,
    retry: false,
  });
  return { slot, worker: away ? data : undefined };
}

/** True once it has been so for a while. */
function useLasting(now: boolean): boolean {
  const [lasting, setLasting] = useState(false);
  useEffect(() => {
    setLasting(false);
    if (!now) return;
    const later = setTimeout(() => setLasting(true), SETTLE_MS);
    return () => clearTimeout(later);
  }, [now]);
  return now && lasting;
}

/** Stopped by hand, or given up: it does not come back by itself. */
export const staysAway = (worker: ReturnType<typeof useAgentSlot>['worker']): worker is NonNullable<typeof worker> =>
  worker !== undefined && worker.live && (worker.state === 'parked' || (worker.state === 'down' && worker.desired === 'down'));
