/** Prompts: those in the conversation, those on their way, and those that were not taken. */
import { FileText, Image as ImageIcon, RotateCcw } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { Attachment } from '../../ipc/contracts/rpcRecords.ts';
import { fileSize, sentence } from '../app/format.ts';
import type { Outgoing } from '../sessionState.ts';
import { Button } from '../ui/button.tsx';
import { Notice } from '../ui/notice.tsx';

/** Acknowledged within milliseconds when all is well; after this long it is said that it was not. */
const LATE_MS = 4_000;

interface BubbleProps {
  text: string;
  faded?: boolean;
  files?: readonly { name: string; detail: string; isImage: boolean }[];
}

export function Bubble({ text, faded = false, files = [] }: BubbleProps) {
  return (
    <div
      className={`grid w-fit max-w-[85%] min-w-0 grid-cols-[minmax(0,auto)] gap-2 rounded-2xl rounded-br-md bg-sunken px-4 py-2.5 transition-opacity ${faded ? 'opacity-75' : ''}`}
      data-role="user"
    >
      {files.length > 0 && (
        <ul aria-label="Attached files" className="flex flex-wrap gap-1.5">
          {files.map(({ name, detail, isImage }, index) => (
            <li key={index} className="flex max-w-full items-center gap-2 rounded-lg bg-surface px-2.5 py-1 text-sm">
              {isImage ? <ImageIcon size={14} className="shrink-0 text-soft" /> : <FileText size={14} className="shrink-0 text-soft" />}
              <span className="truncate">{name}</span>
              {detail && <span className="shrink-0 text-xs text-faint">{detail}</span>}
            </li>
          ))}
        </ul>
      )}
      <p className="wrap-anywhere whitespace-pre-wrap">{text}</p>
    </div>
  );
}

export const shownFiles = (attachments: readonly Attachment[]): BubbleProps['files'] =>
  attachments.map(({ name, size, kind }) => ({ name, detail: fileSize(size), isImage: kind === 'image' }));

interface OutgoingProps {
  prompt: Outgoing;
  onRetry: () => void;
  onDiscard: () => void;
}

/** Not yet acknowledged: shown at once, a shade lighter; after a while it says so and offers to send it again. */
export function OutgoingPrompt({ prompt, onRetry, onDiscard }: OutgoingProps) {
  const { text, files, failure, messageId, sentAt } = prompt;
  const late = useLate(sentAt, messageId === null && failure === null);
  const bubble = <Bubble text={text} faded files={files.map((name) => ({ name, detail: '', isImage: false }))} />;
  if (failure) {
    return (
      <div className="grid gap-2" data-outgoing="failed">
        <div className="flex justify-end">{bubble}</div>
        <Notice tone="bad" title="This was not sent" actions={<Actions onRetry={onRetry} onDiscard={onDiscard} />}>
          {sentence(failure.message)}
          {failure.fix && ` — ${failure.fix}`}
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
