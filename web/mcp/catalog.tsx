/** The catalogue: what there is, what it needs, and installing it with its progress in view. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { useDeferredValue, useEffect, useState } from 'react';
import type { McpCatalogEntry } from '../../ipc/contracts/http/mcp.ts';
import { ApiError, request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { SecretField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Badge, Notice } from '../ui/notice.tsx';
import { Empty, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { fieldErrors, useCatalog, useRefresh } from './mcpData.ts';

export function Catalog({ onInstalled }: { onInstalled: () => void }) {
  const { data, error } = useCatalog();
  const [words, setWords] = useState('');
  const [chosen, setChosen] = useState<McpCatalogEntry | null>(null);
  const wanted = useDeferredValue(words.trim().toLowerCase());
  if (error && !data) return <Problem thrown={error} />;
  if (!data) return <Skeleton height={20} />;
  const found = data.entries.filter(({ name, title, description, category }) =>
    `${name} ${title} ${description} ${category}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <label className="flex h-9 max-w-md items-center gap-2 rounded-lg border border-edge bg-paper px-3 text-sm focus-within:outline-2 focus-within:outline-accent">
        <Search size={16} className="text-soft" aria-hidden="true" />
        <input
          type="search"
          aria-label="Search the catalogue"
          placeholder="Search the catalogue"
          value={words}
          onChange={(event) => setWords(event.target.value)}
          className="min-w-0 flex-1 bg-transparent outline-none placeholder:text-faint"
        />
      </label>
      {found.length === 0 && <Empty title="Nothing like that">Any other server can be added by its command or its address.</Empty>}
      <ul aria-label="Catalogue" className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {found.map((entry) => (
          <li key={entry.name} className="grid content-start gap-1 rounded-xl border border-line bg-surface p-4">
            <span className="text-xs text-soft">{entry.category}</span>
            <span className="flex flex-wrap items-center gap-2">
              <span className="font-medium">{entry.title}</span>
              {entry.installed && <Badge tone="good">installed</Badge>}
              {entry.needs_sign_in && <Badge tone="warn">needs sign-in</Badge>}
            </span>
            <span className="text-sm text-soft">{entry.description}</span>
            <span className="font-mono text-xs text-soft [overflow-wrap:anywhere]">{entry.source}</span>
            <span className="mt-2 flex items-center gap-3">
              <Button disabled={entry.installed} aria-label={`Install ${entry.title}`} onClick={() => setChosen(entry)}>
                Install
              </Button>
              <a href={entry.homepage} target="_blank" rel="noreferrer" className="text-sm text-accent underline-offset-2 hover:underline">
                About it<span className="sr-only">: {entry.title}</span>
              </a>
            </span>
          </li>
        ))}
      </ul>
      {chosen && (
        <Install
          entry={chosen}
          onClose={() => setChosen(null)}
          onInstalled={() => {
            setChosen(null);
            onInstalled();
          }}
        />
      )}
    </>
  );
}

function Install({ entry, onClose, onInstalled }: { entry: McpCatalogEntry; onClose: () => void; onInstalled: () => void }) {
  const profile = useProfile();
  const [values, setValues] = useState<Record<string, string>>({});
  const start = useMutation({
    mutationFn: () => {
      const env = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ''));
      return request('POST /api/mcp/catalog/install', { body: { name: entry.name, env, profile } });
    },
  });
  const errors = fieldErrors(start.error);
  const elsewhere = start.error && !entry.fields.some(({ name }) => `env.${name}` in errors);
  const change = (name: string) => (event: { target: { value: string } }) => {
    setValues({ ...values, [name]: event.target.value });
    start.reset();
  };
  return (
    <FormDialog
      onClose={onClose}
      title={`Install ${entry.title}`}
      verb={start.data ? undefined : 'Install'}
      doing="Starting…"
      closeWord={start.data ? 'Close' : 'Cancel'}
      busy={start.isPending}
      error={elsewhere ? start.error : null}
      onSubmit={() => start.mutate()}
    >
      <p className="text-sm text-soft">{entry.description}</p>
      {entry.needs_sign_in && (
        <Notice tone="warn">It asks for a sign-in in the browser, which this release cannot do yet: it will show “needs sign-in”.</Notice>
      )}
      {!start.data &&
        entry.fields.map(({ name, label, help, secret, set, default: preset, optional }) => {
          const shared = {
            label: optional ? `${label} (may stay empty)` : label,
            hint: set ? 'It is in .env already; leave it empty to keep it.' : help,
            value: values[name] ?? preset ?? '',
            onChange: change(name),
            error: errors[`env.${name}`],
          };
          return secret ? <SecretField key={name} {...shared} /> : <TextField key={name} {...shared} mono />;
        })}
      {!start.data && entry.transport === 'stdio' && (
        <p className="text-sm text-soft">
          <span className="font-mono text-xs">{entry.source}</span> is fetched from npm and runs on this machine with your rights.
        </p>
      )}
      {start.data && <Progress title={entry.title} action={start.data.action} onInstalled={onInstalled} />}
    </FormDialog>
  );
}

/** A dashboard that was restarted knows nothing of what the one before it ran. */
const isForgotten = (thrown: Error | null): boolean => thrown instanceof ApiError && thrown.status === 404;

/** Polled while it runs; the window may be closed, the work goes on. */
const LOOK_MS = 700;

function Progress({ title, action, onInstalled }: { title: string; action: string; onInstalled: () => void }) {
  const refresh = useRefresh();
  const { data, error } = useQuery({
    queryKey: ['action', action],
    queryFn: ({ signal }) => request('GET /api/actions/:name/status', { params: { name: action }, query: { lines: 200 }, signal }),
    refetchInterval: ({ state }) => (state.data?.running === false || isForgotten(state.error) ? false : LOOK_MS),
    gcTime: 0,
  });
  const forgotten = isForgotten(error);
  const over = data?.running === false;
  const ok = over && data.exit_code === 0;
  useEffect(() => {
    if (!over) return;
    void refresh();
    if (!ok) return;
    toast(`${title} is installed.`);
    onInstalled();
    // Once, at its end.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [over, ok]);
  return (
    <div className="grid gap-2">
      {error && !data && !forgotten && <Problem thrown={error} />}
      <p role="status" className="text-sm font-medium">
        {over
          ? ok
            ? 'It is installed.'
            : 'It could not be installed.'
          : forgotten
            ? 'How far it came is not known.'
            : 'Working; this may take a minute.'}
      </p>
      {forgotten && (
        <Notice tone="warn">
          The dashboard was restarted meanwhile, and the installation ended. See whether it stands under Servers; if not, install it again.
        </Notice>
      )}
      <pre
        tabIndex={0}
        aria-label="Progress"
        className={`max-h-64 min-h-24 overflow-auto rounded-lg p-3 font-mono text-xs whitespace-pre-wrap [overflow-wrap:anywhere] ${over && !ok ? 'bg-bad-tint' : 'bg-sunken'}`}
      >
        {data?.lines.join('\n') ?? ''}
        {data?.error ? `\n${data.error}` : ''}
      </pre>
    </div>
  );
}
