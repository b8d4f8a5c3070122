/** One profile: what it is, and what can be done with it. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ExternalLink, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import type { ProfileRow } from '../../ipc/contracts/http/profiles.ts';
import { request } from '../api.ts';
import { openProfile, useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { Badge } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { modelOf } from './profileList.tsx';

interface HeadProps {
  profile: ProfileRow;
  onRenamed: (name: string) => void;
}

export function ProfileHead({ profile, onRenamed }: HeadProps) {
  const here = (useProfile() ?? 'default') === profile.name;
  const [asked, setAsked] = useState<'edit' | 'delete' | null>(null);
  const queries = useQueryClient();
  const use = useMutation({
    mutationFn: () => request('POST /api/profiles/active', { body: { name: profile.name } }),
    onSuccess: () => toast(`Commands without -p work on ${profile.name}.`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['profiles'] }),
  });
  return (
    <div className="grid gap-3">
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="text-lg font-semibold break-all">{profile.name}</h2>
        {profile.is_active && <Badge tone="neutral">Used by commands</Badge>}
        {profile.gateway_running && <Badge tone="good">Gateway running</Badge>}
      </div>
      {profile.description && <p className="text-sm break-words">{profile.description}</p>}
      <dl className="grid grid-cols-[6rem_minmax(0,1fr)] gap-x-3 gap-y-1 text-sm">
        <dt className="text-soft">Model</dt>
        <dd className="break-words">{modelOf(profile)}</dd>
        <dt className="text-soft">Skills</dt>
        <dd>{profile.skill_count}</dd>
        <dt className="text-soft">Folder</dt>
        <dd className="font-mono text-[0.8125rem] break-all">{profile.path}</dd>
      </dl>
      <div className="flex flex-wrap gap-2">
        {!here && (
          <Button weight="strong" icon={<ExternalLink size={15} aria-hidden="true" />} onClick={() => openProfile(profile.name)}>
            Open the page in it
          </Button>
        )}
        <Button icon={<Pencil size={15} aria-hidden="true" />} onClick={() => setAsked('edit')}>
          Edit
        </Button>
        {!profile.is_active && (
          <Button disabled={use.isPending} onClick={() => use.mutate()}>
            Use for commands
          </Button>
        )}
        {!profile.is_default && (
          <Button weight="quiet" icon={<Trash2 size={15} aria-hidden="true" />} onClick={() => setAsked('delete')}>
            Delete
          </Button>
        )}
      </div>
      {use.error && <Problem thrown={use.error} />}
      {asked === 'edit' && <EditDialog profile={profile} onClose={() => setAsked(null)} onRenamed={onRenamed} />}
      <DeleteDialog profile={profile} open={asked === 'delete'} onClose={() => setAsked(null)} />
    </div>
  );
}

/** Its workers have to be at rest before it is moved. */
async function stopWorkers({ name, agent_running, gateway_running }: ProfileRow): Promise<void> {
  for (const [slot, runs] of [
    [`gateway@${name}`, gateway_running],
    [`agent@${name}`, agent_running],
  ] as const) {
    if (runs) await request('POST /api/workers/:slot/stop', { params: { slot }, body: {} });
  }
}

function EditDialog({ profile, onClose, onRenamed }: HeadProps & { onClose: () => void }) {
  const queries = useQueryClient();
  const here = useProfile();
  const [name, setName] = useState(profile.name);
  const [description, setDescription] = useState(profile.description);
  const save = useMutation({
    mutationFn: async () => {
      if (description !== profile.description)
        await request('PUT /api/profiles/:name/description', { params: { name: profile.name }, body: { description } });
      if (name === profile.name) return;
      await stopWorkers(profile);
      await request('PATCH /api/profiles/:name', { params: { name: profile.name }, body: { new_name: name } });
    },
    async onSuccess() {
      await queries.invalidateQueries({ queryKey: ['profiles'] });
      if (name !== profile.name && here === profile.name) return openProfile(name);
      onRenamed(name);
      onClose();
    },
  });
  const runs = profile.agent_running || profile.gateway_running;
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit ${profile.name}`}
      verb="Save"
      doing="Saving…"
      busy={save.isPending}
      complete={name !== ''}
      error={save.error}
      onSubmit={() => save.mutate()}
    >
      <TextField
        label="Name"
        value={name}
        disabled={profile.is_default}
        literal
        hint={
          profile.is_default
            ? 'The default profile is the home itself and keeps its name.'
            : name !== profile.name && runs
              ? 'What runs of it is stopped first.'
              : 'Small letters, digits, - and _.'
        }
        onChange={(event) => setName(event.target.value)}
      />
      <TextField
        label="Description"
        value={description}
        maxLength={500}
        hint="What it is for, in a line."
        onChange={(event) => setDescription(event.target.value)}
      />
    </FormDialog>
  );
}

function DeleteDialog({ profile, open, onClose }: { profile: ProfileRow; open: boolean; onClose: () => void }) {
  const queries = useQueryClient();
  const here = useProfile();
  const remove = useMutation({
    mutationFn: async () => {
      await stopWorkers(profile);
      return request('DELETE /api/profiles/:name', { params: { name: profile.name } });
    },
    async onSuccess({ backup }) {
      if (here === profile.name) return openProfile('default');
      onClose();
      toast(`${profile.name} is deleted. It is kept in ${backup}`);
      await queries.invalidateQueries({ queryKey: ['profiles'] });
    },
  });
  const runs = profile.agent_running || profile.gateway_running;
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      title={`Delete ${profile.name}?`}
      verb="Delete"
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
    >
      Its conversations, memory, skills and settings leave the service; its folder is moved to backups/profiles of the home, where the last
      ten are kept.{runs ? ' What runs of it is stopped first.' : ''}
    </ConfirmDialog>
  );
}
