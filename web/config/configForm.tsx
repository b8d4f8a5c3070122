/** The form: fields by category, search, only what is set; saved together, against the version it was read from. */
import { useMutation } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import type { RouteKey, RouteOf } from '../../ipc/contracts/http/table.ts';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import { ApiError, request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { SelectField, SwitchField, TextField } from '../ui/field.tsx';
import { Empty, Section } from '../ui/place.tsx';
import { toast } from '../ui/toast.tsx';
import { ConfigField } from './configField.tsx';
import { SaveBar } from './saveBar.tsx';
import { patchOf, valueAt, whenInForce, type Draft } from './values.ts';

type Answer<K extends RouteKey> = AnswerOf<RouteOf<K>>;
type Schema = Answer<'GET /api/config/schema'>;

interface FormProps {
  config: Answer<'GET /api/config'>;
  schema: Schema;
  /** What the draft was made from. */
  version: string;
  draft: Draft;
  onDraft: (draft: Draft) => void;
  onSaved: () => Promise<void>;
  onYaml: () => void;
}

export function ConfigForm({ config, schema, version, draft, onDraft, onSaved, onYaml }: FormProps) {
  const profile = useProfile();
  const [search, setSearch] = useState('');
  const [onlySet, setOnlySet] = useState(false);
  const [category, setCategory] = useState('');
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({});
  const words = useDeferredValue(search).toLowerCase().split(/\s+/).filter(Boolean);
  const save = useMutation({
    mutationFn: ({ over }: { over: boolean }) =>
      request('PUT /api/config', { query: { profile }, body: { config: patchOf(draft), ...(over ? {} : { version }) } }),
    onSuccess: async (answer) => {
      onDraft({});
      await onSaved();
      toast(savedWords(answer));
    },
  });
  const isSet = (key: string) => key in draft || valueAt(config.config, key) !== undefined;
  const matches = (key: string): boolean => {
    const { label, description } = schema.fields[key]!;
    const text = `${key} ${label} ${description}`.toLowerCase();
    return words.every((word) => text.includes(word)) && (!onlySet || isSet(key));
  };
  const shown = Object.keys(schema.fields).filter(matches);
  const inCategory = (name: string) => shown.filter((key) => schema.fields[key]!.category === name);
  const narrowed = words.length > 0 || onlySet;
  const categories = schema.category_order.filter((name) => inCategory(name).length > 0 && (narrowed || !category || name === category));
  const changes = Object.keys(draft);
  const serverWrong = save.error instanceof ApiError ? save.error.at : undefined;
  const change = (key: string, value: unknown, error?: string) => {
    save.reset();
    setWrong(({ [key]: _old, ...others }) => (error ? { ...others, [key]: error } : others));
    const { [key]: _before, ...others } = draft;
    const same = value === null && valueAt(config.config, key) === undefined;
    onDraft(same && !error ? others : { ...others, [key]: value });
  };
  return (
    <>
      <div className="grid gap-4 rounded-xl border border-line bg-surface p-4 sm:grid-cols-[minmax(0,1fr)_minmax(0,14rem)]">
        <TextField
          label="Search"
          type="search"
          placeholder="A key, or what it does"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
        <SelectField
          label="Category"
          value={category}
          disabled={narrowed}
          onChange={(event) => setCategory(event.target.value)}
          choices={[
            { value: '', label: 'All' },
            ...schema.category_order.map((name) => ({ value: name, label: schema.category_labels[name] ?? name })),
          ]}
        />
        <div className="sm:col-span-2">
          <SwitchField label="Only what is set" hint="Everything else stands at its default." checked={onlySet} onChange={setOnlySet} />
        </div>
      </div>
      {categories.length === 0 && (
        <Empty title={onlySet && words.length === 0 ? 'Nothing is set' : 'No setting is called that'}>
          {onlySet ? 'Every setting stands at its default.' : 'Search for a part of its name, or of what it does.'}
        </Empty>
      )}
      {categories.map((name) => (
        <Section key={name} title={schema.category_labels[name] ?? name}>
          <div className="divide-y divide-line rounded-xl border border-line bg-surface">
            {inCategory(name).map((key) => (
              <ConfigField
                key={key}
                name={key}
                field={schema.fields[key]!}
                value={valueAt(config.config, key)}
                draft={draft}
                error={wrong[key] ?? (serverWrong?.key === key ? save.error?.message.replace(/^.*?:\d+:\d+: /, '') : undefined)}
                disabled={config.problem !== null || save.isPending}
                onChange={(value, error) => change(key, value, error)}
                onYaml={onYaml}
              />
            ))}
          </div>
        </Section>
      ))}
      {changes.length > 0 && (
        <SaveBar
          summary={`${changes.length} ${changes.length === 1 ? 'change' : 'changes'}`}
          details={[...new Set(changes.map((key) => whenInForce(schema.fields[key]!)))].join('; ')}
          busy={save.isPending}
          blocked={Object.keys(wrong).length > 0}
          error={save.error}
          onSave={() => save.mutate({ over: false })}
          onSaveOver={() => save.mutate({ over: true })}
          onDiscard={() => {
            save.reset();
            setWrong({});
            onDraft({});
            void onSaved();
          }}
        />
      )}
    </>
  );
}

export function savedWords({ changed, restarts, restart_required: later }: Answer<'PUT /api/config'>): string {
  if (changed.length === 0) return 'Saved; nothing changed';
  if (later.length > 0) return `Saved. ${later.join(', ')} counts with the next start of the service (agent down, agent up)`;
  return restarts.length > 0 ? `Saved. A running service restarts ${restarts.join(', ')} by itself` : 'Saved, and in effect';
}
