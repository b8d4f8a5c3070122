/** What is being waited for, and for how long. As high as the footer that takes its place, so nothing jumps when the answer is done. */
import { useElapsed } from './elapsed.ts';

export function WorkLine({ label, since }: { label: string; since: number }) {
  const elapsed = useElapsed(since);
  return (
    <div role="status" className="flex h-8 items-center gap-3 text-sm text-soft" data-testid="working">
      <span className="flex gap-1" aria-hidden="true">
        {[0, 200, 400].map((delay) => (
          <span key={delay} className="size-1.5 animate-breathe rounded-full bg-accent" style={{ animationDelay: `${delay}ms` }} />
        ))}
      </span>
      <span>{label}</span>
      <span className="text-faint tabular-nums" aria-hidden="true">
        {elapsed}
      </span>
    </div>
  );
}
