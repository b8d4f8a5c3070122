/** The personality of a profile: the text of its SOUL.md. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError, request } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { ConflictNotice } from '../ui/conflictNotice.tsx';
import { TextArea } from '../ui/field.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';

/** What was typed, over which version. */
export interface SoulDraft {
  text: string;
  version: string;
}

interface SoulProps {
  profile: string;
  /** Null = nothing yet, and the file is shown as it is. */
  draft: SoulDraft | null;
  onDraft: (draft: SoulDraft | null) => void;
}

export function SoulTab({ profile, draft, onDraft: setDraft }: SoulProps) {
  const queries = useQueryClient();
  const params = { name: profile };
  const { data, error, refetch } = useQuery({
    queryKey: ['soul', profile],
    queryFn: ({ signal }) => request('GET /api/profiles/:name/soul', { params, signal }),
  });
  const save = useMutation({
    mutationFn: (body: { content: string; version?: string }) => request('PUT /api/profiles/:name/soul', { params, body }),
    onSuccess(saved) {
      queries.setQueryData(['soul', profile], saved);
      setDraft(null);
      toast('Saved. New conversations have it.');
    },
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={20} />;
  const text = draft?.text ?? data.content;
  const version = draft?.version ?? data.version;
  const changed = draft !== null && text !== data.content;
  const conflict = save.error instanceof ApiError && save.error.code === 'CONFIG_CHANGED';
  const takeTheirs = () => {
    save.reset();
    setDraft(null);
    void refetch();
  };
  return (
    <div className="grid gap-3">
      <TextArea
        label="Personality"
        mono
        rows={14}
        value={text}
        readOnly={save.isPending}
        maxLength={100_000}
        placeholder="You are …"
        hint={`Every conversation begins with this text (SOUL.md)${data.exists ? '' : '; while it is empty, the built-in one counts'}.`}
        onChange={(event) => setDraft({ text: event.target.value, version })}
      />
      {conflict && (
        <ConflictNotice file="SOUL.md" busy={save.isPending} onTheirs={takeTheirs} onMine={() => save.mutate({ content: text })} />
      )}
      {save.error && !conflict && <Problem thrown={save.error} />}
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto text-xs text-soft">{text.length.toLocaleString()} characters</span>
        <Button disabled={!changed} onClick={takeTheirs}>
          Undo changes
        </Button>
        <Button weight="strong" disabled={!changed || save.isPending || conflict} onClick={() => save.mutate({ content: text, version })}>
          {save.isPending ? 'Saving…' : 'Save'}
        </Button>
      </div>
    </div>
  );
}
