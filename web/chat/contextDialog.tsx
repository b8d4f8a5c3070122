/** What the next prompt would be made of, what the chat has cost, and the way to make it shorter. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { SessionInfo, UsageTotals } from '../../ipc/contracts/rpcRecords.ts';
import { dollars, tokens } from '../app/format.ts';
import { useConnection } from '../app/context.ts';
import type { Answer } from '../connection.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';

interface ContextProps {
  id: string;
  info: SessionInfo;
  working: boolean;
  /** A compression is under way, here or elsewhere. */
  compacting: boolean;
  onClose: () => void;
}

/** A model writes the summary; the service itself bounds that. */
const COMPRESS_LIMIT_MS = 15 * 60_000;

export function ContextDialog({ id, info, working, compacting, onClose }: ContextProps) {
  const connection = useConnection();
  // Asked again when a turn or a compression is over.
  const key = [id, info.usage.model_calls, compacting];
  const breakdown = useQuery({
    queryKey: ['context', ...key],
    queryFn: () => connection.callSafely('session.context_breakdown', { session_id: id }),
  });
  const usage = useQuery({
    queryKey: ['usage', ...key],
    queryFn: () => connection.callSafely('session.usage', { session_id: id }),
  });
  return (
    <Dialog open onClose={onClose} title="Context and cost" wide>
      {breakdown.error && <Problem thrown={breakdown.error} onRetry={() => void breakdown.refetch()} />}
      {breakdown.data ? (
        <Breakdown data={breakdown.data} />
      ) : (
        !breakdown.error && <div className="h-48 animate-breathe rounded-xl bg-sunken" />
      )}
      <Compress id={id} working={working} compacting={compacting} />
      {usage.data && <Cost data={usage.data} />}
    </Dialog>
  );
}

const shades = ['bg-accent', 'bg-good', 'bg-warn', 'bg-bad', 'bg-soft', 'bg-accent-strong', 'bg-edge'] as const;

function Breakdown({ data }: { data: Answer<'session.context_breakdown'> }) {
  const { categories, context_used, context_max, context_percent, context_source, context_files } = data;
  const whole = context_max ?? categories.reduce((sum, category) => sum + category.tokens, 0);
  const parts = categories.filter(({ tokens: count }) => count > 0);
  return (
    <section aria-label="Context" className="grid gap-3 text-sm">
      <p className="text-soft">
        {tokens(context_used)} tokens{context_max !== null && ` of ${tokens(context_max)}`}
        {context_percent !== null && ` (${Math.round(context_percent)} %)`}
        {context_source === 'estimate' && ', estimated'}
      </p>
      <div className="flex h-2.5 overflow-hidden rounded-full bg-sunken" aria-hidden="true">
        {parts.map(({ id, tokens: count }, index) => (
          <span key={id} className={shades[index % shades.length]} style={{ width: `${(count / Math.max(1, whole)) * 100}%` }} />
        ))}
      </div>
      <ul className="grid gap-1">
        {parts.map(({ id, label, tokens: count }, index) => (
          <li key={id} className="flex items-center gap-2.5">
            <span className={`size-2.5 shrink-0 rounded-full ${shades[index % shades.length]}`} />
            <span className="min-w-0 flex-1 truncate">{label}</span>
            <span className="text-faint tabular-nums">{tokens(count)}</span>
          </li>
        ))}
      </ul>
      {context_files.length > 0 && (
        <details>
          <summary className="text-soft">Files that are always read ({context_files.filter(({ loaded }) => loaded).length})</summary>
          <ul className="mt-1 grid gap-1">
            {context_files.map(({ path, label, est_tokens, status }) => (
              <li key={path} className="flex gap-3">
                <span className="min-w-0 flex-1 truncate font-mono text-[0.8125rem]" title={path}>
                  {label}
                </span>
                <span className="text-faint">{status === 'loaded' ? tokens(est_tokens) : status}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

function Compress({ id, working, compacting }: { id: string; working: boolean; compacting: boolean }) {
  const connection = useConnection();
  const [focus, setFocus] = useState('');
  const [state, setState] = useState<{ busy: boolean; note: string | null; error: Error | null }>({ busy: false, note: null, error: null });
  const run = async () => {
    setState({ busy: true, note: null, error: null });
    try {
      const params = { session_id: id, ...(focus.trim() ? { focus: focus.trim() } : {}) };
      const { note } = await connection.call('session.compress', params, COMPRESS_LIMIT_MS);
      setState({ busy: false, note, error: null });
    } catch (thrown) {
      setState({ busy: false, note: null, error: thrown as Error });
    }
  };
  const under = state.busy || compacting;
  return (
    <section aria-label="Compress" className="grid gap-3 border-t border-line pt-4 text-sm">
      <p className="text-soft">
        Compressing replaces earlier messages by a summary for the model. You can still read them here. Messages that you send meanwhile
        wait.
      </p>
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
        }}
      >
        <div className="min-w-48 flex-1">
          <TextField
            label="What the summary must keep (optional)"
            value={focus}
            maxLength={500}
            onChange={({ target }) => setFocus(target.value)}
          />
        </div>
        <Button type="submit" className="h-9" disabled={under || working}>
          {under ? 'Compressing…' : 'Compress'}
        </Button>
      </form>
      {working && !under && <p className="text-faint">It can be compressed when the answer under way is over.</p>}
      {state.note && <Notice tone="neutral">{state.note}</Notice>}
      {state.error && <Problem thrown={state.error} onRetry={() => void run()} />}
    </section>
  );
}

function Cost({ data: { usage, by_model, turns, compressions } }: { data: Answer<'session.usage'> }) {
  return (
    <section aria-label="Cost" className="grid gap-2 border-t border-line pt-4 text-sm">
      <p className="text-soft">
        {turns} {turns === 1 ? 'turn' : 'turns'}, {usage.model_calls} calls of a model
        {compressions > 0 && `, compressed ${compressions === 1 ? 'once' : `${compressions} times`}`}.{' '}
        {usage.cost_usd === null ? 'No price is known.' : `${dollars(usage.cost_usd)} in all.`}
      </p>
      <div className="overflow-x-auto" tabIndex={0} role="region" aria-label="By model">
        <table className="w-full text-left">
          <thead className="text-xs text-faint">
            <tr>
              {['Model', 'In', 'Cached', 'Out', 'Reasoning', 'Cost'].map((head, index) => (
                <th key={head} className={`py-1 pr-4 font-medium ${index > 0 ? 'text-right' : ''}`}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {by_model.map((row) => (
              <CostRow key={`${row.provider}/${row.model}`} name={row.model} usage={row.usage} />
            ))}
            {by_model.length !== 1 && <CostRow name="All" usage={usage} />}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function CostRow({ name, usage }: { name: string; usage: UsageTotals }) {
  const { input, cache_read, output, reasoning, cost_usd } = usage;
  return (
    <tr className="border-t border-line tabular-nums">
      <td className="max-w-48 truncate py-1.5 pr-4">{name}</td>
      {[input, cache_read, output, reasoning].map((count, index) => (
        <td key={index} className="py-1.5 pr-4 text-right">
          {tokens(count)}
        </td>
      ))}
      <td className="py-1.5 pr-4 text-right">{cost_usd === null ? '–' : dollars(cost_usd)}</td>
    </tr>
  );
}
