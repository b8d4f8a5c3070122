/** What a schedule means: in words, and its next runs. Keeps its room, so that nothing jumps while one types. */
import type { Schedule } from '../../ipc/contracts/cron.ts';
import { sentence } from '../app/format.ts';
import { exactly } from './times.ts';

interface PreviewProps {
  seen: { schedule: Schedule; next: string[] } | undefined;
  /** Why there is none. */
  waiting: string;
}

export function SchedulePreview({ seen, waiting }: PreviewProps) {
  return (
    <div
      role="status"
      aria-label="Preview of the schedule"
      className="grid min-h-20 content-start gap-1 rounded-lg bg-sunken px-3 py-2 text-sm"
    >
      {seen ? (
        <>
          <p className="font-medium">{sentence(seen.schedule.words)}</p>
          <p className="text-soft">Next: {seen.next.map((at) => exactly(at, seen.schedule.timezone)).join(' · ') || 'never'}</p>
          <p className="text-xs text-soft">{seen.schedule.timezone ?? 'UTC'}</p>
        </>
      ) : (
        <p className="text-soft">{waiting}</p>
      )}
    </div>
  );
}
