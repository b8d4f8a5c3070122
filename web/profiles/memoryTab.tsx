/** What the agent of a profile remembers, and the writes that wait for its owner. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useId, useState, type ReactNode } from 'react';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import type { showMemory } from '../../ipc/contracts/http/memory.ts';
import { request } from '../api.ts';
import { age, sentence } from '../app/format.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { Command, Notice, WithCode } from '../ui/notice.tsx';
import { Card, Section, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

type Shown = AnswerOf<typeof showMemory>;
type Target = Shown['stores'][number]['target'];

const titles: Record<Target, { title: string; lead: string }> = {
  memory: { title: 'Notes', lead: 'What it wrote down for itself (MEMORY.md).' },
  user: { title: 'About you', lead: 'What it knows about the people it works for (USER.md).' },
};

export function MemoryTab({ profile }: { profile: string }) {
  const queries = useQueryClient();
  const [emptying, setEmptying] = useState<Target | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['memory', profile],
    queryFn: ({ signal }) => request('GET /api/memory', { query: { profile }, signal }),
    refetchInterval: 10_000,
  });
  const again = () => queries.invalidateQueries({ queryKey: ['memory', profile] });
  const reset = useMutation({
    mutationFn: (target: Target) => request('POST /api/memory/reset', { query: { profile }, body: { target } }),
    onSuccess({ kept }) {
      setEmptying(null);
      toast(kept.length > 0 ? `Emptied. What it held is in ${kept.join(', ')}` : 'It was empty.');
    },
    onSettled: again,
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  return (
    <>
      <Staged profile={profile} shown={data} />
      {data.stores.map(({ target, text, chars, cap, path }) => (
        <Section
          key={target}
          title={titles[target].title}
          lead={`${titles[target].lead} ${chars.toLocaleString()} of ${cap.toLocaleString()} characters.`}
          actions={
            text.trim() === '' ? undefined : (
              <Button
                weight="quiet"
                onClick={() => {
                  reset.reset();
                  setEmptying(target);
                }}
              >
                Empty {target === 'user' ? 'what it knows about you' : 'its notes'}
              </Button>
            )
          }
        >
          <Card>
            {text.trim() === '' ? (
              <p className="text-sm text-soft">Nothing yet.</p>
            ) : (
              <pre
                className="max-h-96 overflow-auto font-mono text-[0.8125rem] break-words whitespace-pre-wrap"
                tabIndex={0}
                aria-label={path}
              >
                {text.trimEnd()}
              </pre>
            )}
          </Card>
        </Section>
      ))}
      <ConfirmDialog
        open={emptying !== null}
        onClose={() => setEmptying(null)}
        title="Empty this memory?"
        verb="Empty"
        busy={reset.isPending}
        error={reset.error}
        onConfirm={() => emptying && reset.mutate(emptying)}
      >
        What it holds is kept in a file beside it until the next time. Conversations that run now go on with what they began with.
      </ConfirmDialog>
    </>
  );
}

function Staged({ profile, shown: { staged, write_approval } }: { profile: string; shown: Shown }) {
  const queries = useQueryClient();
  const review = useMutation({
    mutationFn: ({ decision, ids }: { decision: 'approve' | 'reject'; ids: string[] }) =>
      request('POST /api/memory/review', { query: { profile }, body: { decision, ids } }),
    onSuccess: ({ done }, { decision }) => done.length > 0 && toast(`${done.length} ${decision === 'approve' ? 'written' : 'dropped'}.`),
    onSettled: () => queries.invalidateQueries({ queryKey: ['memory', profile] }),
  });
  if (staged.length === 0) {
    if (write_approval) return <Notice tone="neutral">Nothing waits for your review.</Notice>;
    return (
      <p className="text-sm text-soft">
        The agent writes its memory by itself. With <Command>memory.write_approval: true</Command> each write waits here for you.
      </p>
    );
  }
  const all = staged.map(({ id }) => id);
  const refusals = new Map(review.data?.failed.map(({ id, message }) => [id, message]));
  const buttons = (ids: string[], suffix = '') => (
    <div className="flex flex-wrap gap-2">
      <Button weight="strong" disabled={review.isPending} onClick={() => review.mutate({ decision: 'approve', ids })}>
        Approve{suffix}
      </Button>
      <Button disabled={review.isPending} onClick={() => review.mutate({ decision: 'reject', ids })}>
        Reject{suffix}
      </Button>
    </div>
  );
  return (
    <Section
      title="Waiting for you"
      lead="Nothing of this is written until you say so."
      actions={staged.length > 1 ? buttons(all, ' all') : undefined}
    >
      {review.error && <Problem thrown={review.error} />}
      {staged.map((write) => (
        <StagedCard key={write.id} write={write} refusal={refusals.get(write.id)}>
          {buttons([write.id])}
        </StagedCard>
      ))}
    </Section>
  );
}

interface StagedCardProps {
  write: Shown['staged'][number];
  /** Why it could not be written, when that was tried. */
  refusal: string | undefined;
  children: ReactNode;
}

function StagedCard({ write: { kind, target, action, diff, created_at }, refusal, children }: StagedCardProps) {
  const name = useId();
  const since = age(created_at);
  return (
    <Card className="grid gap-3" role="group" aria-labelledby={name}>
      <p className="text-sm">
        <span id={name} className="font-medium">
          {kind === 'skill' ? `Skill ${target}` : titles[target as Target].title}: {action}
        </span>{' '}
        <span className="text-soft">{since === 'now' ? 'just now' : `${since} ago`}</span>
      </p>
      <Diff text={diff} />
      {refusal && (
        <Notice tone="bad" title="It was not written">
          <WithCode text={sentence(refusal)} />
        </Notice>
      )}
      {children}
    </Card>
  );
}

function Diff({ text }: { text: string }) {
  const lines = text.trimEnd().split('\n');
  return (
    <pre
      className="max-h-80 overflow-auto rounded-lg bg-sunken p-3 font-mono text-[0.8125rem] whitespace-pre-wrap"
      tabIndex={0}
      aria-label="What would change"
    >
      {lines.map((line, n) => (
        <span key={n} className={`block break-words ${/^(?:---|\+\+\+) /.test(line) ? 'text-soft' : (colours[line[0] ?? ''] ?? '')}`}>
          {line || ' '}
        </span>
      ))}
    </pre>
  );
}

const colours: Record<string, string> = { '+': 'text-good', '-': 'text-bad' };
