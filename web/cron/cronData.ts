/** What the place of scheduled jobs asks and changes, with the keys under which it is kept. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { Job } from '../../ipc/contracts/cron.ts';
import { ApiError, request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { toast } from '../ui/toast.tsx';

/** Only while somebody looks: queries pause with the tab. */
const LOOK_MS = 5_000;
const BUSY_LOOK_MS = 1_000;

export function useJobs() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['cron', profile, 'jobs'],
    queryFn: ({ signal }) => request('GET /api/cron/jobs', { query: { profile }, signal }),
    refetchInterval: ({ state }) => (state.data?.jobs.some((job) => job.state === 'running') ? BUSY_LOOK_MS : LOOK_MS),
  });
}

export function useRuns(jobId: string | undefined, busy: boolean) {
  const profile = useProfile();
  return useQuery({
    queryKey: ['cron', profile, 'runs', jobId],
    queryFn: ({ signal }) => request('GET /api/cron/runs', { query: { profile, job_id: jobId, limit: 100 }, signal }),
    refetchInterval: busy ? BUSY_LOOK_MS : LOOK_MS,
  });
}

export function useTargets() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['cron', profile, 'targets'],
    queryFn: ({ signal }) => request('GET /api/cron/delivery-targets', { query: { profile }, signal }),
  });
}

/** Everything about jobs is asked again. */
export function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['cron'] });
}

export type JobAction = 'pause' | 'resume' | 'trigger' | 'delete';

const done: Record<JobAction, string> = { pause: 'is paused', resume: 'goes on', trigger: 'runs now', delete: 'is deleted' };

export function useJobAction() {
  const profile = useProfile();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: async ({ job, action }: { job: Job; action: JobAction }) => {
      const params = { id: job.id };
      if (action === 'delete') await request('DELETE /api/cron/jobs/:id', { params, query: { profile } });
      else await request(`POST /api/cron/jobs/:id/${action}`, { params, body: { profile } });
    },
    onSuccess: (_, { job, action }) => toast(`${job.name} ${done[action]}.`),
    onSettled: refresh,
  });
}

/** The value once it has stood still for a moment: what is being typed is not asked about. */
export function useSettled<T>(value: T, ms = 350): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const later = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(later);
  }, [value, ms]);
  return settled;
}

/** Messages of a refused form by field; `prefix` stands before the names: `values.`. */
export function fieldErrors(thrown: Error | null, prefix = ''): Record<string, string> {
  if (!(thrown instanceof ApiError)) return {};
  return Object.fromEntries(
    thrown.errors.map(({ path, message }) => [path.startsWith(prefix) ? path.slice(prefix.length) : path, message]),
  );
}
