/** The jobs: when each runs next, how it went, and what one can do with it. */
import { Pause, Pencil, Play, SkipForward, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { Job } from '../../ipc/contracts/cron.ts';
import { age, sentence } from '../app/format.ts';
import { IconButton } from '../ui/button.tsx';
import { DataTable } from '../ui/dataTable.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Badge, type Tone } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { useJobAction, type JobAction } from './cronData.ts';
import { ahead, exactly } from './times.ts';

interface JobListProps {
  jobs: readonly Job[];
  /** Automation as a whole is held. */
  held: boolean;
  onEdit: (job: Job) => void;
  onHistory: (job: Job) => void;
}

export function JobList({ jobs, held, onEdit, onHistory }: JobListProps) {
  const [deleting, setDeleting] = useState<Job | null>(null);
  const action = useJobAction();
  const ask = (job: Job) => {
    action.reset();
    setDeleting(job);
  };
  const failed = action.error && action.variables.action !== 'delete' ? action.error : null;
  return (
    <>
      {failed && <Problem thrown={failed} />}
      <DataTable
        label="Jobs"
        rows={jobs}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Job', cell: what },
          { name: 'Next run', cell: (job) => next(job, held) },
          { name: 'Last result', cell: (job) => last(job, onHistory) },
          {
            name: 'Actions',
            quiet: true,
            cell: (job) =>
              buttons(job, { busy: action.isPending, onEdit, onDelete: ask, act: (kind) => action.mutate({ job, action: kind }) }),
          },
        ]}
      />
      <ConfirmDialog
        open={deleting !== null}
        onClose={() => setDeleting(null)}
        title={`Delete ${deleting?.name ?? 'the job'}?`}
        verb="Delete"
        busy={action.isPending}
        error={action.variables?.action === 'delete' ? action.error : null}
        onConfirm={() => deleting && action.mutate({ job: deleting, action: 'delete' }, { onSuccess: () => setDeleting(null) })}
      >
        Its history and its output files go with it. A run that is under way ends by itself.
      </ConfirmDialog>
    </>
  );
}

interface ButtonParts {
  busy: boolean;
  onEdit: (job: Job) => void;
  onDelete: (job: Job) => void;
  act: (action: JobAction) => void;
}

const buttons = (job: Job, { busy, onEdit, onDelete, act }: ButtonParts) => (
  <span className="flex gap-1 md:justify-end">
    <IconButton label={`Run ${job.name} now`} disabled={busy || job.state === 'running'} onClick={() => act('trigger')}>
      <SkipForward size={16} />
    </IconButton>
    {job.enabled ? (
      <IconButton label={`Pause ${job.name}`} disabled={busy} onClick={() => act('pause')}>
        <Pause size={16} />
      </IconButton>
    ) : (
      <IconButton label={`Resume ${job.name}`} disabled={busy || job.state === 'completed'} onClick={() => act('resume')}>
        <Play size={16} />
      </IconButton>
    )}
    <IconButton label={`Edit ${job.name}`} onClick={() => onEdit(job)}>
      <Pencil size={16} />
    </IconButton>
    <IconButton label={`Delete ${job.name}`} onClick={() => onDelete(job)}>
      <Trash2 size={16} />
    </IconButton>
  </span>
);

const states: Record<Job['state'], { tone: Tone; busy?: boolean }> = {
  scheduled: { tone: 'good' },
  running: { tone: 'neutral', busy: true },
  paused: { tone: 'warn' },
  completed: { tone: 'neutral' },
};

function what({ id, name, state, schedule, script, prompt, deliver }: Job) {
  return (
    <div className="grid gap-0.5" data-job={id} data-state={state}>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <span className="font-medium [overflow-wrap:anywhere]">{name}</span>
        <Badge {...states[state]}>{state}</Badge>
      </span>
      <span className="text-soft">{sentence(schedule.words)}</span>
      <span className="line-clamp-2 max-w-prose text-xs text-soft [overflow-wrap:anywhere]">
        {prompt ?? script}
        {deliver === 'local' ? '' : ` → ${deliver}`}
      </span>
    </div>
  );
}

function next({ next_run_at, enabled, schedule }: Job, held: boolean) {
  if (!enabled || next_run_at === null) return <span className="text-soft">–</span>;
  return (
    <div className="grid gap-0.5">
      <span>{held ? 'held by the pause' : ahead(next_run_at)}</span>
      <time dateTime={next_run_at} className="text-xs text-soft">
        {exactly(next_run_at, schedule.timezone)} {schedule.timezone}
      </time>
    </div>
  );
}

const results: Record<NonNullable<Job['last_status']>, { tone: Tone; text: string }> = {
  ok: { tone: 'good', text: 'done' },
  error: { tone: 'bad', text: 'failed' },
  delivery_failed: { tone: 'warn', text: 'not delivered' },
  blocked_config: { tone: 'bad', text: 'no model' },
};

function last(job: Job, onHistory: (job: Job) => void) {
  const { last_status, last_run_at, last_error } = job;
  if (last_status === null || last_run_at === null) return <span className="text-soft">has not run yet</span>;
  const { tone, text } = results[last_status];
  const when = age(last_run_at);
  return (
    <div className="grid justify-items-start gap-1">
      <button type="button" onClick={() => onHistory(job)} className="flex items-center gap-2 rounded hover:underline">
        <Badge tone={tone}>{text}</Badge>
        <span className="text-soft">{when === 'now' ? 'just now' : when}</span>
      </button>
      {last_error && <span className="line-clamp-3 max-w-sm text-xs text-bad [overflow-wrap:anywhere]">{last_error}</span>}
    </div>
  );
}
