/** What stands ready to answer; asked again whenever the agent worker is new. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useConnection } from '../app/context.ts';
import type { Answer } from '../connection.ts';

export function useSetup(): Answer<'setup.status'> | undefined {
  const connection = useConnection();
  const queries = useQueryClient();
  useEffect(
    () =>
      connection.onEvent(({ type }) => {
        if (type === 'gateway.ready' || type === 'setup.ready') void queries.invalidateQueries({ queryKey: ['setup'] });
      }),
    [connection, queries],
  );
  return useQuery({ queryKey: ['setup'], queryFn: () => connection.callSafely('setup.status', {}) }).data;
}
