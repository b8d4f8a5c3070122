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
import { useJobAction } from './cronData.ts';
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
  const failed = action.error && action.variables.action !== 'delete' ? action.error : null;
  return (
    <>
      {failed && <Problem thrown={failed} />}
      <DataTable
        label="Jobs"
        rows={jobs}
        keyOf={({ id }) => id}
        columns={[
          { name: 'Job', cell: (job) => <What job={job} /> },
          { name: 'Next run', cell: (job) => <Next job={job} held={held} /> },
          { name: 'Last result', cell: (job) => <Last job={job} onHistory={() => onHistory(job)} /> },
          {
            name: 'Actions',
            quiet: true,
            cell: (job) => (
              <span className="flex gap-1 md:justify-end">
                <IconButton
                  label={`Run ${job.name} now`}
                  disabled={action.isPending || job.state === 'running'}
                  onClick={() => action.mutate({ job, action: 'trigger' })}
                >
                  <SkipForward size={16} />
                </IconButton>
                {job.enabled ? (
                  <IconButton
                    label={`Pause ${job.name}`}
                    disabled={action.isPending}
                    onClick={() => action.mutate({ job, action: 'pause' })}
                  >
                    <Pause size={16} />
                  </IconButton>
                ) : (
                  <IconButton
                    label={`Resume ${job.name}`}
                    disabled={action.isPending || job.state === 'completed'}
                    onClick={() => action.mutate({ job, action: 'resume' })}
                  >
                    <Play size={16} />
                  </IconButton>
                )}
                <IconButton label={`Edit ${job.name}`} onClick={() => onEdit(job)}>
                  <Pencil size={16} />
                </IconButton>
                <IconButton label={`Delete ${job.name}`} onClick={() => setDeleting(job)}>
                  <Trash2 size={16} />
                </IconButton>
              </span>
            ),
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

const states: Record<Job['state'], { tone: Tone; busy?: boolean }> = {
  scheduled: { tone: 'good' },
  running: { tone: 'neutral', busy: true },
  paused: { tone: 'warn' },
  completed: { tone: 'neutral' },
};

function What({ job: { id, name, state, schedule, script, prompt, deliver } }: { job: Job }) {
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

function Next({ job: { next_run_at, enabled, schedule }, held }: { job: Job; held: boolean }) {
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

function Last({ job: { last_status, last_run_at, last_error }, onHistory }: { job: Job; onHistory: () => void }) {
  if (last_status === null || last_run_at === null) return <span className="text-soft">has not run yet</span>;
  const { tone, text } = results[last_status];
  const when = age(last_run_at);
  return (
    <div className="grid justify-items-start gap-1">
      <button type="button" onClick={onHistory} className="flex items-center gap-2 rounded hover:underline">
        <Badge tone={tone}>{text}</Badge>
        <span className="text-soft">{when === 'now' ? 'just now' : when}</span>
      </button>
      {last_error && <span className="line-clamp-3 max-w-sm text-xs text-bad [overflow-wrap:anywhere]">{last_error}</span>}
    </div>
  );
}
