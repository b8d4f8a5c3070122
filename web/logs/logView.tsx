/** A list of log lines of any length: only what is on the screen is drawn. Following stops when somebody scrolls up. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { ArrowDown } from 'lucide-react';
import { memo, useEffect, useRef, useState } from 'react';
import { visibleLines } from '../../base/visibleText.ts';
import { CopyButton } from '../ui/copyButton.tsx';
import type { LogLine } from './logLines.ts';

const ROW_PX = 28;
const NEAR_PX = 40;

interface LogViewProps {
  lines: readonly LogLine[];
  following: boolean;
  onFollow: (on: boolean) => void;
}

export function LogView({ lines, following, onFollow }: LogViewProps) {
  const outer = useRef<HTMLDivElement>(null);
  const lastTop = useRef(0);
  const [open, setOpen] = useState<number | null>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => outer.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => lines[index]!.id,
    overscan: 12,
    useFlushSync: false,
  });
  const last = lines.at(-1)?.id;
  useEffect(() => {
    if (following) rows.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [following, last, lines.length, rows]);

  const onScroll = (box: HTMLDivElement) => {
    const left = box.scrollHeight - box.scrollTop - box.clientHeight;
    const up = box.scrollTop < lastTop.current - 1;
    lastTop.current = box.scrollTop;
    if (following && up && left > NEAR_PX) onFollow(false);
    if (!following && !up && left < NEAR_PX / 8) onFollow(true);
  };

  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={outer}
        role="log"
        aria-label="Lines of the log"
        aria-live="off"
        tabIndex={0}
        className="h-full overflow-auto font-mono text-[0.8125rem] -outline-offset-2"
        onWheel={({ deltaY }) => deltaY < 0 && onFollow(false)}
        onScroll={({ currentTarget }) => onScroll(currentTarget)}
      >
        <div className="relative w-full" style={{ height: rows.getTotalSize() }}>
          {rows.getVirtualItems().map(({ index, start, key }) => {
            const line = lines[index]!;
            return (
              <div
                key={key}
                data-index={index}
                ref={rows.measureElement}
                className="absolute inset-x-0 top-0"
                style={{ transform: `translateY(${start}px)` }}
              >
                <Row line={line} open={open === line.id} onToggle={setOpen} />
              </div>
            );
          })}
        </div>
      </div>
      {!following && (
        <button
          type="button"
          onClick={() => onFollow(true)}
          className="absolute right-6 bottom-4 flex h-8 items-center gap-2 rounded-full border border-edge bg-paper px-3 text-sm font-medium shadow-raised hover:bg-sunken"
        >
          <ArrowDown size={15} /> To the newest
        </button>
      )}
    </div>
  );
}

const tones: Record<string, string> = {
  debug: 'text-faint',
  info: 'text-soft',
  warn: 'text-warn',
  error: 'text-bad',
  fatal: 'text-bad font-bold',
};

interface RowProps {
  line: LogLine;
  open: boolean;
  onToggle: (id: number | null) => void;
}

const Row = memo(function Row({ line, open, onToggle }: RowProps) {
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => onToggle(open ? null : line.id)}
        className="flex h-7 w-full items-center gap-3 px-4 text-left -outline-offset-2 hover:bg-sunken md:px-6"
      >
        <span className="shrink-0 text-faint tabular-nums">{line.time}</span>
        <span className={`w-10 shrink-0 ${tones[line.level] ?? 'text-soft'}`}>{line.level}</span>
        <span className="w-24 shrink-0 truncate text-faint max-sm:hidden">{line.component}</span>
        <span className="min-w-0 flex-1 truncate">
          {line.msg}
          {line.fields && <span className="text-faint"> {line.fields}</span>}
        </span>
      </button>
      {open && (
        <div className="flex items-start gap-2 border-y border-line bg-surface py-2 pr-3 pl-4 md:pl-6">
          <div className="min-w-0 flex-1">{line.record ? <Fields value={line.record} /> : <Words text={line.raw} />}</div>
          <CopyButton text={line.raw} label="Copy this line" />
        </div>
      )}
    </>
  );
});

/** Every field on a line of its own; what holds fields opens. */
function Fields({ value }: { value: Record<string, unknown> }) {
  return (
    <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5">
      {Object.entries(value).map(([name, field]) => (
        <div key={name} className="col-span-2 grid grid-cols-subgrid">
          <dt className="text-soft">{name}</dt>
          <dd className="min-w-0">
            <Field value={field} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Field({ value }: { value: unknown }) {
  if (typeof value !== 'object' || value === null) return <Words text={typeof value === 'string' ? value : JSON.stringify(value)} />;
  const entries = Object.entries(value);
  return (
    <details>
      <summary className="text-soft">{Array.isArray(value) ? `list of ${entries.length}` : `${entries.length} fields`}</summary>
      <Fields value={value as Record<string, unknown>} />
    </details>
  );
}

/** Always text: a log line may hold what strangers wrote. */
function Words({ text }: { text: string }) {
  return <span className="break-words whitespace-pre-wrap">{visibleLines(text)}</span>;
}
