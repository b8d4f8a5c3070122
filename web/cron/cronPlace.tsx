/** Jobs, when they run next, how they ran, and blueprints to make them from. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSearch } from '@tanstack/react-router';
import { LayoutTemplate, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../../ipc/contracts/cron.ts';
import { request } from '../api.ts';
import { PlaceHeader } from '../app/header.tsx';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, PlaceBody, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { Tabs } from '../ui/tabs.tsx';
import { toast } from '../ui/toast.tsx';
import { Blueprints } from './blueprints.tsx';
import { Calendar } from './calendar.tsx';
import { useJobs } from './cronData.ts';
import { History } from './history.tsx';
import { JobForm } from './jobForm.tsx';
import { JobList } from './jobList.tsx';

type Face = 'jobs' | 'calendar' | 'history' | 'blueprints';

export function CronPlace() {
  // An address of a blueprint opens its form: `/cron?blueprint=morning-briefing`.
  const asked = useSearch({ strict: false, select: (search) => (search as { blueprint?: unknown }).blueprint });
  const [blueprint, setBlueprint] = useState<string | undefined>(typeof asked === 'string' ? asked : undefined);
  const [face, setFace] = useState<Face>(blueprint === undefined ? 'jobs' : 'blueprints');
  const [editing, setEditing] = useState<Job | 'new' | null>(null);
  const [historyOf, setHistoryOf] = useState<string | undefined>();
  const { data, error, refetch } = useJobs();
  const held = usePaused();
  const jobs = data?.jobs ?? [];

  const jobsPanel = (
    <>
      {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={14} />}
      {data && jobs.length === 0 && (
        <Empty
          title="No jobs yet"
          actions={
            <span className="flex flex-wrap justify-center gap-2">
              <Button weight="strong" icon={<LayoutTemplate size={16} />} onClick={() => setFace('blueprints')}>
                Start from a blueprint
              </Button>
              <Button icon={<Plus size={16} />} onClick={() => setEditing('new')}>
                New job
              </Button>
            </span>
          }
        >
          A job asks the agent something, or runs a script, at the times you choose. You can also ask for one in a chat.
        </Empty>
      )}
      {jobs.length > 0 && (
        <JobList
          jobs={jobs}
          held={held.paused}
          onEdit={setEditing}
          onHistory={({ id }) => {
            setHistoryOf(id);
            setFace('history');
          }}
        />
      )}
    </>
  );
  return (
    <>
      <PlaceHeader title="Scheduled jobs">
        <Button icon={<Plus size={16} />} onClick={() => setEditing('new')}>
          <span className="max-sm:sr-only">New job</span>
        </Button>
      </PlaceHeader>
      <PlaceBody wide>
        {held.notice}
        <Tabs
          label="Scheduled jobs"
          value={face}
          onChange={(value) => setFace(value as Face)}
          tabs={[
            { value: 'jobs', label: 'Jobs', panel: jobsPanel },
            {
              value: 'calendar',
              label: 'Calendar',
              panel: <Calendar onOpen={(id) => setEditing(jobs.find((job) => job.id === id) ?? null)} />,
            },
            { value: 'history', label: 'History', panel: <History jobs={jobs} jobId={historyOf} onJob={setHistoryOf} /> },
            {
              value: 'blueprints',
              label: 'Blueprints',
              panel: <Blueprints opened={blueprint} onOpen={setBlueprint} onMade={() => setFace('jobs')} />,
            },
          ]}
        />
      </PlaceBody>
      {editing !== null && (
        <JobForm key={editing === 'new' ? 'new' : editing.id} job={editing === 'new' ? null : editing} onClose={() => setEditing(null)} />
      )}
    </>
  );
}

/** Whether automation as a whole is held, and the way out of it. */
function usePaused() {
  const queries = useQueryClient();
  const { data } = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => request('GET /api/status', { signal }),
    refetchInterval: 5_000,
  });
  const resume = useMutation({
    mutationFn: () => request('DELETE /api/pause'),
    onSuccess: () => toast('Automation goes on.'),
    onSettled: () => queries.invalidateQueries(),
  });
  const pause = data?.paused ?? null;
  const notice = pause && (
    <Notice
      tone="warn"
      title="Automation is paused"
      actions={
        <Button disabled={resume.isPending} onClick={() => resume.mutate()}>
          Resume
        </Button>
      }
    >
      {pause.reason ? `${pause.reason}. ` : ''}Due jobs are held and run once it is lifted.
    </Notice>
  );
  return { paused: pause !== null, notice: resume.error ? <Problem thrown={resume.error} /> : notice };
}
