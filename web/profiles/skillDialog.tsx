/** The text of a skill and of the files beside it, to be read and changed; and a new one. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError, request } from '../api.ts';
import { ConflictNotice } from '../ui/conflictNotice.tsx';
import { SelectField, TextArea, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

interface SkillProps {
  profile: string;
  name: string;
  onClose: () => void;
}

interface Draft {
  text: string;
  version: string;
}

export function SkillDialog({ profile, name, onClose }: SkillProps) {
  const queries = useQueryClient();
  const [file, setFile] = useState('SKILL.md');
  /** What was typed in each file, over which version of it. */
  const [drafts, setDrafts] = useState<Record<string, Draft | undefined>>({});
  const draft = drafts[file];
  const setDraft = (of: string, now: Draft | undefined) => setDrafts((all) => ({ ...all, [of]: now }));
  const keyOf = (of: string) => ['skill', profile, name, of];
  const { data, error, refetch } = useQuery({
    queryKey: keyOf(file),
    queryFn: ({ signal }) => request('GET /api/skills/content', { query: { profile, name, file }, signal }),
  });
  /** Named by SKILL.md alone; kept while another file is read. */
  const files = useQuery({
    queryKey: keyOf('SKILL.md'),
    queryFn: ({ signal }) => request('GET /api/skills/content', { query: { profile, name }, signal }),
  }).data?.files;
  const save = useMutation({
    mutationFn: (body: { file: string; content: string; version?: string }) =>
      request('PUT /api/skills/content', { query: { profile }, body: { name, ...body } }),
    async onSuccess(_, { file: saved }) {
      await Promise.all([
        queries.invalidateQueries({ queryKey: keyOf(saved) }),
        queries.invalidateQueries({ queryKey: ['skills', profile] }),
      ]);
      setDraft(saved, undefined);
      toast(`${name}: ${saved} is saved.`);
    },
  });
  const text = draft?.text ?? data?.content ?? '';
  const version = draft?.version ?? data?.version ?? '';
  const changed = draft !== undefined && draft.text !== data?.content;
  const conflict = save.error instanceof ApiError && save.error.code === 'CONFIG_CHANGED';
  const takeTheirs = () => {
    save.reset();
    setDraft(file, undefined);
    void refetch();
  };
  return (
    <FormDialog
      wide
      onClose={onClose}
      title={name}
      verb="Save"
      doing="Saving…"
      closeWord="Close"
      busy={save.isPending}
      complete={changed && !conflict}
      error={conflict ? null : save.error}
      onSubmit={() => save.mutate({ file, content: text, version })}
    >
      {files && files.length > 0 && (
        <SelectField
          label="File"
          value={file}
          choices={['SKILL.md', ...files.filter((one) => one !== 'SKILL.md')].map((one) => ({
            value: one,
            label: one !== file && drafts[one] ? `${one} (not saved)` : one,
          }))}
          onChange={(event) => {
            save.reset();
            setFile(event.target.value);
          }}
        />
      )}
      {error && <Problem thrown={error} />}
      {!data && !error && <Skeleton height={18} />}
      {data && (
        <TextArea
          label="Text"
          mono
          rows={16}
          value={text}
          readOnly={save.isPending}
          hint={<span className="break-all">{data.path}</span>}
          onChange={(event) => setDraft(file, { text: event.target.value, version })}
        />
      )}
      {conflict && (
        <ConflictNotice file={file} busy={save.isPending} onTheirs={takeTheirs} onMine={() => save.mutate({ file, content: text })} />
      )}
    </FormDialog>
  );
}

const template = (name: string) => `---
name: ${name}
description: When to use it, in a sentence
---

# How it is done

1.
`;

export function NewSkill({ profile, onClose }: Omit<SkillProps, 'name'>) {
  const queries = useQueryClient();
  const [name, setName] = useState('');
  const [category, setCategory] = useState('');
  const [draft, setDraft] = useState<string | null>(null);
  const content = draft ?? template(name || 'name');
  const create = useMutation({
    mutationFn: () => request('POST /api/skills', { query: { profile }, body: { name, content, ...(category ? { category } : {}) } }),
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ['skills', profile] });
      toast(`${name} is made.`);
      onClose();
    },
  });
  return (
    <FormDialog
      wide
      onClose={onClose}
      title="New skill"
      verb="Create"
      doing="Creating…"
      busy={create.isPending}
      complete={name !== ''}
      error={create.error}
      onSubmit={() => create.mutate()}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          value={name}
          literal
          hint="Small letters, digits and dashes."
          onChange={(event) => setName(event.target.value)}
        />
        <TextField
          label="Category"
          value={category}
          literal
          hint="A folder, for order; may be empty."
          onChange={(event) => setCategory(event.target.value)}
        />
      </div>
      <TextArea label="SKILL.md" mono rows={12} value={content} onChange={(event) => setDraft(event.target.value)} />
    </FormDialog>
  );
}
