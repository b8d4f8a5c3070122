/** One use of a tool: what was called with what, how long it took, what came of it. */
import { CalendarClock, ChevronRight, FileText, NotebookPen, Plug, SquareTerminal, Wrench, type LucideIcon } from 'lucide-react';
import { memo, useState } from 'react';
import { duration } from '../app/format.ts';
import type { ToolUse } from './transcript.ts';
import { CopyButton } from '../ui/copyButton.tsx';

/** Output up to this many lines is shown without being asked for. */
const SHORT_LINES = 16;

const known: Record<string, { title: string; Icon: LucideIcon; main: string }> = {
  terminal: { title: 'Terminal', Icon: SquareTerminal, main: 'command' },
  read_file: { title: 'Read file', Icon: FileText, main: 'path' },
  memory: { title: 'Memory', Icon: NotebookPen, main: 'content' },
  cronjob: { title: 'Scheduled job', Icon: CalendarClock, main: 'schedule' },
};

export function titleOfTool(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? [];
  return known[name]?.title ?? (server && tool ? `${server} · ${tool}` : name);
}

export const ToolCard = memo(function ToolCard({ tool }: { tool: ToolUse }) {
  const [chosen, setChosen] = useState<boolean | null>(null);
  const { name, state, text } = tool;
  const Icon = known[name]?.Icon ?? (name.startsWith('mcp__') ? Plug : Wrench);
  const open = chosen ?? (text !== '' && text.split('\n', SHORT_LINES + 1).length <= SHORT_LINES);
  const args = argumentsOf(tool);
  return (
    <section
      aria-label={`Tool: ${titleOfTool(name)}`}
      data-tool={name}
      data-state={state}
      className="min-w-0 overflow-hidden rounded-xl border border-line bg-surface text-sm"
    >
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setChosen(!open)}
        className="flex h-11 w-full min-w-0 items-center gap-2.5 px-3 text-left -outline-offset-2 hover:bg-sunken"
      >
        <ChevronRight size={15} className={`shrink-0 text-faint transition-transform ${open ? 'rotate-90' : ''}`} />
        <Icon size={16} className="shrink-0 text-soft" />
        <span className="shrink-0 font-medium">{titleOfTool(name)}</span>
        <code className="min-w-0 flex-1 truncate font-mono text-[0.8125rem] text-soft">{args.main}</code>
        <Outcome tool={tool} />
      </button>
      {open && (
        <div className="border-t border-line">
          {args.rest !== null && <Section label="Arguments" text={args.rest} />}
          {text !== '' ? (
            <Section label={outputs[state]} text={text} bad={state === 'failed'} />
          ) : (
            <p className="px-4 py-3 text-faint">{silence[state]}</p>
          )}
        </div>
      )}
    </section>
  );
});

const outputs: Record<ToolUse['state'], string> = { running: 'So far', done: 'Output', failed: 'Error', cut: 'Until then' };

const silence: Record<ToolUse['state'], string> = {
  running: 'No output yet.',
  done: 'No output.',
  failed: 'It failed without a word.',
  cut: 'Cut off before it answered; what it did is unknown.',
};

function Outcome({ tool: { state, durationMs } }: { tool: ToolUse }) {
  switch (state) {
    case 'running':
      return (
        <span
          role="img"
          aria-label="running"
          className="size-3.5 shrink-0 animate-turn rounded-full border-2 border-edge border-t-accent"
        />
      );
    case 'failed':
      return <span className="shrink-0 font-medium text-bad">failed{durationMs === null ? '' : ` · ${duration(durationMs)}`}</span>;
    case 'cut':
      return <span className="shrink-0 font-medium text-warn">cut off</span>;
    case 'done':
      return <span className="shrink-0 text-faint tabular-nums">{durationMs === null ? 'done' : duration(durationMs)}</span>;
  }
}

function Section({ label, text, bad = false }: { label: string; text: string; bad?: boolean }) {
  return (
    <div className="group relative not-first:border-t not-first:border-line">
      <div className="flex h-8 items-center justify-between pr-1 pl-4 text-xs text-faint">
        {label}
        <CopyButton text={text} label={`Copy: ${label.toLowerCase()}`} />
      </div>
      <pre
        tabIndex={0}
        className={`max-h-80 overflow-auto px-4 pb-3 font-mono text-[0.8125rem] leading-relaxed break-words whitespace-pre-wrap -outline-offset-2 ${bad ? 'text-bad' : ''}`}
      >
        {text}
      </pre>
    </div>
  );
}

/** The argument that says most stands in the head; all of them below, when there is more to say. */
function argumentsOf({ name, args }: ToolUse): { main: string; rest: string | null } {
  if (typeof args !== 'object' || args === null) return { main: String(args ?? ''), rest: null };
  const entries = Object.entries(args as Record<string, unknown>);
  const key = known[name]?.main ?? entries.find(([, value]) => typeof value === 'string')?.[0];
  const value = key === undefined ? undefined : (args as Record<string, unknown>)[key];
  const main = typeof value === 'string' ? value : JSON.stringify(args);
  const whole = entries.length <= 1 && typeof value === 'string' && !value.includes('\n');
  return { main: main.split('\n', 1)[0]!, rest: whole || entries.length === 0 ? null : JSON.stringify(args, null, 2) };
}
