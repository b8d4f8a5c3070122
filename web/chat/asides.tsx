/** What stands in a conversation without being part of it: summaries, side answers, and what slash commands say. */
import { CornerDownRight, FoldVertical, SquareSlash, X } from 'lucide-react';
import { Link } from '@tanstack/react-router';
import type { Echo } from '../sessionState.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { Markdown } from './markdown.tsx';
import type { AsideItem } from './transcript.ts';

export function SummaryCard({ text }: { text: string }) {
  return (
    <details className="rounded-xl border border-dashed border-edge text-sm" data-summary="">
      <summary className="flex list-none items-center gap-2.5 px-4 py-2.5 text-soft [&::-webkit-details-marker]:hidden">
        <FoldVertical size={15} className="shrink-0" />
        <span className="flex-1">The messages above reach the model as a summary. They stay readable here.</span>
        <span className="text-accent underline underline-offset-3">Show it</span>
      </summary>
      <div className="border-t border-line px-4 py-3">
        <Markdown text={text} />
      </div>
    </details>
  );
}

/** A side question with its answer, or work in the background with its result; while it lasts, that it does. */
export function AsideCard({ item: { question, text, running, failed, sessionId } }: { item: AsideItem }) {
  const state = running ? 'Work in the background' : failed ? 'Background work did not finish' : 'Background work is done';
  return (
    <section
      aria-label={sessionId ? state : 'Side answer'}
      className="rounded-xl bg-tint px-4 py-3 text-sm"
      data-aside={running ? 'running' : 'done'}
    >
      <header className="mb-1.5 flex items-center gap-2 text-soft">
        <CornerDownRight size={15} className="shrink-0" />
        <span className="min-w-0 flex-1 font-medium wrap-anywhere">{sessionId ? state : question}</span>
        {sessionId && (
          <Link to="/chat/$sessionId" params={{ sessionId }} className="shrink-0 text-accent underline underline-offset-3">
            See the work
          </Link>
        )}
        {running ? <Turning label="under way" /> : <CopyButton text={text} label="Copy the answer" />}
      </header>
      {sessionId && question && <p className="mb-1.5 line-clamp-2 text-soft wrap-anywhere">{question}</p>}
      {!running &&
        (failed ? <p className="text-bad wrap-anywhere">{text || 'It said nothing.'}</p> : <Markdown text={text || 'It said nothing.'} />)}
    </section>
  );
}

const Turning = ({ label }: { label: string }) => (
  <span role="img" aria-label={label} className="mr-2 size-3.5 shrink-0 animate-turn rounded-full border-2 border-edge border-t-accent" />
);

interface EchoProps {
  echo: Echo;
  onPick: (line: string) => void;
  onClose: () => void;
}

export function EchoCard({ echo: { line, state, text, choices }, onPick, onClose }: EchoProps) {
  return (
    <section aria-label={`Output of ${line}`} className="rounded-xl bg-sunken text-sm" data-echo={state}>
      <header className="flex h-10 items-center gap-2.5 pr-1.5 pl-4 text-soft">
        <SquareSlash size={15} className="shrink-0" />
        <code className="min-w-0 flex-1 truncate font-mono text-[0.8125rem]">{line}</code>
        {state === 'running' ? (
          <Turning label="running" />
        ) : (
          <IconButton label="Close" onClick={onClose}>
            <X size={14} />
          </IconButton>
        )}
      </header>
      {text && (
        <pre
          tabIndex={0}
          role={state === 'failed' ? 'alert' : undefined}
          className={`max-h-96 overflow-auto px-4 pb-3 font-mono text-[0.8125rem] leading-relaxed break-words whitespace-pre-wrap -outline-offset-2 ${state === 'failed' ? 'text-bad' : ''}`}
        >
          {text}
        </pre>
      )}
      {choices.length > 0 && (
        <div className="flex flex-wrap gap-2 px-4 pb-3">
          {choices.map((choice) => (
            <Button key={choice.line} onClick={() => onPick(choice.line)}>
              {choice.label}
            </Button>
          ))}
        </div>
      )}
    </section>
  );
}
