/** Ready-made jobs: a gallery, and a form that says what the job will do before it is made. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Blueprint, BlueprintField } from '../../ipc/contracts/cron.ts';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { SelectField, TextArea, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { fieldErrors, useRefresh, useSettled } from './cronData.ts';
import { SchedulePreview } from './schedulePreview.tsx';
import { TargetField } from './targetField.tsx';

interface GalleryProps {
  /** Opened at once: from an address. */
  opened: string | undefined;
  onOpen: (key: string | undefined) => void;
  onMade: () => void;
}

export function Blueprints({ opened, onOpen, onMade }: GalleryProps) {
  const { data, error } = useQuery({
    queryKey: ['cron', 'blueprints'],
    queryFn: ({ signal }) => request('GET /api/cron/blueprints', { signal }),
    staleTime: Infinity,
  });
  if (error && !data) return <Problem thrown={error} />;
  if (!data) return <Skeleton height={20} />;
  const blueprint = data.blueprints.find(({ key }) => key === opened);
  return (
    <>
      <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {data.blueprints.map((one) => (
          <li key={one.key}>
            <button
              type="button"
              onClick={() => onOpen(one.key)}
              className="grid h-full w-full content-start gap-1 rounded-xl border border-line bg-surface p-4 text-left transition-colors hover:border-accent"
            >
              <span className="text-xs text-soft">{one.category}</span>
              <span className="font-medium">{one.title}</span>
              <span className="text-sm text-soft">{one.description}</span>
            </button>
          </li>
        ))}
      </ul>
      {blueprint && (
        <BlueprintForm
          key={blueprint.key}
          blueprint={blueprint}
          onClose={() => onOpen(undefined)}
          onMade={() => {
            onOpen(undefined);
            onMade();
          }}
        />
      )}
    </>
  );
}

type Values = Record<string, string>;

function BlueprintForm({ blueprint, onClose, onMade }: { blueprint: Blueprint; onClose: () => void; onMade: () => void }) {
  const profile = useProfile();
  const refresh = useRefresh();
  const [values, setValues] = useState<Values>(() =>
    Object.fromEntries(blueprint.fields.map((field) => [field.name, field.default ?? ''])),
  );
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const body = { blueprint: blueprint.key, values: useSettled(values), profile };
  const preview = useQuery({
    queryKey: ['cron', profile, 'blueprint', body],
    queryFn: ({ signal }) => request('POST /api/cron/blueprints/preview', { body, signal }),
    retry: false,
    staleTime: 10_000,
    placeholderData: (before) => before,
  });
  const make = useMutation({
    mutationFn: () => request('POST /api/cron/blueprints/instantiate', { body: { ...body, values } }),
    onSuccess: (job) => {
      toast(`${job.name} is scheduled.`);
      onMade();
      return refresh();
    },
  });
  const typed = fieldErrors(preview.error, 'values.');
  const refused = fieldErrors(make.error, 'values.');
  const errorOf = (name: string) => (touched.has(name) ? typed[name] : undefined) ?? refused[name];
  const elsewhere = make.error && Object.keys(refused).every((name) => !(name in values));
  const change = (name: string, value: string) => {
    setValues({ ...values, [name]: value });
    setTouched(new Set([...touched, name]));
    make.reset();
  };
  return (
    <FormDialog
      onClose={onClose}
      wide
      title={blueprint.title}
      verb="Create job"
      doing="Making…"
      busy={make.isPending}
      error={elsewhere ? make.error : null}
      onSubmit={() => make.mutate()}
    >
      <p className="text-sm text-soft">{blueprint.description}</p>
      <div className="grid gap-4 sm:grid-cols-2">
        {blueprint.fields.map((field) => (
          <div key={field.name} className={field.long ? 'sm:col-span-2' : ''}>
            <Input
              field={field}
              value={values[field.name] ?? ''}
              error={errorOf(field.name)}
              onChange={(value) => change(field.name, value)}
            />
          </div>
        ))}
      </div>
      <SchedulePreview seen={preview.error ? undefined : preview.data} waiting="Fill in what is missing; then it says when it runs." />
      {preview.data && !preview.error && (
        <details className="text-sm">
          <summary className="text-soft">What it will do</summary>
          <pre
            tabIndex={0}
            className="mt-2 max-h-60 overflow-auto rounded-lg bg-sunken p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {[preview.data.prompt, preview.data.script].filter((text) => text !== null).join('\n\n')}
          </pre>
        </details>
      )}
    </FormDialog>
  );
}

interface InputProps {
  field: BlueprintField;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}

function Input({ field: { name, type, label, help, options, min, max, long, optional }, value, error, onChange }: InputProps) {
  const shared = {
    label: optional ? `${label} (may stay empty)` : label,
    hint: help,
    error,
    value,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  if (name === 'deliver') return <TargetField label={label} value={value} error={error} onChange={shared.onChange} />;
  // Its hint is about what may be typed; here it is chosen.
  if (options.length > 0) return <SelectField {...shared} hint={type === 'weekdays' ? undefined : shared.hint} choices={options} />;
  if (min !== null || max !== null) return <TextField {...shared} type="number" min={min ?? undefined} max={max ?? undefined} />;
  if (type === 'time') return <TextField {...shared} type="time" hint={undefined} />;
  return long ? <TextArea {...shared} rows={3} /> : <TextField {...shared} />;
}
