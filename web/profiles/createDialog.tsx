/** A new profile: empty, or made from another. */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { ProfileRow } from '../../ipc/contracts/http/profiles.ts';
import { request } from '../api.ts';
import { SelectField, SwitchField, TextField } from '../ui/field.tsx';
import { FormDialog } from '../ui/formDialog.tsx';
import { toast } from '../ui/toast.tsx';

interface CreateProps {
  open: boolean;
  profiles: readonly ProfileRow[];
  onClose: () => void;
  onMade: (name: string) => void;
}

const empty = { name: '', description: '', from: '', all: false };

export function CreateDialog({ open, profiles, onClose, onMade }: CreateProps) {
  const queries = useQueryClient();
  const [wish, setWish] = useState(empty);
  const create = useMutation({
    mutationFn: () =>
      request('POST /api/profiles', {
        body: {
          name: wish.name,
          ...(wish.description ? { description: wish.description } : {}),
          ...(wish.from ? { clone_from: wish.from, clone_all: wish.all } : {}),
        },
      }),
    async onSuccess({ name }) {
      await queries.invalidateQueries({ queryKey: ['profiles'] });
      toast(`${name} is made.`);
      setWish(empty);
      onMade(name);
    },
  });
  return (
    <FormDialog
      open={open}
      onClose={onClose}
      title="New profile"
      verb="Create"
      doing="Creating…"
      busy={create.isPending}
      complete={wish.name !== ''}
      error={create.error}
      onSubmit={() => create.mutate()}
    >
      <TextField
        label="Name"
        value={wish.name}
        literal
        maxLength={64}
        hint="Small letters, digits, - and _."
        onChange={(event) => setWish({ ...wish, name: event.target.value })}
      />
      <TextField
        label="Description"
        value={wish.description}
        maxLength={500}
        hint="What it is for, in a line."
        onChange={(event) => setWish({ ...wish, description: event.target.value })}
      />
      <SelectField
        label="Begin with"
        value={wish.from}
        hint={wish.from === '' ? 'An empty profile needs a model and its key.' : 'Settings, secrets, personality and skills are copied.'}
        choices={[{ value: '', label: 'Nothing' }, ...profiles.map(({ name }) => ({ value: name, label: `A copy of ${name}` }))]}
        onChange={(event) => setWish({ ...wish, from: event.target.value })}
      />
      {wish.from !== '' && (
        <SwitchField
          label="Memory and scripts too"
          hint="Conversations, jobs and logs stay with the other."
          checked={wish.all}
          onChange={(all) => setWish({ ...wish, all })}
        />
      )}
    </FormDialog>
  );
}
