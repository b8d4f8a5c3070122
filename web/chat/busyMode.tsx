/** What becomes of a message that is sent while an answer is under way. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useConnection } from '../app/context.ts';
import type { BusyMode } from '../sessionState.ts';

export type SendMode = BusyMode | 'aside';

const words: Record<SendMode, string> = {
  queue: 'Waits its turn',
  steer: 'Joins the answer',
  interrupt: 'Stops the answer',
  aside: 'Asked aside',
};

/** As chosen here, else `display.busy_input_mode`. */
export function useBusyMode(): [SendMode, (mode: SendMode) => void] {
  const connection = useConnection();
  const [chosen, setChosen] = useState<SendMode | null>(null);
  const { data } = useQuery({
    queryKey: ['config', 'display.busy_input_mode'],
    queryFn: () => connection.callSafely('config.get', { key: 'display.busy_input_mode' }),
    staleTime: 60_000,
  });
  const configured = typeof data?.value === 'string' && data.value in words ? (data.value as BusyMode) : 'queue';
  return [chosen ?? configured, setChosen];
}

export function BusySelect({ mode, onChange }: { mode: SendMode; onChange: (mode: SendMode) => void }) {
  return (
    <select
      aria-label="What becomes of a message that is sent now"
      value={mode}
      onChange={({ target }) => onChange(target.value as SendMode)}
      className="h-8 max-w-40 min-w-0 rounded-lg bg-transparent px-1.5 text-sm text-soft hover:bg-sunken"
    >
      {Object.entries(words).map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}
