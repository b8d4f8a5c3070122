/** Windows over the page: a form or a question. Focus goes in and comes back; Escape closes. */
import { Dialog as Base } from '@base-ui/react/dialog';
import { X } from 'lucide-react';
import type { ReactNode } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { Button, IconButton } from './button.tsx';
import { Problem } from './problem.tsx';

interface DialogProps {
  open: boolean;
  onClose: () => void;
  /** May name what a stranger named. */
  title: string;
  children: ReactNode;
  /** Buttons at the foot. */
  actions?: ReactNode;
  wide?: boolean;
  /** A press beside it does not close it: something in it would be lost. */
  kept?: boolean;
}

export function Dialog({ open, onClose, title, children, actions, wide = false, kept = false }: DialogProps) {
  return (
    <Base.Root open={open} onOpenChange={(now) => !now && onClose()} disablePointerDismissal={kept}>
      <Base.Portal>
        <Base.Backdrop className="fixed inset-0 z-30 bg-[rgb(20_18_15/0.45)] transition-opacity data-ending-style:opacity-0 data-starting-style:opacity-0" />
        <Base.Popup
          className={`fixed inset-x-0 bottom-0 z-40 grid max-h-[92dvh] grid-rows-[auto_minmax(0,1fr)_auto] rounded-t-2xl border border-line bg-paper shadow-raised transition-[opacity,transform] data-ending-style:opacity-0 data-starting-style:opacity-0 sm:inset-x-auto sm:top-1/2 sm:bottom-auto sm:left-1/2 sm:w-[min(92vw,var(--width))] sm:-translate-x-1/2 sm:-translate-y-1/2 sm:rounded-2xl ${wide ? '[--width:48rem]' : '[--width:30rem]'}`}
        >
          <div className="flex items-center gap-3 px-5 pt-4 pb-2">
            <Base.Title className="min-w-0 flex-1 truncate font-semibold">{visibleText(title)}</Base.Title>
            <Base.Close render={<IconButton label="Close" />}>
              <X size={17} />
            </Base.Close>
          </div>
          <div className="grid content-start gap-4 overflow-y-auto px-5 py-2">{children}</div>
          {actions ? <div className="flex flex-wrap justify-end gap-2 px-5 pt-3 pb-4">{actions}</div> : <div className="h-3" />}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  title: string;
  children: ReactNode;
  /** The verb of the button: `Remove`, `Restart`. */
  verb: string;
  busy?: boolean;
  error?: Error | null;
  onConfirm: () => void;
}

/** Before what cannot be taken back. */
export function ConfirmDialog({ open, onClose, title, children, verb, busy = false, error, onConfirm }: ConfirmProps) {
  return (
    <Dialog
      {...{ open, onClose, title }}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button weight="strong" disabled={busy} onClick={onConfirm}>
            {busy ? `${verb}…` : verb}
          </Button>
        </>
      }
    >
      <div className="text-sm text-soft">{children}</div>
      {error && <Problem thrown={error} />}
    </Dialog>
  );
}
