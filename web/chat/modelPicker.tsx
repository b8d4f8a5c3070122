/** What answers here and how hard it thinks; the list of models is loaded when it is asked for. */
import { ChevronDown } from 'lucide-react';
import { lazy, Suspense, useState } from 'react';
import type { ModelChoice } from './modelDialog.tsx';

const ModelDialog = lazy(() => import('./modelDialog.tsx').then(({ ModelDialog: component }) => ({ default: component })));

interface PickerProps {
  model: string | null;
  effort: string | null;
  sessionId: string | null;
  /** For a chat that is not there yet: the choice is taken along when it begins. */
  onChoose?: (choice: ModelChoice) => void;
}

export function ModelPicker({ model, effort, sessionId, onChoose }: PickerProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        onClick={() => setOpen(true)}
        className="inline-flex h-8 min-w-0 items-center gap-1.5 rounded-lg px-2 text-sm text-soft hover:bg-sunken hover:text-ink"
      >
        <span className="sr-only">Model: </span>
        <span className="max-w-32 truncate sm:max-w-56">{model ?? 'No model'}</span>
        {effort && effort !== 'none' && <span className="text-faint max-sm:sr-only">{effort}</span>}
        <ChevronDown size={14} className="shrink-0 text-faint" />
      </button>
      {open && (
        <Suspense fallback={null}>
          <ModelDialog sessionId={sessionId} model={model} effort={effort} onChoose={onChoose} onClose={() => setOpen(false)} />
        </Suspense>
      )}
    </>
  );
}
