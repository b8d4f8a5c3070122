/** What the place of tool servers asks and changes. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { McpServer } from '../../ipc/contracts/http/mcp.ts';
import { ApiError, request } from '../api.ts';
import { useProfile } from '../app/profile.ts';

const LOOK_MS = 5_000;
const MOVING_LOOK_MS = 1_000;
const moving = ({ state }: McpServer): boolean => state === 'connecting' || state === 'retrying';

export function useServers() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['mcp', profile, 'servers'],
    queryFn: ({ signal }) => request('GET /api/mcp/servers', { query: { profile }, signal }),
    refetchInterval: ({ state }) => (state.data?.servers.some(moving) ? MOVING_LOOK_MS : LOOK_MS),
  });
}

export function useCatalog() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['mcp', profile, 'catalog'],
    queryFn: ({ signal }) => request('GET /api/mcp/catalog', { query: { profile }, signal }),
  });
}

/** Servers and catalogue are asked again. */
export function useRefresh(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['mcp'] });
}

export function useEnable() {
  const profile = useProfile();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: ({ name, enabled }: { name: string; enabled: boolean }) =>
      request('PUT /api/mcp/servers/:name/enabled', { params: { name }, body: { enabled, profile } }),
    onSettled: refresh,
  });
}

export function useTest() {
  const profile = useProfile();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (name: string) => request('POST /api/mcp/servers/:name/test', { params: { name }, body: { profile } }),
    onSettled: refresh,
  });
}

/** Messages of a refused form by field. */
export const fieldErrors = (thrown: Error | null): Record<string, string> =>
  thrown instanceof ApiError ? Object.fromEntries(thrown.errors.map(({ path, message }) => [path, message])) : {};
