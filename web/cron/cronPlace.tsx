/** Jobs, when they run next, how they ran, and blueprints to make them from. */
import { useSearch } from '@tanstack/react-router';
import { LayoutTemplate, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../../ipc/contracts/cron.ts';
import { PlaceHeader } from '../app/header.tsx';
import { holding, useLift, usePauses } from '../app/pauses.ts';
import { useProfile } from '../app/profile.ts';
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

/** Whether the jobs of this profile are held, and the way out of it. */
function usePaused() {
  const { data = [] } = usePauses(5_000);
  const resume = useLift();
  const pauses = holding(data, useProfile()).filter(({ holds }) => holds.includes('cron'));
  const notices = pauses.map(({ profile, reason }) => (
    <Notice
      key={profile}
      tone="warn"
      title={profile === 'default' ? 'Automation is paused' : `Automation of ${profile} is paused`}
      actions={
        <Button
          disabled={resume.isPending}
          onClick={() => resume.mutate(profile, { onSuccess: ({ paused }) => paused ?? toast('Automation goes on.') })}
        >
          Resume
        </Button>
      }
    >
      {reason ? `${reason}. ` : ''}Due jobs are held and run once it is lifted.
    </Notice>
  ));
  return { paused: pauses.length > 0, notice: resume.error ? <Problem thrown={resume.error} /> : notices };
}
