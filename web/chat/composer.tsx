/** Where one writes: Enter sends, Shift+Enter makes a line. What waits, and what answers, is said above it. */
import { ArrowUp, Square } from 'lucide-react';
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react';
import { Notice } from '../ui/notice.tsx';

const HEIGHT_MAX_PX = 240;

export interface ComposerProps {
  /** Drafts are kept under this name for the tab. */
  draftKey: string;
  working: boolean;
  onSubmit: (text: string) => void;
  onStop?: () => void;
  queued?: readonly { id: number; text: string }[];
  notice?: ReactNode;
  failure?: string | null;
}

export function Composer({ draftKey, working, onSubmit, onStop, queued = [], notice, failure = null }: ComposerProps) {
  const [text, setText] = useDraft(draftKey);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    const area = box.current!;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, HEIGHT_MAX_PX)}px`;
  }, [text]);
  useEffect(() => {
    // A keyboard that opens by itself would hide half of a phone.
    if (matchMedia('(pointer: fine)').matches) box.current?.focus();
  }, [draftKey]);

  const send = () => {
    if (text.trim() === '') return;
    onSubmit(text.trim());
    setText('');
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <div className="mx-auto grid w-full max-w-3xl gap-2 px-4 pt-2 pb-4 md:px-6">
      {failure && <Notice tone="bad">{failure}</Notice>}
      {queued.length > 0 && <Queue queued={queued} />}
      {notice}
      <form
        className="grid rounded-2xl border border-edge bg-surface shadow-raised focus-within:border-accent"
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          ref={box}
          rows={1}
          value={text}
          aria-label="Message"
          placeholder={working ? 'Write the next message; it waits its turn' : 'Write a message'}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          className="max-h-60 w-full resize-none bg-transparent px-4 pt-3 pb-1 placeholder:text-faint"
        />
        <div className="flex h-12 items-center justify-end gap-2 pr-2 pl-4">
          <p className="hidden flex-1 text-xs text-faint sm:block">
            <kbd>Enter</kbd> sends · <kbd>Shift Enter</kbd> new line{working && onStop ? ' · ' : ''}
            {working && onStop && <kbd>Esc</kbd>}
            {working && onStop && ' stops'}
          </p>
          {working && onStop && (
            <RoundButton label="Stop the answer" onClick={onStop} className="border border-edge text-ink hover:bg-sunken">
              <Square size={13} fill="currentColor" />
            </RoundButton>
          )}
          <RoundButton
            label={working ? 'Send: it waits its turn' : 'Send'}
            type="submit"
            disabled={text.trim() === ''}
            className="bg-accent text-on-accent hover:bg-accent-strong disabled:bg-sunken disabled:text-faint"
          >
            <ArrowUp size={18} />
          </RoundButton>
        </div>
      </form>
    </div>
  );
}

interface RoundButtonProps {
  label: string;
  children: ReactNode;
  className: string;
  type?: 'button' | 'submit';
  disabled?: boolean;
  onClick?: () => void;
}

function RoundButton({ label, children, className, type = 'button', ...rest }: RoundButtonProps) {
  return (
    <button
      type={type}
      aria-label={label}
      title={label}
      className={`inline-flex size-9 items-center justify-center rounded-full transition-colors ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}

function Queue({ queued }: { queued: readonly { id: number; text: string }[] }) {
  return (
    <ol aria-label="Waiting messages" className="grid max-h-32 gap-1 overflow-y-auto rounded-xl bg-sunken px-4 py-2 text-sm">
      {queued.map(({ id, text }) => (
        <li key={id} className="flex gap-3">
          <span className="shrink-0 text-faint">Next</span>
          <span className="truncate">{text}</span>
        </li>
      ))}
    </ol>
  );
}

/** Survives going to another place and a reload. */
function useDraft(key: string): [string, (text: string) => void] {
  const name = `agent.draft.${key}`;
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? '');
  const set = (next: string) => {
    setText(next);
    if (next === '') sessionStorage.removeItem(name);
    else sessionStorage.setItem(name, next);
  };
  return [text, set];
}
