/**
 * A window with a form: Enter submits it once, the button says while that lasts, an error stands at its end. Once
 * something is written in it, a press beside it does not close it.
 */
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Problem } from './problem.tsx';

interface FormDialogProps {
  open?: boolean;
  onClose: () => void;
  title: string;
  wide?: boolean;
  /** Of the button: `Save`. Undefined = there is nothing more to submit. */
  verb: string | undefined;
  /** What it says while `busy`: `Saving…`. */
  doing?: string;
  busy?: boolean;
  /** False while something is missing. */
  complete?: boolean;
  error?: Error | null;
  /** `Cancel` while nothing is done. */
  closeWord?: string;
  onSubmit: () => void;
  children: ReactNode;
}

export function FormDialog({
  open = true,
  onClose,
  title,
  wide = false,
  verb,
  doing,
  busy = false,
  complete = true,
  error,
  closeWord = 'Cancel',
  onSubmit,
  children,
}: FormDialogProps) {
  const id = useId();
  // `busy` comes with the next drawing, and a second key may come before.
  const submitted = useRef(false);
  useEffect(() => void (submitted.current = false));
  const [isTouched, setTouched] = useState(false);
  useEffect(() => setTouched(false), [open]);
  const ready = verb !== undefined && complete && !busy;
  return (
    <Dialog
      {...{ open, onClose, title, wide }}
      kept={isTouched}
      actions={
        <>
          <Button onClick={onClose}>{closeWord}</Button>
          {verb !== undefined && (
            <Button weight="strong" type="submit" form={id} disabled={!ready}>
              {busy ? (doing ?? `${verb}…`) : verb}
            </Button>
          )}
        </>
      }
    >
      <form
        id={id}
        // Errors stand at their fields, in the words of the service.
        noValidate
        className="grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4"
        onInput={() => setTouched(true)}
        onSubmit={(event) => {
          event.preventDefault();
          if (!ready || submitted.current) return;
          submitted.current = true;
          onSubmit();
        }}
      >
        {children}
      </form>
      {error && <Problem thrown={error} />}
    </Dialog>
  );
}
