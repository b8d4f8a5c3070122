/** Where one writes: Enter sends, Shift+Enter makes a line; on a phone Enter makes a line and the button sends. What waits, and what answers, is said above it. */
import { ArrowUp, Paperclip, Square, X } from 'lucide-react';
import {
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
} from 'react';
import type { AttachmentInput } from '../../ipc/contracts/rpc.ts';
import type { Failed } from '../callError.ts';
import type { BusyMode } from '../sessionState.ts';
import { IconButton } from '../ui/button.tsx';
import { Notice, WithCode } from '../ui/notice.tsx';
import { AttachmentStrip } from './attachmentStrip.tsx';
import { inputsOf, useAttachments } from './attachments.ts';
import { BusySelect, useBusyMode } from './busyMode.tsx';
import { useCompletion } from './completion.ts';
import { CompletionMenu, MENU_ID, optionId } from './completionMenu.tsx';
import { useDraft } from './draft.ts';

const HEIGHT_MAX_PX = 240;
/** No Shift+Enter on a keyboard of glass. */
const touched = (): boolean => matchMedia('(pointer: coarse) and (hover: none)').matches;

export interface Submission {
  text: string;
  files: AttachmentInput[];
  busy: BusyMode | undefined;
  /** A question beside the conversation. */
  aside: boolean;
  /** Takes the place of the last exchange. */
  replace: boolean;
}

export interface ComposerHandle {
  /** Puts a text there to be changed and sent. */
  put(text: string): void;
  editLast(): void;
}

export interface ComposerProps {
  /** Drafts are kept under this name for the tab. */
  draftKey: string;
  sessionId: string | null;
  working: boolean;
  /** Null when it was taken, else why not: then the text stays. */
  onSubmit: (submission: Submission) => Promise<Failed | null>;
  onStop?: () => void;
  /** The last message of this chat, for changing it. */
  lastPrompt?: () => string | null;
  /** Stands in the bar below the text. */
  tools?: ReactNode;
  /** Stands above. */
  children?: ReactNode;
  ref?: Ref<ComposerHandle>;
}

export function Composer({ draftKey, sessionId, working, onSubmit, onStop, lastPrompt, tools, children, ref }: ComposerProps) {
  const [text, setText] = useDraft(draftKey);
  const [cursor, setCursor] = useState(text.length);
  const [editing, setEditing] = useState(false);
  const [failure, setFailure] = useState<Failed | null>(null);
  const [over, setOver] = useState(false);
  const [mode, setMode] = useBusyMode();
  const box = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const attachments = useAttachments();
  const completion = useCompletion(text, cursor, sessionId);
  const open = completion.items.length > 0;

  useLayoutEffect(() => {
    const area = box.current!;
    area.style.height = 'auto';
    area.style.height = `${Math.min(area.scrollHeight, HEIGHT_MAX_PX)}px`;
  }, [text]);
  useEffect(() => {
    // A keyboard that opens by itself would hide half of a phone.
    if (matchMedia('(pointer: fine)').matches) box.current?.focus();
  }, [draftKey]);

  const write = (next: string, at = next.length) => {
    setText(next);
    setCursor(at);
    // After React has put the text there.
    requestAnimationFrame(() => {
      box.current?.focus();
      box.current?.setSelectionRange(at, at);
    });
  };
  const editLast = () => {
    const last = working ? null : lastPrompt?.();
    if (!last) return;
    setEditing(true);
    write(last);
  };
  const leaveEditing = () => {
    setEditing(false);
    write('');
  };
  useImperativeHandle(ref, () => ({ put: write, editLast }));

  const send = async () => {
    const said = text.trim();
    if (said === '') return;
    const { files } = attachments;
    const aside = working && mode === 'aside';
    const submission = {
      text: said,
      files: inputsOf(files),
      busy: working && mode !== 'aside' ? mode : undefined,
      aside,
      replace: editing,
    };
    setFailure(null);
    setText('');
    setCursor(0);
    setEditing(false);
    attachments.clear();
    const refused = await onSubmit(submission);
    if (!refused) return;
    setFailure(refused);
    attachments.restore(files);
    if ((box.current?.value ?? '') === '') write(said);
  };
  const accept = (index: number) => {
    const picked = completion.items[index];
    if (picked) write(picked.text, picked.cursor);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const done = () => event.preventDefault();
    const { key } = event;
    if (open && (key === 'ArrowDown' || key === 'ArrowUp')) return (done(), completion.move(key === 'ArrowDown' ? 1 : -1));
    if (open && (key === 'Tab' || (key === 'Enter' && !event.shiftKey && !event.ctrlKey))) return (done(), accept(completion.at));
    if (open && key === 'Escape') return (done(), completion.close());
    if (editing && key === 'Escape') return (done(), leaveEditing());
    if (key === 'ArrowUp' && text === '' && !working && lastPrompt?.()) return (done(), editLast());
    if (key === 'Enter' && !event.shiftKey && (event.ctrlKey || event.metaKey || !touched())) return (done(), void send());
  };

  return (
    <div className="mx-auto grid w-full max-w-3xl gap-2 px-4 pt-2 pb-4 md:px-6">
      {failure && (
        <Notice tone="bad" title={failure.message}>
          {failure.fix && <WithCode text={failure.fix} />}
        </Notice>
      )}
      {children}
      <form
        className={`relative grid rounded-2xl border bg-surface shadow-raised focus-within:border-accent ${over ? 'border-accent bg-tint' : 'border-edge'}`}
        onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}
        onDragOver={(event: DragEvent) => {
          if (!event.dataTransfer.types.includes('Files')) return;
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event: DragEvent) => {
          setOver(false);
          if (event.dataTransfer.files.length === 0) return;
          event.preventDefault();
          attachments.add(event.dataTransfer.files);
        }}
      >
        {open && <CompletionMenu items={completion.items} at={completion.at} onPick={accept} />}
        {editing && (
          <p className="flex items-center gap-2 pt-2 pr-2 pl-4 text-xs text-soft">
            <span className="flex-1">This takes the place of your last message and its answer.</span>
            <IconButton label="Leave it as it was" onClick={leaveEditing}>
              <X size={14} />
            </IconButton>
          </p>
        )}
        <AttachmentStrip attachments={attachments} />
        <textarea
          ref={box}
          rows={1}
          dir="auto"
          value={text}
          aria-label="Message"
          enterKeyHint={touched() ? 'enter' : 'send'}
          aria-autocomplete="list"
          aria-controls={open ? MENU_ID : undefined}
          aria-activedescendant={open ? optionId(completion.at) : undefined}
          placeholder={working ? 'Write the next message' : 'Write a message, or / for commands'}
          onChange={({ target }) => {
            setText(target.value);
            setCursor(target.selectionStart);
          }}
          onSelect={({ currentTarget }) => setCursor(currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
          onPaste={(event: ClipboardEvent) => {
            const files = [...event.clipboardData.files];
            if (files.length === 0) return;
            event.preventDefault();
            attachments.add(files);
          }}
          className="max-h-60 w-full resize-none bg-transparent px-4 pt-3 pb-1 placeholder:text-faint"
        />
        <div className="flex h-12 items-center gap-1 px-2">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            data-testid="files"
            onChange={({ target }) => {
              attachments.add([...(target.files ?? [])]);
              target.value = '';
            }}
          />
          <IconButton label="Attach files" onClick={() => picker.current?.click()}>
            <Paperclip size={17} />
          </IconButton>
          {tools}
          <span className="flex-1" />
          {working && <BusySelect mode={mode} onChange={setMode} />}
          {working && onStop && (
            <RoundButton label="Stop the answer" onClick={onStop} className="border border-edge text-ink hover:bg-sunken">
              <Square size={13} fill="currentColor" />
            </RoundButton>
          )}
          <RoundButton
            label="Send"
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
      className={`inline-flex size-9 shrink-0 items-center justify-center rounded-full transition-colors ${className}`}
      {...rest}
    >
      {children}
    </button>
  );
}
