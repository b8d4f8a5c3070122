/** Messages as they are drawn: prompts, answers with their tools and reasoning, and what is under way. */
import { RotateCcw } from 'lucide-react';
import { memo, useEffect, useState } from 'react';
import { duration, sentence } from '../app/format.ts';
import type { Outgoing } from '../sessionLink.ts';
import { Button } from '../ui/button.tsx';
import { CopyButton } from '../ui/copyButton.tsx';
import { Command, Notice } from '../ui/notice.tsx';
import { Markdown } from './markdown.tsx';
import { ToolCard } from './toolCard.tsx';
import type { AgentItem, Failure, Item } from './transcript.ts';

interface MessageProps {
  item: Item;
  /** The prompt that this answers, to send it again. */
  prompt: string | null;
  onRetry: (text: string) => void;
}

/** An item is replaced when it changes, so it is drawn again only then. */
export const MessageItem = memo(
  function MessageItem({ item, prompt, onRetry }: MessageProps) {
    switch (item.kind) {
      case 'user':
        return <Prompt text={item.text} />;
      case 'notice':
        return <p className="text-center text-sm text-faint">{item.text}</p>;
      case 'agent':
        return <Answer item={item} prompt={prompt} onRetry={onRetry} />;
    }
  },
  (before, after) => before.item === after.item && before.prompt === after.prompt,
);

function Prompt({ text, faded = false }: { text: string; faded?: boolean }) {
  return (
    <div
      className={`ml-auto max-w-[85%] rounded-2xl rounded-br-md bg-sunken px-4 py-2.5 whitespace-pre-wrap break-words transition-opacity ${faded ? 'opacity-70' : ''}`}
      data-role="user"
    >
      {text}
    </div>
  );
}

/** Not yet acknowledged: shown at once, a shade lighter. */
export const PendingPrompt = ({ text }: { text: string }) => <Prompt text={text} faded />;

export function FailedPrompt({ prompt, onRetry, onDiscard }: { prompt: Outgoing; onRetry: () => void; onDiscard: () => void }) {
  return (
    <div className="grid gap-2">
      <Prompt text={prompt.text} faded />
      <Notice
        tone="bad"
        title="This was not accepted"
        actions={
          <span className="flex gap-2">
            <Button onClick={onRetry}>Send again</Button>
            <Button weight="quiet" onClick={onDiscard}>
              Discard
            </Button>
          </span>
        }
      >
        {sentence(prompt.failure?.message ?? '')}
        {prompt.failure?.fix && ` — ${prompt.failure.fix}`}
      </Notice>
    </div>
  );
}

function Answer({ item, prompt, onRetry }: { item: AgentItem; prompt: string | null; onRetry: (text: string) => void }) {
  const { text, reasoning, tools, end } = item;
  if (!text && !reasoning && tools.length === 0 && !end) return null;
  return (
    <article className="grid min-w-0 gap-3" data-role="assistant" aria-busy={item.streaming}>
      {reasoning && <Reasoning text={reasoning} live={item.streaming && !text && tools.length === 0} />}
      {text && <Markdown text={text} />}
      {tools.map((tool) => (
        <ToolCard key={tool.id} tool={tool} />
      ))}
      {end && end.status !== 'complete' && (
        <Ending status={end.status} failure={end.failure} onRetry={prompt === null ? undefined : () => onRetry(prompt)} />
      )}
      {end && text && <Footer text={text} durationMs={end.durationMs} />}
    </article>
  );
}

function Reasoning({ text, live }: { text: string; live: boolean }) {
  return (
    <details className="rounded-xl border border-line text-sm">
      <summary className={`px-4 py-2 text-soft marker:text-faint ${live ? 'animate-breathe' : ''}`}>
        {live ? 'Thinking' : 'What it thought'}
      </summary>
      <div className="border-t border-line px-4 py-3 whitespace-pre-wrap text-soft">{text}</div>
    </details>
  );
}

function Ending({
  status,
  failure,
  onRetry,
}: {
  status: 'interrupted' | 'error';
  failure: Failure | null;
  onRetry: (() => void) | undefined;
}) {
  const retry = onRetry && (
    <Button icon={<RotateCcw size={14} />} onClick={onRetry}>
      Send again
    </Button>
  );
  if (status === 'interrupted' && !failure) return <p className="text-sm text-faint">Stopped here.</p>;
  return (
    <Notice
      tone={status === 'error' ? 'bad' : 'warn'}
      title={status === 'error' ? 'This answer failed' : 'This answer was cut off'}
      actions={retry}
    >
      {failure && <p>{sentence(failure.message)}</p>}
      {failure?.fix && <p className="mt-1 text-soft">{sentence(failure.fix)}</p>}
      {failure && (
        <p className="mt-1">
          <Command>{failure.code}</Command>
        </p>
      )}
    </Notice>
  );
}

function Footer({ text, durationMs }: { text: string; durationMs: number | null }) {
  return (
    <div className="-mt-1 -ml-2 flex h-8 items-center gap-2 text-xs text-faint">
      <CopyButton text={text} label="Copy the answer" />
      {durationMs !== null && <span>{duration(durationMs)}</span>}
    </div>
  );
}

/** As high as the footer that takes its place, so nothing jumps when the answer is done. */
export function Working({ label, since }: { label: string; since: number }) {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const tick = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(tick);
  }, []);
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  return (
    <div role="status" className="flex h-8 items-center gap-3 text-sm text-soft" data-testid="working">
      <span className="flex gap-1" aria-hidden="true">
        {[0, 200, 400].map((delay) => (
          <span key={delay} className="size-1.5 animate-breathe rounded-full bg-accent" style={{ animationDelay: `${delay}ms` }} />
        ))}
      </span>
      <span>{label}</span>
      <span className="text-faint tabular-nums" aria-hidden="true">
        {seconds > 0 ? duration(seconds * 1_000).replace('.0', '') : ''}
      </span>
    </div>
  );
}
