/** Messages that failed permanently: why, and the actions on each. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import type { listUndelivered } from '../../ipc/contracts/http/platforms.ts';
import { request } from '../api.ts';
import { age, sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { DataTable } from '../ui/dataTable.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Badge, Notice, type Tone } from '../ui/notice.tsx';
import { Section } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

const LOOK_MS = 10_000;

type Row = AnswerOf<typeof listUndelivered>['undelivered'][number];
type Verb = 'retry' | 'discard';

const words: Record<Row['state'], { tone: Tone; word: string }> = {
  failed: { tone: 'bad', word: 'Failed' },
  expired: { tone: 'warn', word: 'Expired' },
  uncertain: { tone: 'warn', word: 'Uncertain' },
};

export function UndeliveredList({ running }: { running: boolean }) {
  const profile = useProfile();
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ['undelivered', profile],
    queryFn: ({ signal }) => request('GET /api/messaging/undelivered', { query: { profile }, signal }),
    refetchInterval: LOOK_MS,
  });
  const settle = useMutation({
    mutationFn: ({ verb, ids }: { verb: Verb; ids: Row['id'][] }) =>
      request(`POST /api/messaging/undelivered/${verb}`, { query: { profile }, body: { ids } }),
    onSuccess: ({ done }, { verb }) =>
      toast(`${done.length} ${done.length === 1 ? 'message' : 'messages'} ${verb === 'retry' ? 'queued again' : 'discarded'}.`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['undelivered'] }),
  });
  const [discarding, setDiscarding] = useState<Row['id'][] | null>(null);
  const rows = data?.undelivered.toReversed() ?? [];
  if (error && !data) return <Problem thrown={error} />;
  if (rows.length === 0) return null;
  const busy = !running || settle.isPending;
  const buttons = (ids: Row['id'][], all = '') => (
    <span className="flex flex-wrap gap-2">
      <Button disabled={busy} onClick={() => settle.mutate({ verb: 'retry', ids })}>
        Retry{all}
      </Button>
      <Button
        weight="quiet"
        disabled={busy}
        onClick={() => {
          settle.reset();
          setDiscarding(ids);
        }}
      >
        Discard{all}
      </Button>
    </span>
  );
  return (
    <Section
      title="Undelivered messages"
      lead="Messages that failed within the last week. None is retried automatically: check the chat first."
      actions={
        rows.length > 1
          ? buttons(
              rows.map(({ id }) => id),
              ' all',
            )
          : undefined
      }
    >
      {!running && <Notice tone="neutral">Start the gateway to retry or discard them.</Notice>}
      {settle.error && <Problem thrown={settle.error} />}
      <DataTable
        label="Undelivered messages"
        rows={rows}
        keyOf={({ id }) => String(id)}
        columns={[
          { name: 'Message', cell: message },
          { name: 'Why', cell: reason },
          { name: 'Act', quiet: true, cell: ({ id }) => buttons([id]) },
        ]}
      />
      <ConfirmDialog
        open={discarding !== null}
        onClose={() => setDiscarding(null)}
        title={discarding?.length === 1 ? 'Discard this message?' : `Discard ${discarding?.length ?? 0} messages?`}
        verb="Discard"
        busy={settle.isPending}
        error={settle.variables?.verb === 'discard' ? settle.error : null}
        onConfirm={() => discarding && settle.mutate({ verb: 'discard', ids: discarding }, { onSuccess: () => setDiscarding(null) })}
      >
        It is removed from the list and never tried again.
      </ConfirmDialog>
    </Section>
  );
}

const message = ({ text, direction, target, closed_at }: Row) => (
  <div className="grid gap-0.5">
    <span className="line-clamp-3 break-words whitespace-pre-line">{text}</span>
    <span className="text-xs break-all text-soft">
      {direction === 'in' ? 'from' : 'to'} {target}, {age(closed_at) === 'now' ? 'just now' : `${age(closed_at)} ago`}
    </span>
  </div>
);

const reason = ({ state, error }: Row) => (
  <div className="grid justify-items-start gap-1">
    <Badge tone={words[state].tone}>{words[state].word}</Badge>
    <span className="text-xs break-words text-soft">{error ? sentence(error) : ''}</span>
  </div>
);
