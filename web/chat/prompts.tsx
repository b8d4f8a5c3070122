/** Prompts: those in the conversation, those on their way, and those that were not taken. */
import { FileText, RotateCcw } from 'lucide-react';
import { useEffect, useState, type ReactNode } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { sentence } from '../app/format.ts';
import type { Outgoing } from '../sessionState.ts';
import { Button } from '../ui/button.tsx';
import { Notice, WithCode } from '../ui/notice.tsx';

/** Acknowledged within milliseconds when all is well; after this long it is said that it was not. */
const LATE_MS = 4_000;

interface BubbleProps {
  text: string;
  faded?: boolean;
  /** What goes with the text, above it. */
  children?: ReactNode;
}

export function Bubble({ text, faded = false, children }: BubbleProps) {
  return (
    <div
      className={`grid w-fit max-w-[85%] min-w-0 grid-cols-[minmax(0,auto)] gap-2 rounded-2xl rounded-br-md bg-sunken px-4 py-2.5 transition-opacity ${faded ? 'opacity-75' : ''}`}
      data-role="user"
    >
      {children}
      <p dir="auto" className="wrap-anywhere whitespace-pre-wrap">
        {text}
      </p>
    </div>
  );
}

/** Files on their way: the service has not said yet what they are. */
function FileNames({ names }: { names: readonly string[] }) {
  return (
    <ul aria-label="Attached files" className="flex flex-wrap gap-1.5">
      {names.map((name, index) => (
        <li key={index} className="flex max-w-full items-center gap-2 rounded-lg bg-surface px-2.5 py-1 text-sm">
          <FileText size={14} className="shrink-0 text-soft" />
          <span className="truncate">{visibleText(name)}</span>
        </li>
      ))}
    </ul>
  );
}

interface OutgoingProps {
  prompt: Outgoing;
  onRetry: () => void;
  onDiscard: () => void;
}

/** Not yet acknowledged: shown at once, a shade lighter; after a while it says so and offers to send it again. */
export function OutgoingPrompt({ prompt, onRetry, onDiscard }: OutgoingProps) {
  const { text, files, failure, messageId, sentAt } = prompt;
  const late = useLate(sentAt, messageId === null && failure === null);
  const bubble = (
    <Bubble text={text} faded>
      {files.length > 0 && <FileNames names={files} />}
    </Bubble>
  );
  if (failure) {
    return (
      <div className="grid gap-2" data-outgoing="failed">
        <div className="flex justify-end">{bubble}</div>
        <Notice tone="bad" title="This was not sent" actions={<Actions onRetry={onRetry} onDiscard={onDiscard} />}>
          <WithCode text={`${sentence(failure.message)}${failure.fix ? ` — ${failure.fix}` : ''}`} />
        </Notice>
      </div>
    );
  }
  return (
    <div className="grid gap-1" data-outgoing={late ? 'late' : 'sending'}>
      <div className="flex justify-end">{bubble}</div>
      {late && (
        <p role="status" className="flex flex-wrap items-center justify-end gap-x-3 gap-y-1 text-sm text-warn">
          Not sent yet. It goes out by itself when the service is back.
          <Actions onRetry={onRetry} onDiscard={onDiscard} />
        </p>
      )}
    </div>
  );
}

function Actions({ onRetry, onDiscard }: { onRetry: () => void; onDiscard: () => void }) {
  return (
    <span className="flex gap-2">
      <Button icon={<RotateCcw size={14} />} onClick={onRetry}>
        Send again
      </Button>
      <Button weight="quiet" onClick={onDiscard}>
        Discard
      </Button>
    </span>
  );
}

function useLate(sentAt: number, waiting: boolean): boolean {
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!waiting) return;
    const later = setTimeout(() => setLate(true), Math.max(0, sentAt + LATE_MS - Date.now()));
    return () => clearTimeout(later);
  }, [sentAt, waiting]);
  return late && waiting;
}
