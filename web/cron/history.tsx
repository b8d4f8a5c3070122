/** What has run: when, why, how it ended, and what it wrote down. */
import { useQuery } from '@tanstack/react-query';
import { FileText } from 'lucide-react';
import { useState } from 'react';
import type { Job, Run } from '../../ipc/contracts/cron.ts';
import { request } from '../api.ts';
import { duration } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { DataTable } from '../ui/dataTable.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { Badge, type Tone } from '../ui/notice.tsx';
import { Empty, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { useRuns } from './cronData.ts';
import { exactly } from './times.ts';

interface HistoryProps {
  jobs: readonly Job[];
  /** Undefined = of all. */
  jobId: string | undefined;
  onJob: (id: string | undefined) => void;
}

export function History({ jobs, jobId, onJob }: HistoryProps) {
  const [opened, setOpened] = useState<Run | null>(null);
  const { data, error } = useRuns(
    jobId,
    jobs.some((job) => job.state === 'running'),
  );
  const nameOf = (id: string) => jobs.find((job) => job.id === id)?.name ?? 'a deleted job';
  return (
    <>
      <div className="max-w-xs">
        <SelectField
          label="Runs of"
          value={jobId ?? ''}
          onChange={(event) => onJob(event.target.value || undefined)}
          choices={[{ value: '', label: 'all jobs' }, ...jobs.map(({ id, name }) => ({ value: id, label: name }))]}
        />
      </div>
      {error && !data && <Problem thrown={error} />}
      {!data && !error && <Skeleton lines={5} />}
      {data?.runs.length === 0 && <Empty title="Nothing has run yet">A run appears here the moment it is claimed.</Empty>}
      {data && data.runs.length > 0 && (
        <DataTable
          label="Runs"
          rows={data.runs}
          keyOf={({ execution_id }) => execution_id}
          columns={[
            { name: 'Job', cell: (run) => jobName(nameOf(run.job_id)) },
            { name: 'Result', cell: result },
            { name: 'Started', cell: started },
            { name: 'Took', figures: true, cell: took },
            { name: 'Delivery', cell: delivered },
            { name: 'Output', quiet: true, cell: (run) => outputButton(run, nameOf(run.job_id), setOpened) },
          ]}
        />
      )}
      {opened && <Output run={opened} name={nameOf(opened.job_id)} onClose={() => setOpened(null)} />}
    </>
  );
}

const tones: Record<Run['status'], Tone> = {
  claimed: 'neutral',
  running: 'neutral',
  ok: 'good',
  error: 'bad',
  waiting: 'warn',
  skipped: 'warn',
  unknown: 'warn',
};
const triggers: Record<Run['trigger'], string> = {
  on_time: 'on time',
  late: 'late',
  catch_up: 'caught up',
  manual: 'by hand',
  fire: 'from outside',
};
const deliveries: Record<Run['delivery'], string> = { none: '–', queued: 'waits', accepted: 'handed over', failed: 'failed' };

const jobName = (name: string) => <span className="font-medium [overflow-wrap:anywhere]">{name}</span>;
const delivered = ({ delivery }: Run) => <span className="text-soft">{deliveries[delivery]}</span>;

const outputButton = (run: Run, name: string, open: (run: Run) => void) =>
  run.output_path === null ? null : (
    <Button icon={<FileText size={15} />} aria-label={`Output of ${name}`} onClick={() => open(run)}>
      Output
    </Button>
  );

function result({ status, trigger, error }: Run) {
  return (
    <div className="grid justify-items-start gap-1">
      <span className="flex flex-wrap items-center gap-2">
        <Badge tone={tones[status]} busy={status === 'running' || status === 'claimed'}>
          {status === 'ok' ? 'done' : status}
        </Badge>
        <span className="text-soft">{triggers[trigger]}</span>
      </span>
      {error && <span className="max-w-md text-xs text-bad [overflow-wrap:anywhere]">{error}</span>}
    </div>
  );
}

function started({ started_at, scheduled_instant }: Run) {
  const at = started_at ?? scheduled_instant;
  return at === null ? '–' : <time dateTime={at}>{exactly(at)}</time>;
}

const took = ({ started_at, ended_at }: Run): string =>
  started_at && ended_at ? duration(Date.parse(ended_at) - Date.parse(started_at)) : '–';

function Output({ run, name, onClose }: { run: Run; name: string; onClose: () => void }) {
  const profile = useProfile();
  const { data, error } = useQuery({
    queryKey: ['cron', profile, 'output', run.execution_id],
    queryFn: ({ signal }) => request('GET /api/cron/runs/:id/output', { params: { id: run.execution_id }, query: { profile }, signal }),
    retry: false,
  });
  return (
    <Dialog open onClose={onClose} title={`Output of ${name}`} wide>
      {error && <Problem thrown={error} />}
      {!data && !error && <Skeleton lines={6} />}
      {data && (
        <div className="relative min-w-0">
          <pre
            tabIndex={0}
            aria-label="Output"
            className="max-h-[60dvh] overflow-auto rounded-lg bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {data.text}
          </pre>
          <CopyButton text={data.text} label="Copy the output" className="absolute top-1 right-1 bg-sunken" />
        </div>
      )}
      {data?.truncated && <p className="text-sm text-soft">This is its beginning. All of it is in {data.run.output_path}.</p>}
    </Dialog>
  );
}
