/** Models of side work: what each task uses, and a pick for each. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { DataTable, type Column } from '../ui/dataTable.tsx';
import { Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { ModelPicker } from './modelPicker.tsx';
import { useAskAgain, useAuxiliary, type Answer } from './queries.ts';

type Side = Answer<'GET /api/model/auxiliary'>['tasks'][number];

const words: Record<Side['task'], { name: string; about: string }> = {
  compression: { name: 'Compression', about: 'sums up long conversations' },
  title: { name: 'Titles', about: 'names conversations' },
  btw: { name: 'Side questions', about: '/btw, beside what runs' },
  web_extract: { name: 'Web pages', about: 'takes out what was asked for' },
  vision: { name: 'Images', about: 'describes them to a model that does not see' },
  delegation: { name: 'Delegation', about: 'does what the agent hands on' },
};

export function SideWork() {
  const profile = useProfile();
  const again = useAskAgain();
  const { data, error, refetch } = useAuxiliary();
  const [picking, setPicking] = useState<Side | null>(null);
  const takeBack = useMutation({
    mutationFn: (task: Side['task'] | '__reset__') =>
      request('POST /api/model/set', { query: { profile }, body: { scope: 'auxiliary', task, model: 'default' } }),
    onSuccess: ({ tasks }) => toast(tasks.length > 1 ? 'Side work is done by the main model' : 'Done by the main model again'),
    onSettled: again,
  });
  const own = data?.tasks.some(({ model, provider }) => model ?? provider);
  return (
    <Section
      title="Side work"
      lead="A smaller model may do these. What has none of its own is done by the main model."
      actions={
        own && (
          <Button disabled={takeBack.isPending} onClick={() => takeBack.mutate('__reset__')}>
            Main model for all
          </Button>
        )
      }
    >
      {error && !data && <Problem thrown={error} onRetry={() => void refetch()} />}
      {takeBack.error && <Problem thrown={takeBack.error} />}
      {!data && !error && <Skeleton height={18} />}
      {data && (
        <DataTable
          label="Side work"
          rows={data.tasks}
          keyOf={({ task }) => task}
          columns={columnsOf({ busy: takeBack.isPending, onTakeBack: (task) => takeBack.mutate(task), onPick: setPicking })}
        />
      )}
      <ModelPicker
        open={picking !== null}
        onClose={() => setPicking(null)}
        purpose={{ scope: 'auxiliary', task: picking?.task ?? 'title' }}
        current={picking}
      />
    </Section>
  );
}

interface RowActions {
  busy: boolean;
  onTakeBack: (task: Side['task']) => void;
  onPick: (row: Side) => void;
}

const columnsOf = ({ busy, onTakeBack, onPick }: RowActions): Column<Side>[] => [
  {
    name: 'Task',
    cell: ({ task }) => (
      <>
        {words[task].name} <span className="text-soft">{words[task].about}</span>
      </>
    ),
  },
  {
    name: 'Model',
    cell: ({ provider, model, reasoning_effort: effort }) => (
      <span className="break-all">
        {model || provider ? (
          <span className="font-mono">{[provider, model].filter(Boolean).join(':')}</span>
        ) : (
          <span className="text-soft">as the main model</span>
        )}
        {effort && <span className="text-soft">, thinks {effort}</span>}
      </span>
    ),
  },
  {
    name: 'Actions',
    quiet: true,
    cell: (row) => (
      <div className="flex justify-end gap-2 max-md:justify-start">
        {(row.model ?? row.provider) && (
          <Button
            weight="quiet"
            aria-label={`${words[row.task].name}: back to the main model`}
            disabled={busy}
            onClick={() => onTakeBack(row.task)}
          >
            Main model
          </Button>
        )}
        <Button aria-label={`Choose the model for ${words[row.task].name.toLowerCase()}`} onClick={() => onPick(row)}>
          Choose
        </Button>
      </div>
    ),
  },
];
