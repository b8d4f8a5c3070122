/** One use of a tool: what was called with what, how long it takes or took, what came of it. */
import {
  CalendarClock,
  ChevronRight,
  Code2,
  FilePen,
  FileText,
  Globe,
  ListTodo,
  NotebookPen,
  Plug,
  Search,
  SquareTerminal,
  Users,
  Wrench,
  type LucideIcon,
} from 'lucide-react';
import { memo, useMemo } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { duration } from '../app/format.ts';
import { CopyButton } from '../ui/copyButton.tsx';
import { Code } from './codeBlock.tsx';
import { readDiff, type DiffFile } from './diff.ts';
import { DiffView } from './diffView.tsx';
import { languageOfFile } from './highlight.ts';
import { argumentsOf, titleOfTool } from './toolNames.ts';
import type { ToolUse } from './transcript.ts';
import { useElapsed } from './elapsed.ts';
import { useRemembered } from './remembered.ts';

/** Output up to this many lines is shown without being asked for. */
const SHORT_LINES = 16;

const icons: Readonly<Record<string, LucideIcon>> = {
  terminal: SquareTerminal,
  process: SquareTerminal,
  execute_code: Code2,
  read_file: FileText,
  write_file: FilePen,
  patch: FilePen,
  search_files: Search,
  web_search: Globe,
  web_extract: Globe,
  memory: NotebookPen,
  session_search: Search,
  cronjob: CalendarClock,
  todo: ListTodo,
  delegate_task: Users,
};

/** Tools whose results say what they changed in a file. */
const EDITING = new Set(['patch', 'write_file']);

/** Tools whose output repeats what they were called with. */
const SAYS_ALL = new Set(['todo', 'memory']);

export const ToolCard = memo(function ToolCard({ tool, messageId }: { tool: ToolUse; messageId: number }) {
  const [chosen, choose] = useRemembered(`${messageId}/${tool.id}`);
  const { name, state, text } = tool;
  const Icon = icons[name] ?? (name.startsWith('mcp__') ? Plug : Wrench);
  const diff = useMemo(() => (EDITING.has(name) && state === 'done' ? readDiff(text) : null), [name, state, text]);
  const open = chosen ?? (diff !== null || (text !== '' && text.split('\n', SHORT_LINES + 1).length <= SHORT_LINES));
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
        onClick={() => choose(!open)}
        className="flex h-11 w-full min-w-0 items-center gap-2.5 px-3 text-left -outline-offset-2 hover:bg-sunken"
      >
        <ChevronRight size={15} className={`shrink-0 text-faint transition-transform ${open ? 'rotate-90' : ''}`} />
        <Icon size={16} className="shrink-0 text-soft" />
        <span className="shrink-0 font-medium">{titleOfTool(name)}</span>
        <code className="min-w-0 flex-1 truncate font-mono text-[0.8125rem] text-soft">{visibleText(args.main)}</code>
        <Outcome tool={tool} />
      </button>
      {open && <Details tool={tool} diff={diff} args={args.rest} />}
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

function Details({ tool, diff, args }: { tool: ToolUse; diff: readonly DiffFile[] | null; args: string | null }) {
  const { name, state, text } = tool;
  if (diff) {
    return (
      <div className="border-t border-line">
        <DiffView files={diff} />
      </div>
    );
  }
  const written = name === 'write_file' ? contentOf(tool.args) : null;
  return (
    <div className="border-t border-line">
      {written && <Section label="Content" text={written.content} language={languageOfFile(written.path)} />}
      {!written && args !== null && !SAYS_ALL.has(name) && <Section label="Arguments" text={args} language="json" />}
      {text !== '' ? (
        <Section label={outputs[state]} text={text} bad={state === 'failed'} />
      ) : (
        <p className="px-4 py-3 text-faint">{silence[state]}</p>
      )}
    </div>
  );
}

function contentOf(args: unknown): { path: string; content: string } | null {
  const { path, content } = (args ?? {}) as { path?: unknown; content?: unknown };
  return typeof path === 'string' && typeof content === 'string' ? { path, content } : null;
}

function Outcome({ tool: { state, durationMs, startedAt } }: { tool: ToolUse }) {
  switch (state) {
    case 'running':
      return (
        <span className="flex shrink-0 items-center gap-2 text-faint tabular-nums">
          {startedAt !== null && <Elapsed since={startedAt} />}
          <span role="img" aria-label="running" className="size-3.5 animate-turn rounded-full border-2 border-edge border-t-accent" />
        </span>
      );
    case 'failed':
      return <span className="shrink-0 font-medium text-bad">failed{durationMs === null ? '' : ` · ${duration(durationMs)}`}</span>;
    case 'cut':
      return <span className="shrink-0 font-medium text-warn">cut off</span>;
    case 'done':
      return <span className="shrink-0 text-faint tabular-nums">{durationMs === null ? 'done' : duration(durationMs)}</span>;
  }
}

function Elapsed({ since }: { since: number }) {
  return <span aria-hidden="true">{useElapsed(since)}</span>;
}

interface SectionProps {
  label: string;
  text: string;
  language?: string;
  bad?: boolean;
}

function Section({ label, text, language = '', bad = false }: SectionProps) {
  return (
    <div className="group relative not-first:border-t not-first:border-line">
      <div className="flex h-8 items-center justify-between pr-1 pl-4 text-xs text-faint">
        {label}
        <CopyButton text={text} label={`Copy: ${label.toLowerCase()}`} />
      </div>
      <Code
        text={text}
        language={language}
        className={`max-h-80 overflow-y-auto px-4 pb-3 break-words whitespace-pre-wrap ${bad ? 'text-bad' : ''}`}
      />
    </div>
  );
}
