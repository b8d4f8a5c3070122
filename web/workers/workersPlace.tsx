/** The processes of the service: how each is, how it last ended, and the buttons to act on it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Receipt, Status } from '../../ipc/contracts/supervisor.ts';
import { request } from '../api.ts';
import { age, duration } from '../app/format.ts';
import { PlaceHeader } from '../app/header.tsx';
import { Toggle } from '../ui/field.tsx';
import { Command, Notice } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { WorkerTable, type Action } from './workerTable.tsx';

/** Only while somebody looks: the query pauses with the tab. */
const LOOK_MS = 2_000;

type Answer = Receipt | { accepted: true; slot: string; action: string };

export function WorkersPlace() {
  const queries = useQueryClient();
  const { data, error } = useQuery({
    queryKey: ['workers'],
    queryFn: ({ signal }) => request('GET /api/workers', { signal }),
    refetchInterval: LOOK_MS,
  });
  const again = () => queries.invalidateQueries({ queryKey: ['workers'] });
  const command = useMutation({
    mutationFn: ({ slot, action }: { slot: string; action: Action }) =>
      request(`POST /api/workers/:slot/${action}`, { params: { slot }, body: {} }),
    onSettled: again,
  });
  const pause = useMutation({
    mutationFn: async (on: boolean) => {
      if (on) await request('POST /api/pause', { body: { reason: 'paused in the dashboard' } });
      else await request('DELETE /api/pause');
    },
    onSettled: again,
  });

  return (
    <>
      <PlaceHeader title="Workers" />
      <main className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid max-w-6xl gap-4 px-4 py-6 md:px-6">
          {error && !data && <Problem thrown={error} />}
          {data && !data.live && (
            <Notice tone="bad" title="No supervisor answers">
              This is its last snapshot, of {age(data.at) === 'now' ? 'a moment ago' : `${age(data.at)} ago`}. The workers below may still
              run; <Command>agent up</Command> takes them over again.
            </Notice>
          )}
          {data?.problems.map(({ what, fix }) => (
            <Notice key={what} tone="warn" title={what}>
              {fix}
            </Notice>
          ))}
          {data && (
            <PauseSwitch paused={data.paused} busy={pause.isPending} onChange={(on) => pause.mutate(on)}>
              {pause.error && <Problem thrown={pause.error} />}
            </PauseSwitch>
          )}
          {data && (
            <WorkerTable
              workers={data.workers}
              busySlot={command.isPending ? command.variables.slot : null}
              onCommand={(slot, action) => command.mutate({ slot, action })}
            />
          )}
          <div aria-live="polite" className="min-h-10">
            {command.data && !command.isPending && <Outcome answer={command.data} />}
            {command.error && !command.isPending && <Problem thrown={command.error} />}
          </div>
        </div>
      </main>
    </>
  );
}

interface PauseSwitchProps {
  paused: Status['paused'];
  busy: boolean;
  onChange: (on: boolean) => void;
  children?: ReactNode;
}

function PauseSwitch({ paused, busy, onChange, children }: PauseSwitchProps) {
  const since = paused?.engaged_at ? ` for ${age(paused.engaged_at).replace('now', 'a moment')}` : '';
  return (
    <section aria-label="Automation" className="grid gap-3 rounded-xl border border-line bg-surface p-4">
      <label className="flex items-center gap-4">
        <span className="min-w-0 flex-1">
          <span className="block font-medium">Pause automation</span>
          <span className="block text-sm text-soft">
            {paused
              ? `Held${since}${paused.reason ? `: ${paused.reason}` : ''}. Running work finishes; nothing new starts by itself.`
              : 'Scheduled jobs, fire webhooks and chat platforms run. Pausing holds what is new; running work finishes.'}
          </span>
        </span>
        <Toggle checked={paused !== null} disabled={busy} onChange={onChange} />
      </label>
      {children}
    </section>
  );
}

function Outcome({ answer }: { answer: Answer }) {
  if ('accepted' in answer) return <Notice tone="neutral">{answer.slot}: asked for. This page goes on as soon as it is back.</Notice>;
  if (!answer.ok)
    return (
      <Notice tone="bad" title={`${answer.slot}: ${answer.action} failed`}>
        {answer.error}
      </Notice>
    );
  const parts = [
    answer.ready_ms === null ? null : `ready after ${duration(answer.ready_ms)}`,
    answer.drained_ms === null ? null : `drained in ${duration(answer.drained_ms)}`,
    answer.interrupted_turns > 0 ? `${answer.interrupted_turns} turns interrupted` : null,
  ].filter((part) => part !== null);
  return (
    <Notice tone="good">
      {answer.slot}: {answer.action} done{parts.length > 0 ? `, ${parts.join(', ')}` : ''}.
    </Notice>
  );
}
