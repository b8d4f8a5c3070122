/** The processes of the service: how each is, how it last ended, and the buttons to act on it. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { Receipt } from '../../ipc/contracts/supervisor.ts';
import { request } from '../api.ts';
import { age, duration } from '../app/format.ts';
import { PlaceHeader } from '../app/header.tsx';
import { usePauses } from '../app/pauses.ts';
import { useProfile, useProfiles } from '../app/profile.ts';
import { Command, Notice, WithCode } from '../ui/notice.tsx';
import { Problem } from '../ui/problem.tsx';
import { Skeleton } from '../ui/place.tsx';
import { PauseSwitch, type Pause } from './pauseSwitch.tsx';
import { PressureNotice } from './pressure.tsx';
import { WorkerPanel } from './workerPanel.tsx';
import { WorkerTable, type Action } from './workerTable.tsx';

/** Only while somebody looks: the query pauses with the tab. */
const LOOK_MS = 2_000;

type Answer = Receipt | { accepted: true; slot: string; action: string };

export function WorkersPlace() {
  const queries = useQueryClient();
  const [opened, setOpened] = useState<string | null>(null);
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
  const profile = useProfile();
  const pauses = usePauses(LOOK_MS);
  const { data: profiles } = useProfiles();
  const pause = useMutation({
    mutationFn: async ({ name, wanted }: { name: string; wanted: Pause | null }) => {
      if (wanted) await request('POST /api/pause', { body: { ...wanted, profile: name } });
      else await request('DELETE /api/pause', { query: { profile: name } });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['pauses'] }),
  });

  return (
    <>
      <PlaceHeader title="Workers" />
      <main className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto grid max-w-6xl gap-4 px-4 py-6 md:px-6">
          {error && !data && <Problem thrown={error} />}
          {!error && !data && <Skeleton height={24} />}
          <PressureNotice />
          {data && !data.live && (
            <Notice tone="bad" title="No supervisor answers">
              This is its last snapshot, of {age(data.at) === 'now' ? 'a moment ago' : `${age(data.at)} ago`}. The workers below may still
              run; <Command>agent up</Command> takes them over again.
            </Notice>
          )}
          {data?.problems.map(({ what, fix }) => (
            <Notice key={what} tone="warn" title={what}>
              <WithCode text={fix} />
            </Notice>
          ))}
          {pauses.error && !pauses.data && !error && <Problem thrown={pauses.error} />}
          {data && pauses.data && (
            <PauseSwitch
              pauses={pauses.data}
              profiles={profiles?.profiles.map(({ name }) => name) ?? [profile ?? 'default']}
              here={profile ?? 'default'}
              busy={pause.isPending}
              onPause={(name, wanted) => pause.mutate({ name, wanted })}
              onResume={(name) => pause.mutate({ name, wanted: null })}
            >
              {pause.error && <Problem thrown={pause.error} />}
            </PauseSwitch>
          )}
          {data && (
            <WorkerTable
              workers={data.workers}
              busy={command.isPending ? command.variables : null}
              onCommand={(slot, action) => command.mutate({ slot, action })}
              onOpen={setOpened}
            />
          )}
          <div aria-live="polite" className="min-h-10">
            {command.data && !command.isPending && <Outcome answer={command.data} />}
            {command.error && !command.isPending && <Problem thrown={command.error} />}
          </div>
        </div>
        <WorkerPanel worker={data?.workers.find(({ slot }) => slot === opened) ?? null} onClose={() => setOpened(null)} />
      </main>
    </>
  );
}

function Outcome({ answer }: { answer: Answer }) {
  if ('accepted' in answer) return <Notice tone="neutral">{answer.slot}: asked for. This page goes on as soon as it is back.</Notice>;
  if (!answer.ok)
    return (
      <Notice tone="bad" title={`${answer.slot}: ${answer.action} failed`}>
        {answer.error && <WithCode text={answer.error} />}
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
