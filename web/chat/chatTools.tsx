/** In the head of a chat: how full the model's window is and what it cost, and the menu of the chat. */
import { lazy, Suspense, useState } from 'react';
import type { SessionInfo } from '../../ipc/contracts/rpcRecords.ts';
import { dollars, tokens } from '../app/format.ts';
import { LazyMenu } from './lazyMenu.tsx';

const ContextDialog = lazy(() => import('./contextDialog.tsx').then(({ ContextDialog: component }) => ({ default: component })));

interface ToolsProps {
  id: string;
  info: SessionInfo;
  working: boolean;
  compacting: boolean;
  onUndone: (text: string) => void;
}

export function ChatTools({ id, info, working, compacting, onUndone }: ToolsProps) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <ContextGauge info={info} onOpen={() => setOpen(true)} />
      {open && (
        <Suspense fallback={null}>
          <ContextDialog id={id} info={info} working={working} compacting={compacting} onClose={() => setOpen(false)} />
        </Suspense>
      )}
      <LazyMenu id={id} title={info.title ?? 'this chat'} working={working} onUndone={onUndone} />
    </>
  );
}

const SIZE = 20;
const RADIUS = 8;
const AROUND = 2 * Math.PI * RADIUS;

/** A ring that fills with the window of the model; beside it the money, where a price is known. */
function ContextGauge({ info: { context_used, context_max, usage }, onOpen }: { info: SessionInfo; onOpen: () => void }) {
  const share = context_used !== null && context_max ? Math.min(1, context_used / context_max) : null;
  const said =
    share === null ? `${tokens(context_used ?? usage.input + usage.output)} tokens` : `${Math.round(share * 100)} % of the context used`;
  const tone = share !== null && share > 0.8 ? 'text-warn' : 'text-accent';
  return (
    <button
      type="button"
      title={`Context and cost: ${said}`}
      onClick={onOpen}
      className="inline-flex h-8 shrink-0 items-center gap-2 rounded-lg px-2 text-xs text-soft tabular-nums hover:bg-sunken hover:text-ink"
    >
      <svg width={SIZE} height={SIZE} viewBox={`0 0 ${SIZE} ${SIZE}`} aria-hidden="true" className={`-rotate-90 ${tone}`}>
        <circle cx={SIZE / 2} cy={SIZE / 2} r={RADIUS} fill="none" stroke="var(--color-line)" strokeWidth="3" />
        {share !== null && share > 0 && (
          <circle
            cx={SIZE / 2}
            cy={SIZE / 2}
            r={RADIUS}
            fill="none"
            stroke="currentColor"
            strokeWidth="3"
            strokeLinecap="round"
            strokeDasharray={`${share * AROUND} ${AROUND}`}
          />
        )}
      </svg>
      <span className="sr-only">Context and cost: </span>
      <span className="max-sm:sr-only">{share === null ? said : `${Math.round(share * 100)} %`}</span>
      {usage.cost_usd !== null && <span className="max-sm:sr-only">{dollars(usage.cost_usd)}</span>}
    </button>
  );
}
