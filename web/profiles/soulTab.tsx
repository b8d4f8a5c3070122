/** The personality of a profile: the text of its SOUL.md. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { TextArea } from '../ui/field.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

export function SoulTab({ profile }: { profile: string }) {
  const queries = useQueryClient();
  const params = { name: profile };
  const { data, error, refetch } = useQuery({
    queryKey: ['soul', profile],
    queryFn: ({ signal }) => request('GET /api/profiles/:name/soul', { params, signal }),
  });
  /** What was typed; null = nothing yet, and the file is shown as it is. */
  const [draft, setDraft] = useState<string | null>(null);
  const save = useMutation({
    mutationFn: (content: string) => request('PUT /api/profiles/:name/soul', { params, body: { content } }),
    onSuccess(saved) {
      queries.setQueryData(['soul', profile], saved);
      setDraft(null);
      toast('Saved. New conversations have it.');
    },
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={20} />;
  const text = draft ?? data.content;
  const changed = draft !== null && draft !== data.content;
  return (
    <div className="grid gap-3">
      <TextArea
        label="Personality"
        mono
        rows={14}
        value={text}
        maxLength={100_000}
        placeholder="You are …"
        hint={`Every conversation begins with this text (SOUL.md)${data.exists ? '' : '; while it is empty, the built-in one counts'}.`}
        onChange={(event) => setDraft(event.target.value)}
      />
      {save.error && <Problem thrown={save.error} />}
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto text-xs text-soft">{text.length.toLocaleString()} characters</span>
        <Button disabled={!changed} onClick={() => setDraft(null)}>
          Undo changes
        </Button>
        <Button weight="strong" disabled={!changed || save.isPending} onClick={() => save.mutate(text)}>
          {save.isPending ? 'Saving…' : 'Save'}
        </Button>
      </div>
    </div>
  );
}
