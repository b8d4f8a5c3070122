/** A job as a form: what it does, when, and where its result goes. The schedule is explained while it is typed. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Job } from '../../ipc/contracts/cron.ts';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { TextArea, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { toast } from '../ui/toast.tsx';
import { fieldErrors, useRefresh, useSettled } from './cronData.ts';
import { SchedulePreview } from './schedulePreview.tsx';
import { TargetField } from './targetField.tsx';

const examples = ['every day 7am', 'every weekday 18:30', 'every 30m', '2h', '0 9 * * 1-5'];

interface JobFormProps {
  /** Null = a new one. */
  job: Job | null;
  onClose: () => void;
}

export function JobForm({ job, onClose }: JobFormProps) {
  const profile = useProfile();
  const refresh = useRefresh();
  const [values, setValues] = useState(() => valuesOf(job));
  const set = (name: keyof Values) => (event: { target: { value: string } }) => setValues({ ...values, [name]: event.target.value });
  const asked = useSettled(`${values.schedule}\n${values.timezone}`);
  const [schedule = '', timezone = ''] = asked.split('\n');
  const preview = useQuery({
    queryKey: ['cron', profile, 'preview', schedule, timezone],
    queryFn: ({ signal }) => request('POST /api/cron/preview', { body: { schedule, profile, ...(timezone ? { timezone } : {}) }, signal }),
    enabled: schedule.trim() !== '',
    retry: false,
    staleTime: 10_000,
  });
  const save = useMutation({
    mutationFn: async () => {
      const parts = partsOf(values, job);
      if (job === null) return request('POST /api/cron/jobs', { body: { ...parts, profile } });
      return request('PUT /api/cron/jobs/:id', { params: { id: job.id }, body: { updates: parts, profile } });
    },
    onSuccess: ({ job: saved }) => {
      toast(job === null ? `${saved.name} is scheduled.` : `${saved.name} is changed.`);
      onClose();
      return refresh();
    },
  });
  const errors = fieldErrors(save.error, 'updates.');
  const scheduleError = preview.error && schedule === values.schedule ? preview.error.message : errors.schedule;
  const elsewhere = save.error && Object.keys(errors).every((name) => !(name in values));
  return (
    <FormDialog
      onClose={onClose}
      wide
      title={job === null ? 'New job' : `Edit ${job.name}`}
      verb={job === null ? 'Create job' : 'Save'}
      doing="Saving…"
      busy={save.isPending}
      complete={values.schedule.trim() !== ''}
      error={elsewhere ? save.error : null}
      onSubmit={() => save.mutate()}
    >
      <TextArea
        label="What should the agent do?"
        hint="It sees nothing of your chats. Leave it empty when a script is the whole job."
        value={values.prompt}
        onChange={set('prompt')}
        error={errors.prompt}
      />
      <div className="grid gap-2">
        <TextField
          label="When?"
          placeholder="every weekday 9am"
          value={values.schedule}
          onChange={set('schedule')}
          error={scheduleError}
          mono
        />
        <span className="flex flex-wrap gap-1.5">
          {examples.map((example) => (
            <button
              key={example}
              type="button"
              className="rounded-full border border-edge px-2.5 py-0.5 font-mono text-xs text-soft hover:bg-sunken hover:text-ink"
              onClick={() => setValues({ ...values, schedule: example })}
            >
              {example}
            </button>
          ))}
        </span>
        <SchedulePreview seen={preview.error ? undefined : preview.data} waiting="Write when it should run; it is explained here." />
      </div>
      <TargetField value={values.deliver} onChange={set('deliver')} error={errors.deliver} />
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField label="Name" placeholder="made from the first words" value={values.name} onChange={set('name')} error={errors.name} />
        <TextField
          label="Script"
          hint="A file in scripts/ of the home; runs before the prompt."
          value={values.script}
          onChange={set('script')}
          error={errors.script}
          mono
        />
        <TextField
          label="Time zone"
          placeholder="as configured"
          value={values.timezone}
          onChange={set('timezone')}
          error={errors.timezone}
        />
        <TextField
          label="Stop after"
          type="number"
          min={1}
          placeholder="never"
          hint="runs"
          value={values.repeat}
          onChange={set('repeat')}
          error={errors.repeat}
        />
      </div>
    </FormDialog>
  );
}

type Values = Record<'prompt' | 'schedule' | 'deliver' | 'name' | 'script' | 'timezone' | 'repeat', string>;

const valuesOf = (job: Job | null): Values => ({
  prompt: job?.prompt ?? '',
  schedule: job?.schedule.display ?? '',
  deliver: job?.deliver ?? 'local',
  name: job?.name ?? '',
  script: job?.script ?? '',
  timezone: job?.schedule.timezone ?? '',
  repeat: job?.repeat.times === null || job === null || job.schedule.kind === 'once' ? '' : String(job.repeat.times),
});

/** What was left empty is not said, so that the service chooses; of a prompt and a script it means none, of an end that there was, no end. */
function partsOf({ prompt, schedule, deliver, name, script, timezone, repeat }: Values, job: Job | null) {
  const emptied = valuesOf(job).repeat === '' ? {} : { repeat: null };
  return {
    schedule,
    prompt: prompt.trim() === '' ? null : prompt,
    script: script.trim() === '' ? null : script.trim(),
    deliver: deliver.trim() || 'local',
    ...(name.trim() === '' ? {} : { name: name.trim() }),
    ...(timezone.trim() === '' ? {} : { timezone: timezone.trim() }),
    ...(repeat.trim() === '' ? emptied : { repeat: Number(repeat) }),
  };
}
