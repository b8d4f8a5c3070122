/** Stands at the foot while something is not saved: what, when it counts, and what stands in the way. */
import { ApiError } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { ConflictNotice } from '../ui/conflictNotice.tsx';
import { Problem } from '../ui/problem.tsx';

interface SaveBarProps {
  summary: string;
  details: string;
  busy: boolean;
  /** A box holds what is no value. */
  blocked: boolean;
  error: Error | null;
  onSave: () => void;
  /** Over what somebody else wrote. */
  onSaveOver: () => void;
  onDiscard: () => void;
}

export function SaveBar({ summary, details, busy, blocked, error, onSave, onSaveOver, onDiscard }: SaveBarProps) {
  const conflict = error instanceof ApiError && error.code === 'CONFIG_CHANGED' ? error : null;
  return (
    <section
      aria-label="Unsaved changes"
      className="sticky bottom-2 z-10 grid gap-3 rounded-xl border border-edge bg-surface p-3 shadow-raised"
    >
      {conflict && <Conflict error={conflict} busy={busy} onTheirs={onDiscard} onMine={onSaveOver} />}
      {error && !conflict && <Problem thrown={error} />}
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <p className="min-w-0 flex-1 basis-48 text-sm">
          <span className="font-medium">{summary}</span> <span className="text-soft">{details}</span>
        </p>
        <div className="flex gap-2">
          <Button disabled={busy} onClick={onDiscard}>
            Discard
          </Button>
          <Button weight="strong" disabled={busy || blocked || conflict !== null} onClick={onSave}>
            {busy ? 'Saving…' : 'Save'}
          </Button>
        </div>
      </div>
    </section>
  );
}

interface ConflictProps {
  error: ApiError;
  busy: boolean;
  onTheirs: () => void;
  onMine: () => void;
}

/** Somebody else saved meanwhile: what they changed, and the two ways on. */
function Conflict({ error, busy, onTheirs, onMine }: ConflictProps) {
  return (
    <ConflictNotice file="config.yaml" busy={busy} mine="Save mine too" onTheirs={onTheirs} onMine={onMine}>
      {error.changed ? (
        <ul className="grid gap-1">
          {error.changed.slice(0, 20).map(({ key, before, after }) => (
            <li key={key} className="break-all">
              <span className="font-mono">{key}</span>: {brief(before)} → {brief(after)}
            </li>
          ))}
          {error.changed.length === 0 && <li>Only comments or the layout.</li>}
        </ul>
      ) : (
        'What they changed is not known here.'
      )}
    </ConflictNotice>
  );
}

function brief(value: unknown): string {
  if (value === null || value === undefined) return 'nothing';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
