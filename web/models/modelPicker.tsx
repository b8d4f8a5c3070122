/** A list of every model that can serve, with search, window and price; a dear one is asked about twice. */
import { useMutation } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useState } from 'react';
import { request } from '../api.ts';
import { sentence } from '../app/format.ts';
import { useProfile } from '../app/profile.ts';
import { Button } from '../ui/button.tsx';
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx';
import { TextField } from '../ui/field.tsx';
import { Notice } from '../ui/notice.tsx';
import { Empty, Skeleton } from '../ui/place.tsx';
import { Problem } from '../ui/problem.tsx';
import { toast } from '../ui/toast.tsx';
import { useAskAgain, useOptions, type Answer, type ModelRow, type ProviderRow } from './queries.ts';

type Task = Answer<'GET /api/model/auxiliary'>['tasks'][number]['task'];
export type Purpose = { scope: 'main' } | { scope: 'auxiliary'; task: Task };

interface PickerProps {
  open: boolean;
  onClose: () => void;
  purpose: Purpose;
  current: { provider: string | null; model: string | null } | null;
}

/** More rows than this nobody reads: the search narrows them. */
const SHOWN_MAX = 200;

interface Choice {
  provider: string;
  model: string;
  confirm_expensive_model?: boolean;
}

export function ModelPicker({ open, onClose, purpose, current }: PickerProps) {
  const profile = useProfile();
  const again = useAskAgain();
  const choose = useMutation({
    mutationFn: (choice: Choice) => request('POST /api/model/set', { query: { profile }, body: { ...purpose, ...choice } }),
    onSuccess: (answer) => {
      if (answer.confirm_required) return;
      toast(`${answer.model} is chosen${answer.warning ? `: ${answer.warning}` : ''}`);
      if (answer.stale_aux.length > 0) toast(sentence(`side work stays with another provider: ${answer.stale_aux.join(', ')}`));
      onClose();
    },
    onSettled: again,
  });
  const asked = choose.data?.confirm_required ? choose.data : null;
  const leave = () => {
    choose.reset();
    onClose();
  };
  return (
    <>
      <Dialog
        open={open && !asked}
        onClose={leave}
        wide
        title={purpose.scope === 'main' ? 'Which model answers?' : 'Which model does this?'}
      >
        {choose.error && <Problem thrown={choose.error} />}
        {open && <Rows current={current} busy={choose.isPending} onPick={(choice) => choose.mutate(choice)} />}
      </Dialog>
      <ConfirmDialog
        open={asked !== null}
        onClose={() => choose.reset()}
        title="This model is expensive"
        verb="Take it"
        busy={choose.isPending}
        error={choose.error}
        onConfirm={() => choose.variables && choose.mutate({ ...choose.variables, confirm_expensive_model: true })}
      >
        {asked?.confirm_message}
      </ConfirmDialog>
    </>
  );
}

interface RowsProps {
  current: PickerProps['current'];
  busy: boolean;
  onPick: (choice: Choice) => void;
}

function Rows({ current, busy, onPick }: RowsProps) {
  const { data, error, refetch, isFetching } = useOptions();
  const [wanted, setWanted] = useState('');
  if (error && !data) return <Problem thrown={error} onRetry={() => void refetch()} />;
  if (!data) return <Skeleton lines={8} />;
  const usable = data.providers.filter((provider) => provider.usable);
  const rows = usable.flatMap((provider) => provider.models.map((model) => ({ provider, model })));
  const words = wanted.toLowerCase().split(/\s+/).filter(Boolean);
  const found = rows.filter(({ provider, model }) => {
    const text = `${provider.name}:${model.id} ${model.name}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  return (
    <>
      <div className="sticky top-0 z-10 flex items-end gap-2 bg-paper pb-1">
        <div className="min-w-0 flex-1">
          <TextField
            label="Search"
            placeholder="Part of a name"
            value={wanted}
            autoFocus
            onChange={(event) => setWanted(event.target.value)}
          />
        </div>
        <RefreshButton busy={isFetching} />
      </div>
      {rows.length === 0 ? (
        <Empty title="No provider lists a model">Add a provider or its key under Providers, then come back.</Empty>
      ) : (
        <ul aria-label="Models" className="grid gap-1 pb-2">
          {found.slice(0, SHOWN_MAX).map(({ provider, model }) => (
            <li key={`${provider.name}:${model.id}`}>
              <Row
                provider={provider}
                model={model}
                current={current?.provider === provider.name && current.model === model.id}
                disabled={busy}
                onPick={() => onPick({ provider: provider.name, model: model.id })}
              />
            </li>
          ))}
        </ul>
      )}
      {rows.length > 0 && found.length === 0 && <TypedName wanted={wanted} providers={usable} disabled={busy} onPick={onPick} />}
      {found.length > SHOWN_MAX && <p className="text-sm text-soft">And {found.length - SHOWN_MAX} more: type a part of the name.</p>}
    </>
  );
}

interface RowProps {
  provider: ProviderRow;
  model: ModelRow;
  current: boolean;
  disabled: boolean;
  onPick: () => void;
}

function Row({ provider, model, current, disabled, onPick }: RowProps) {
  return (
    <button
      type="button"
      disabled={disabled}
      onClick={onPick}
      aria-current={current || undefined}
      className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 rounded-lg px-3 py-2 text-left text-sm hover:bg-sunken disabled:opacity-60 aria-[current=true]:bg-tint"
    >
      <span className="min-w-0 truncate">
        <span className="font-mono">{model.id}</span>
        {current && <span className="ml-2 text-xs text-accent">in use</span>}
      </span>
      <span className="text-xs text-soft">{provider.name}</span>
      <span className="col-span-2 text-xs text-soft tabular-nums">{traitsOf(model).join(' · ')}</span>
    </button>
  );
}

function traitsOf({ context_window: size, price, reasoning, vision }: ModelRow): string[] {
  return [
    size === null ? 'window not known' : `${Math.round(size / 1_000)} k window`,
    price === null ? 'price not known' : `$${price.input} in, $${price.output} out per million`,
    ...(reasoning.length > 0 ? [`thinks ${reasoning[0]} to ${reasoning.at(-1)}`] : []),
    ...(vision ? ['sees images'] : []),
  ];
}

/** A server may serve what it does not list. */
function TypedName({
  wanted,
  providers,
  disabled,
  onPick,
}: {
  wanted: string;
  providers: readonly ProviderRow[];
  disabled: boolean;
  onPick: (choice: Choice) => void;
}) {
  const model = wanted.trim();
  return (
    <Notice tone="neutral" title={`No list has “${model}”`}>
      <p className="mb-2">A provider may serve it all the same:</p>
      <div className="flex flex-wrap gap-2">
        {providers.map(({ name }) => (
          <Button key={name} disabled={disabled} onClick={() => onPick({ provider: name, model })}>
            Ask {name} for it
          </Button>
        ))}
      </div>
    </Notice>
  );
}

/** Fetches every list now. */
export function RefreshButton({ busy }: { busy: boolean }) {
  const profile = useProfile();
  const again = useAskAgain();
  const refresh = useMutation({
    mutationFn: () => request('GET /api/model/options', { query: { profile, include_unconfigured: true, refresh: true } }),
    onSettled: again,
  });
  const turning = busy || refresh.isPending;
  return (
    <Button
      disabled={refresh.isPending}
      icon={<RefreshCw size={15} className={turning ? 'animate-turn' : ''} />}
      onClick={() => refresh.mutate()}
    >
      Fetch lists
    </Button>
  );
}
