/** The file itself, with line numbers; an error is shown at its line, and nobody's change is overwritten unseen. */
import { useMutation, useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import { ApiError, request } from '../api.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { Notice, WithCode } from '../ui/notice.tsx';
import { Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { savedWords } from './configForm.tsx';
import { SaveBar } from './saveBar.tsx';

/** A text that differs from the file, and the version it was made from. */
export interface YamlDraft {
  text: string;
  version: string;
}

interface EditorProps {
  draft: YamlDraft | null;
  onDraft: (draft: YamlDraft | null) => void;
  onSaved: () => Promise<void>;
}

export function YamlEditor({ draft, onDraft, onSaved }: EditorProps) {
  const profile = useProfile();
  const box = useRef<HTMLTextAreaElement>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['config', 'raw', profile],
    queryFn: ({ signal }) => request('GET /api/config/raw', { query: { profile }, signal }),
  });
  const save = useMutation({
    mutationFn: ({ over }: { over: boolean }) =>
      request('PUT /api/config/raw', {
        query: { profile },
        body: { yaml_text: draft!.text, ...(over ? {} : { version: draft!.version }) },
      }),
    onSuccess: async (answer) => {
      onDraft(null);
      await onSaved();
      toast(savedWords(answer));
    },
  });
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton height={30} />;
  const text = draft?.text ?? data.yaml;
  const refusal = save.error instanceof ApiError ? save.error : null;
  const place = refusal?.at ?? (draft ? undefined : (data.problem ?? undefined));
  const message = refusal?.at ? refusal.message.replace(/^.*?:\d+:\d+: /, '') : data.problem?.message;
  const change = (now: string) => {
    save.reset();
    onDraft(now === data.yaml ? null : { text: now, version: draft?.version ?? data.version });
  };
  return (
    <>
      <p className="text-sm text-soft">
        <span className="font-mono break-all">{data.path}</span>. Secrets stand in .env; one that stands here is shown as [redacted] and
        stays as it is.
      </p>
      {place && (
        <Notice
          tone="bad"
          title={`Line ${place.line}, column ${place.column}`}
          actions={<Button onClick={() => goTo(box.current, place)}>Go there</Button>}
        >
          {message && (
            <p>
              <WithCode text={message} />
            </p>
          )}
          {refusal?.fix && (
            <p>
              <WithCode text={refusal.fix} />
            </p>
          )}
        </Notice>
      )}
      <NumberedText text={text} box={box} wrongLine={place?.line} readOnly={save.isPending} onChange={change} />
      {draft && (
        <SaveBar
          summary="Not saved yet"
          details="It is checked before it replaces the file."
          busy={save.isPending}
          blocked={false}
          error={refusal?.at ? null : save.error}
          onSave={() => save.mutate({ over: false })}
          onSaveOver={() => save.mutate({ over: true })}
          onDiscard={() => {
            save.reset();
            onDraft(null);
            void onSaved();
          }}
        />
      )}
    </>
  );
}

interface NumberedTextProps {
  text: string;
  box: React.RefObject<HTMLTextAreaElement | null>;
  wrongLine: number | undefined;
  readOnly: boolean;
  onChange: (text: string) => void;
}

function NumberedText({ text, box, wrongLine, readOnly, onChange }: NumberedTextProps) {
  const gutter = useRef<HTMLDivElement>(null);
  const count = useMemo(() => text.split('\n').length, [text]);
  return (
    <div className="grid h-[min(70dvh,48rem)] grid-cols-[auto_minmax(0,1fr)] overflow-hidden rounded-xl border border-edge bg-paper font-mono text-[0.8125rem] leading-6">
      <div
        ref={gutter}
        aria-hidden="true"
        className="overflow-hidden border-r border-line bg-sunken py-3 text-right text-faint select-none"
      >
        {Array.from({ length: count }, (_, at) => (
          <div key={at} className={`px-3 ${at + 1 === wrongLine ? 'bg-bad-tint font-semibold text-bad' : ''}`}>
            {at + 1}
          </div>
        ))}
      </div>
      <textarea
        ref={box}
        aria-label="config.yaml"
        aria-invalid={wrongLine === undefined ? undefined : true}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        wrap="off"
        value={text}
        readOnly={readOnly}
        onChange={(event) => onChange(event.target.value)}
        onScroll={(event) => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
        className="resize-none overflow-auto bg-transparent px-3 py-3 whitespace-pre text-ink outline-offset-[-2px]"
      />
    </div>
  );
}

/** The cursor goes to the place, and the place into view. */
function goTo(box: HTMLTextAreaElement | null, { line, column }: { line: number; column: number }): void {
  if (!box) return;
  const lines = box.value.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0) + column - 1;
  box.focus();
  box.setSelectionRange(start, start);
  box.scrollTop = Math.max(0, (line - 5) * 24);
}
