/** The logs as they are written: one file at a time, from a level on, with whatever a line holds behind a click. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useEffect, useRef, useState } from 'react';
import { PlaceHeader } from '../app/header.tsx';
import { useLogLines, type LogLine } from './logLines.ts';

const files = ['agent', 'gui', 'gateway', 'cron', 'mcp', 'terminal', 'supervisor', 'errors'] as const;
const levels = ['debug', 'info', 'warn', 'error'] as const;
const ROW_PX = 28;
const NEAR_PX = 40;

export function LogsPlace() {
  const [file, setFile] = useState<string>('agent');
  const [level, setLevel] = useState<string>('info');
  const [search, setSearch] = useState('');
  const [following, setFollowing] = useState(true);
  const { lines, connected } = useLogLines(file, level);
  const wanted = search.trim().toLowerCase();
  const shown = wanted === '' ? lines : lines.filter(({ raw }) => raw.toLowerCase().includes(wanted));

  return (
    <>
      <PlaceHeader title="Logs" />
      <main className="flex min-h-0 flex-1 flex-col">
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-4 py-2 md:px-6">
          <Choice label="File" value={file} options={files} onChange={setFile} />
          <Choice label="From level" value={level} options={levels} onChange={setLevel} />
          <input
            type="search"
            aria-label="Search in the lines"
            placeholder="Search"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
            className="h-8 min-w-32 flex-1 rounded-lg bg-sunken px-3 text-sm placeholder:text-faint"
          />
          <label className="flex h-8 items-center gap-2 px-1 text-sm">
            <input
              type="checkbox"
              checked={following}
              onChange={(event) => setFollowing(event.target.checked)}
              className="size-4 accent-accent"
            />
            Follow
          </label>
        </div>
        {shown.length > 0 ? (
          <Lines lines={shown} following={following} onFollow={setFollowing} />
        ) : (
          <p className="p-6 text-sm text-faint">
            {!connected ? 'Connecting…' : wanted ? 'No line holds that.' : 'Nothing has been written here at this level.'}
          </p>
        )}
      </main>
    </>
  );
}

function Choice({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly string[];
  onChange: (value: string) => void;
}) {
  return (
    <label className="flex items-center gap-2 text-sm text-soft">
      <span className="max-sm:sr-only">{label}</span>
      <select
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className="h-8 rounded-lg border border-edge bg-surface px-2 text-ink"
      >
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  );
}

function Lines({ lines, following, onFollow }: { lines: readonly LogLine[]; following: boolean; onFollow: (on: boolean) => void }) {
  const outer = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<number | null>(null);
  const rows = useVirtualizer({
    count: lines.length,
    getScrollElement: () => outer.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => lines[index]!.id,
    overscan: 20,
  });
  const last = lines.at(-1)?.id;
  useEffect(() => {
    if (following) rows.scrollToIndex(lines.length - 1, { align: 'end' });
  }, [following, last, lines.length, rows]);

  return (
    <div
      ref={outer}
      role="log"
      aria-label="Lines of the log"
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto font-mono text-[0.8125rem] -outline-offset-2"
      onWheel={({ deltaY }) => deltaY < 0 && onFollow(false)}
      onScroll={({ currentTarget: box }) => {
        if (!following && box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_PX / 8) onFollow(true);
      }}
    >
      <div className="relative w-full" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start, key }) => (
          <div
            key={key}
            data-index={index}
            ref={rows.measureElement}
            className="absolute inset-x-0"
            style={{ transform: `translateY(${start}px)` }}
          >
            <Line
              line={lines[index]!}
              open={open === lines[index]!.id}
              onToggle={() => setOpen(open === lines[index]!.id ? null : lines[index]!.id)}
            />
          </div>
        ))}
      </div>
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

function Line({ line, open, onToggle }: { line: LogLine; open: boolean; onToggle: () => void }) {
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={onToggle}
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
        <pre className="overflow-x-auto border-y border-line bg-surface px-4 py-3 break-words whitespace-pre-wrap md:px-6">
          {line.whole()}
        </pre>
      )}
    </>
  );
}
