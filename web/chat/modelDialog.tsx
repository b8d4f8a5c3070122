/** The models there are, by provider, and the levels of reasoning that the chosen one has; for this chat alone. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check, RotateCw } from 'lucide-react';
import { useId, useState } from 'react';
import type { ModelRow, ProviderRow } from '../../ipc/contracts/rpcSettings.ts';
import { tokens } from '../app/format.ts';
import { useConnection } from '../app/context.ts';
import { Button, IconButton } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { SelectField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';

export interface ModelChoice {
  provider?: string;
  model?: string;
  effort?: string;
}

interface ModelDialogProps {
  sessionId: string | null;
  model: string | null;
  effort: string | null;
  onChoose?: ((choice: ModelChoice) => void) | undefined;
  onClose: () => void;
}

/** Hosts are asked for their lists. */
const OPTIONS_LIMIT_MS = 30_000;
/** More rows help nobody: the filter does. */
const SHOWN_MAX = 200;

export function ModelDialog({ sessionId, model, effort, onChoose, onClose }: ModelDialogProps) {
  const connection = useConnection();
  const [filter, setFilter] = useState('');
  const [done, setDone] = useState<{ warning: string | null; error: Error | null }>({ warning: null, error: null });
  const session = sessionId === null ? {} : { session_id: sessionId };
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['models', sessionId],
    queryFn: () => connection.call('model.options', session, OPTIONS_LIMIT_MS),
  });
  const set = async (key: 'model' | 'reasoning', value: string, choice: ModelChoice) => {
    if (sessionId === null) return onChoose?.(choice);
    try {
      const { warning } = await connection.call('config.set', { key, value, session_id: sessionId, scope: 'session' });
      setDone({ warning, error: null });
    } catch (thrown) {
      setDone({ warning: null, error: thrown as Error });
    }
  };
  const providers = (data?.providers ?? []).map((provider) => ({ ...provider, models: matching(provider, filter) }));
  const current = data?.providers.flatMap(({ models }) => models).find(({ id }) => id === model);
  return (
    <Dialog open onClose={onClose} title="Model of this chat" wide>
      <div className="flex items-center gap-2">
        <input
          type="search"
          autoFocus
          aria-label="Find a model"
          placeholder="Find a model"
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
          className="h-9 min-w-0 flex-1 rounded-lg border border-edge bg-paper px-3 text-sm placeholder:text-faint"
        />
        <IconButton label="Ask the providers again" disabled={isFetching} onClick={() => void refetch()}>
          <RotateCw size={15} className={isFetching ? 'animate-turn' : ''} />
        </IconButton>
      </div>
      {error && <Problem thrown={error} onRetry={() => void refetch()} />}
      {done.error && <Problem thrown={done.error} />}
      {done.warning && <Notice tone="warn">{done.warning}</Notice>}
      {!data && !error && <div className="h-64 animate-breathe rounded-xl bg-sunken" />}
      <div className="grid max-h-[50dvh] gap-4 overflow-y-auto pr-1">
        {providers.map((provider) => (
          <Provider
            key={provider.name}
            provider={provider}
            chosen={model}
            onPick={(id) => void set('model', `${provider.name}:${id}`, { provider: provider.name, model: id })}
          />
        ))}
        {data && providers.length === 0 && (
          <p className="text-sm text-soft">
            No provider is set up{model === null ? '' : `; ${model} answers here`}.{' '}
            <Link to="/models" className="text-accent underline underline-offset-3">
              Add one under Models and keys
            </Link>
            .
          </p>
        )}
      </div>
      <div className="flex flex-wrap items-end justify-between gap-3 border-t border-line pt-4">
        <div className="w-56">
          <SelectField
            label="Reasoning"
            value={effort ?? 'default'}
            choices={levels(current?.reasoning ?? [], effort)}
            onChange={({ target }) => void set('reasoning', target.value, { effort: target.value })}
          />
        </div>
        <Button weight="strong" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

function matching({ name, models }: ProviderRow, filter: string): ModelRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = ({ id, name: called }: ModelRow) => words.every((word) => `${name} ${id} ${called}`.toLowerCase().includes(word));
  return models.filter(fits).slice(0, SHOWN_MAX);
}

function levels(of: readonly string[], effort: string | null): { value: string; label: string }[] {
  const known = of.length > 0 ? of : ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
  const all = effort !== null && !known.includes(effort) ? [...known, effort] : known;
  return [{ value: 'default', label: 'As configured' }, ...all.map((level) => ({ value: level, label: level }))];
}

interface ProviderProps {
  provider: ProviderRow;
  chosen: string | null;
  onPick: (id: string) => void;
}

function Provider({ provider: { name, models, usable, problem, detected, error }, chosen, onPick }: ProviderProps) {
  const head = useId();
  return (
    <section aria-labelledby={head} className="grid gap-1 text-sm">
      <h3 id={head} className="text-xs font-medium text-faint">
        {name}
        {detected && ' · found on this machine'}
      </h3>
      {!usable && <p className="text-warn">{problem}</p>}
      {error && <p className="text-warn">{error}</p>}
      <ul className="grid">
        {models.map((model) => (
          <li key={model.id}>
            <button
              type="button"
              aria-pressed={model.id === chosen}
              onClick={() => onPick(model.id)}
              className="flex min-h-9 w-full items-center gap-3 rounded-lg px-3 py-1 text-left hover:bg-sunken aria-pressed:bg-tint"
            >
              <span className="min-w-0 flex-1 truncate">{model.name}</span>
              <span className="shrink-0 text-xs text-faint">{facts(model)}</span>
              <Check size={15} className={model.id === chosen ? 'text-accent' : 'invisible'} />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const facts = ({ context_window, price, vision }: ModelRow): string =>
  [
    context_window === null ? '' : `${tokens(context_window)} context`,
    vision ? 'sees pictures' : '',
    price === null ? '' : `$${price.input} / $${price.output}`,
  ]
    .filter(Boolean)
    .join(' · ');
