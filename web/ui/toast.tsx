/** Short news at the corner: what was done, with a way back where there is one. Errors stay where they happened. */
import { X } from 'lucide-react';
import { useEffect } from 'react';
import { visibleText } from '../../base/visibleText.ts';
import { useObservable } from '../app/context.ts';
import { Observable } from '../observable.ts';
import { Button, IconButton } from './button.tsx';
import { WithCode } from './notice.tsx';

interface Toast {
  id: number;
  text: string;
  action?: { label: string; run: () => void };
}

/** Long enough to read and to reach the button. */
const SHOWN_MS = 6_000;
const KEPT = 3;
const toasts = new Observable<readonly Toast[]>([]);
let lastId = 0;

/** `action` is offered while the toast stands: `Undo`. */
export function toast(text: string, action?: Toast['action']): void {
  lastId += 1;
  toasts.set([...toasts.get(), { id: lastId, text: visibleText(text), ...(action ? { action } : {}) }].slice(-KEPT));
}

const dismiss = (id: number) => toasts.set(toasts.get().filter((one) => one.id !== id));

export function Toasts() {
  return (
    <div
      role="status"
      aria-live="polite"
      className="pointer-events-none fixed inset-x-0 top-16 z-50 grid justify-items-center gap-2 px-4 sm:justify-items-end"
    >
      {useObservable(toasts).map((one) => (
        <ToastBox key={one.id} toast={one} />
      ))}
    </div>
  );
}

function ToastBox({ toast: { id, text, action } }: { toast: Toast }) {
  useEffect(() => {
    const over = setTimeout(() => dismiss(id), SHOWN_MS);
    return () => clearTimeout(over);
  }, [id]);
  return (
    <div className="pointer-events-auto flex max-w-md items-center gap-2 rounded-xl bg-ink py-1.5 pr-1.5 pl-4 text-sm text-paper shadow-raised">
      <span className="min-w-0 flex-1">
        <WithCode text={text} />
      </span>
      {action && (
        <Button
          weight="quiet"
          className="text-paper! hover:bg-transparent! hover:underline"
          onClick={() => {
            dismiss(id);
            action.run();
          }}
        >
          {action.label}
        </Button>
      )}
      <IconButton label="Dismiss" className="text-paper! hover:bg-transparent!" onClick={() => dismiss(id)}>
        <X size={15} />
      </IconButton>
    </div>
  );
}
