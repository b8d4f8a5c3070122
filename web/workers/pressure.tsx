/** Says that memory or disk run short, the more urgent first, one at a time. Put away until the machine boots again. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../api.ts';
import { Button } from '../ui/button.tsx';
import { Command, Notice } from '../ui/notice.tsx';

const LOOK_MS = 10_000;
const STORED = 'agent.pressure.seen';

export function PressureNotice() {
  const [seen, setSeen] = useState(() => localStorage.getItem(STORED) ?? '');
  const { data } = useQuery({
    queryKey: ['status'],
    queryFn: ({ signal }) => request('GET /api/status', { signal }),
    refetchInterval: LOOK_MS,
  });
  if (!data) return null;
  const { memory, disk } = data;
  const found = [
    {
      what: 'memory',
      pressure: memory.pressure,
      words: `${memory.system_available_mb ?? '?'} MB of ${memory.system_total_mb ?? '?'} MB are left`,
    },
    { what: 'disk', pressure: disk.pressure, words: `${disk.free_mb ?? '?'} MB are free where the home lies` },
  ]
    .filter(({ pressure }) => pressure === 'critical' || pressure === 'elevated')
    .toSorted((a, b) => Number(b.pressure === 'critical') - Number(a.pressure === 'critical'))[0];
  const key = found && `${memory.boot_id ?? ''} ${found.what} ${found.pressure}`;
  if (!found || key === seen) return null;
  const putAway = () => {
    localStorage.setItem(STORED, key!);
    setSeen(key!);
  };
  return (
    <Notice
      tone={found.pressure === 'critical' ? 'bad' : 'warn'}
      title={found.what === 'memory' ? 'Memory runs short' : 'The disk is nearly full'}
      actions={
        <Button weight="quiet" onClick={putAway}>
          Dismiss
        </Button>
      }
    >
      {found.words}.{' '}
      {found.what === 'memory' ? (
        'Stop a worker that you do not need, or give the machine more memory.'
      ) : (
        <>
          Old conversations go with <Command>agent sessions prune</Command>.
        </>
      )}
    </Notice>
  );
}
