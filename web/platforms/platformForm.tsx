/** Setting a platform up: the steps, its settings, its secrets. Only what was changed is sent. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import type { PlatformRow } from '../../ipc/contracts/http/platforms.ts';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { SecretField, SwitchField, TextField } from '../ui/field.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

type Setting = PlatformRow['settings'][number];
type Variable = PlatformRow['env_vars'][number];
type Draft = Record<string, string | boolean>;

interface FormProps {
  platform: PlatformRow;
  envPath: string;
  onDone: () => void;
}

export function PlatformForm({ platform, envPath, onDone }: FormProps) {
  const profile = useProfile();
  const queries = useQueryClient();
  const { id, name, steps, settings } = platform;
  const [draft, setDraft] = useState<Draft>(() => Object.fromEntries(settings.map((one) => [one.key, asDraft(one)])));
  const [secrets, setSecrets] = useState<Record<string, string>>({});
  const [clearing, setClearing] = useState<string | null>(null);
  // A variable that already does the work of a setting has to be seen; the others would only repeat the form.
  const variables = platform.env_vars.filter(({ advanced, is_set }) => !advanced || is_set);

  const save = useMutation({
    mutationFn: (clear?: string) =>
      request('PUT /api/messaging/platforms/:id', {
        params: { id },
        query: { profile },
        body: clear === undefined ? changesOf(platform, draft, secrets) : { clear_env: [clear] },
      }),
    onSuccess: ({ platform: saved }, clear) => {
      setSecrets({});
      setClearing(null);
      if (clear !== undefined) return toast(`${clear} is removed.`);
      toast(saved.state === 'gateway_stopped' ? `${name} is set up. Start the gateway to connect it.` : `${name} is saved.`);
      onDone();
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['platforms'] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  const field = (setting: Setting) => (
    <SettingField
      key={setting.key}
      setting={setting}
      value={draft[setting.key]!}
      onChange={(value) => setDraft({ ...draft, [setting.key]: value })}
    />
  );

  return (
    <form aria-label={`Settings of ${name}`} onSubmit={submit} className="grid gap-5 border-t border-line pt-4">
      <ol className="grid list-decimal gap-1 pl-5 text-sm text-soft marker:text-faint">
        {steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
      <div className="grid gap-4 sm:grid-cols-2">{settings.filter(({ kind }) => kind !== 'switch').map(field)}</div>
      {settings.filter(({ kind }) => kind === 'switch').map(field)}
      {variables.length > 0 && (
        <div className="grid gap-4">
          {variables.map((variable) => (
            <VariableField
              key={variable.key}
              variable={variable}
              value={secrets[variable.key] ?? ''}
              busy={save.isPending}
              onChange={(value) => setSecrets({ ...secrets, [variable.key]: value })}
              onClear={() => setClearing(variable.key)}
            />
          ))}
          <p className="text-xs break-words text-soft">These are kept in {envPath}, which only you can read.</p>
        </div>
      )}
      {save.error && clearing === null && <Problem thrown={save.error} />}
      <ConfirmDialog
        open={clearing !== null}
        onClose={() => setClearing(null)}
        title={`Remove ${clearing ?? ''}?`}
        verb="Remove"
        busy={save.isPending}
        error={save.error}
        onConfirm={() => clearing !== null && save.mutate(clearing)}
      >
        Its value is gone for good, and {name} cannot use it after the next start of the gateway.
      </ConfirmDialog>
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto text-xs text-soft">More in {platform.docs_url}</span>
        <Button onClick={onDone}>Cancel</Button>
        <Button type="submit" weight="strong" disabled={save.isPending}>
          {save.isPending ? 'Saving…' : platform.configured ? 'Save' : 'Save and switch on'}
        </Button>
      </div>
    </form>
  );
}

const asDraft = ({ kind, value }: Setting): string | boolean => {
  if (kind === 'switch') return value === true;
  return Array.isArray(value) ? value.join(', ') : value === null ? '' : String(value);
};

/** As the route takes it. An emptied field is removed, so that the default counts again. */
function changesOf({ settings, configured }: PlatformRow, draft: Draft, secrets: Record<string, string>) {
  const changed = settings.flatMap((setting) => {
    const now = draft[setting.key]!;
    return now === asDraft(setting) ? [] : [[setting.key, asValue(setting, now)] as const];
  });
  const env = Object.entries(secrets).filter(([, value]) => value !== '');
  return {
    ...(changed.length > 0 ? { settings: Object.fromEntries(changed) } : {}),
    ...(env.length > 0 ? { env: Object.fromEntries(env) } : {}),
    ...(configured ? {} : { enabled: true }),
  };
}

function asValue({ kind }: Setting, draft: string | boolean): string | number | boolean | string[] | null {
  if (typeof draft === 'boolean') return draft;
  const text = draft.trim();
  if (text === '') return null;
  if (kind === 'number') return Number(text);
  if (kind === 'text') return text;
  return text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '');
}

function SettingField({
  setting: { kind, label, help, default: usual },
  value,
  onChange,
}: {
  setting: Setting;
  value: string | boolean;
  onChange: (value: string | boolean) => void;
}) {
  if (kind === 'switch') return <SwitchField label={label} hint={help} checked={value === true} onChange={onChange} />;
  return (
    <TextField
      label={label}
      hint={help}
      placeholder={usual}
      value={String(value)}
      literal
      inputMode={kind === 'number' ? 'numeric' : 'text'}
      {...(kind === 'number' ? { pattern: '[0-9]*', title: 'A number' } : {})}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

interface VariableProps {
  variable: Variable;
  value: string;
  busy: boolean;
  onChange: (value: string) => void;
  onClear: () => void;
}

function VariableField({
  variable: { key, prompt, description, is_set, redacted_value, is_password },
  value,
  busy,
  onChange,
  onClear,
}: VariableProps) {
  const hint = (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span>
        <code className="font-mono">{key}</code>. {sentence(description)}{' '}
        {is_set ? `Set to ${redacted_value ?? '••••'}; leave this empty to keep it.` : 'Not set.'}
      </span>
      {is_set && (
        <Button weight="quiet" className="h-7!" disabled={busy} onClick={onClear}>
          Remove {key}
        </Button>
      )}
    </span>
  );
  const given = { label: prompt, hint, value, onChange: (event: { target: { value: string } }) => onChange(event.target.value) };
  return is_password ? <SecretField {...given} /> : <TextField mono {...given} />;
}
