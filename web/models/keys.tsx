/** Variables of .env: what is set, never its value unless one asks; set, replace, show, remove. */
import { useMutation } from '@tanstack/react-query';
import { ExternalLink, Plus } from 'lucide-react';
import { useState } from 'react';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { SecretField, SwitchField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Badge } from '../ui/notice.tsx';
import { Card, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { useAskAgain, useEnv, type EnvRows } from './queries.ts';

type Row = EnvRows[string];
type Category = Row['category'];

const categories: readonly { category: Category; title: string; lead?: string }[] = [
  { category: 'providers', title: 'Model providers' },
  { category: 'platforms', title: 'Chat platforms' },
  { category: 'web', title: 'Web search' },
  { category: 'cron', title: 'Scheduled jobs' },
  { category: 'dashboard', title: 'Dashboard', lead: 'The dashboard reads these when it starts.' },
  { category: 'other', title: 'Others', lead: 'Your own, and those that config.yaml names.' },
];

type Editing = { name: string | null; row: Row | null };

export function Keys() {
  const { data, error, refetch } = useEnv();
  const [all, setAll] = useState(false);
  const [editing, setEditing] = useState<Editing | null>(null);
  const rows = Object.entries(data ?? {}).filter(
    ([, row]) => all || row.is_set || row.used_by.length > 0 || (row.category === 'providers' && !row.advanced),
  );
  return (
    <>
      <Section
        title="Keys and variables"
        lead="They stand in .env of this profile, which only you can read. Running workers see a change at once."
        actions={
          <Button weight="strong" icon={<Plus size={16} />} onClick={() => setEditing({ name: null, row: null })}>
            Add variable
          </Button>
        }
      >
        {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
        {!data && !error && <Skeleton height={20} />}
        {data && <SwitchField label="Show everything that can be set" checked={all} onChange={setAll} />}
      </Section>
      {data &&
        categories.map(({ category, title, lead }) => {
          const own = rows.filter(([, row]) => row.category === category);
          if (own.length === 0) return null;
          return (
            <Section key={category} title={title} lead={lead}>
              <ul aria-label={title} className="grid gap-2">
                {own.map(([name, row]) => (
                  <li key={name}>
                    <Variable name={name} row={row} onEdit={() => setEditing({ name, row })} />
                  </li>
                ))}
              </ul>
            </Section>
          );
        })}
      {editing && <EditVariable {...editing} onClose={() => setEditing(null)} />}
    </>
  );
}

function Variable({ name, row, onEdit }: { name: string; row: Row; onEdit: () => void }) {
  const profile = useProfile();
  const again = useAskAgain();
  const [removing, setRemoving] = useState(false);
  const reveal = useMutation({
    mutationFn: () => request('POST /api/env/reveal', { query: { profile }, body: { key: name } }),
    // A value that was shown is not kept longer than it is looked at.
    gcTime: 0,
  });
  const remove = useMutation({
    mutationFn: () => request('DELETE /api/env', { query: { profile }, body: { key: name } }),
    onSuccess: () => {
      toast(`${name} is removed`);
      setRemoving(false);
      reveal.reset();
    },
    onSettled: again,
  });
  const own = row.source === 'env_file';
  return (
    <Card className="grid gap-2 py-3!">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <span className="min-w-0 font-mono text-sm break-all">{name}</span>
        {row.is_set ? (
          <Badge tone="good">{own ? 'Set' : 'Set outside'}</Badge>
        ) : (
          <Badge tone={row.used_by.length > 0 ? 'warn' : 'neutral'}>{row.used_by.length > 0 ? 'Missing' : 'Not set'}</Badge>
        )}
        {row.redacted_value && !reveal.data && <span className="font-mono text-sm break-all text-soft">{row.redacted_value}</span>}
        <div className="ml-auto flex flex-wrap gap-1">
          {own && row.is_password && (
            <Button
              weight="quiet"
              aria-label={reveal.data ? `Hide ${name}` : `Show ${name}`}
              disabled={reveal.isPending}
              onClick={() => (reveal.data ? reveal.reset() : reveal.mutate())}
            >
              {reveal.data ? 'Hide' : 'Show'}
            </Button>
          )}
          {own && (
            <Button weight="quiet" aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
              Remove
            </Button>
          )}
          {row.source !== 'environment' && (
            <Button aria-label={`${row.is_set ? 'Replace' : 'Set'} ${name}`} onClick={onEdit}>
              {row.is_set ? 'Replace' : 'Set'}
            </Button>
          )}
        </div>
      </div>
      {reveal.data && (
        <p className="flex items-center gap-1 rounded-lg bg-sunken px-3 py-1.5">
          <span className="min-w-0 flex-1 font-mono text-sm break-all whitespace-pre-wrap">{reveal.data.value}</span>
          <CopyButton text={reveal.data.value} label={`Copy ${name}`} />
        </p>
      )}
      {reveal.error && <Problem thrown={reveal.error} />}
      <p className="text-sm text-soft">
        {row.description}
        {row.source === 'environment' && ' Set where the service is started; it stands over .env.'}
        {row.url && (
          <>
            {row.description && ' · '}
            <a href={row.url} target="_blank" rel="noreferrer noopener" className="inline-flex items-center gap-1 text-accent underline">
              {row.category === 'providers' || row.category === 'web' ? 'get a key' : 'more'} <ExternalLink size={12} aria-hidden="true" />
            </a>
          </>
        )}
      </p>
      <ConfirmDialog
        open={removing}
        onClose={() => setRemoving(false)}
        title={`Remove ${name}?`}
        verb="Remove"
        busy={remove.isPending}
        error={remove.error}
        onConfirm={() => remove.mutate()}
      >
        Its value is gone for good.{row.used_by.length > 0 && ` ${row.used_by.join(', ')} needs it.`}
      </ConfirmDialog>
    </Card>
  );
}

function EditVariable({ name, row, onClose }: Editing & { onClose: () => void }) {
  const profile = useProfile();
  const again = useAskAgain();
  const [key, setKey] = useState(name ?? '');
  const [value, setValue] = useState('');
  const save = useMutation({
    mutationFn: () => request('PUT /api/env', { query: { profile }, body: { key: key.trim(), value } }),
    onSuccess: ({ replaced }) => {
      toast(`${key.trim()} is ${replaced ? 'replaced' : 'set'}`);
      onClose();
    },
    onSettled: again,
  });
  const keyError = key === '' || /^[A-Za-z_]\w{0,127}$/.test(key.trim()) ? undefined : 'Letters, digits and _, not beginning with a digit';
  const complete = key.trim() !== '' && !keyError && value !== '';
  return (
    <FormDialog
      onClose={onClose}
      title={name === null ? 'Add a variable' : `${row?.is_set ? 'Replace' : 'Set'} ${name}`}
      verb="Save"
      doing="Saving…"
      busy={save.isPending}
      complete={complete}
      error={save.error}
      onSubmit={() => save.mutate()}
    >
      {name === null && (
        <TextField
          label="Name"
          mono
          placeholder="MY_SERVICE_TOKEN"
          error={keyError}
          value={key}
          onChange={(event) => setKey(event.target.value)}
        />
      )}
      {row?.is_password === false ? (
        <TextField label="Value" value={value} onChange={(event) => setValue(event.target.value)} />
      ) : (
        <SecretField label="Value" hint={row?.description} value={value} onChange={(event) => setValue(event.target.value)} />
      )}
    </FormDialog>
  );
}
