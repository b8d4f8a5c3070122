/** Somebody else saved a file meanwhile: nothing was written, and there are two ways on. */
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import { Notice } from './notice.tsx';

interface ConflictProps {
  file: string;
  busy: boolean;
  /** What the second way is called. */
  mine?: string;
  onTheirs: () => void;
  onMine: () => void;
  /** What is known of the other change. */
  children?: ReactNode;
}

export function ConflictNotice({ file, busy, mine = 'Save mine over it', onTheirs, onMine, children }: ConflictProps) {
  return (
    <Notice
      tone="warn"
      title={`Somebody else changed ${file} meanwhile`}
      actions={
        <div className="flex flex-wrap gap-2">
          <Button disabled={busy} onClick={onTheirs}>
            Take theirs
          </Button>
          <Button disabled={busy} onClick={onMine}>
            {mine}
          </Button>
        </div>
      }
    >
      {children ?? 'Nothing was written; what you typed still stands above.'}
    </Notice>
  );
}
