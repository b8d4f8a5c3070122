/** What the place asks about, once for all of its parts. */
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import type { RouteKey, RouteOf } from '../../ipc/contracts/http/table.ts';
import type { AnswerOf } from '../../ipc/httpRoute.ts';
import { request } from '../api.ts';
import { useProfile } from '../app/profile.ts';

export type Answer<K extends RouteKey> = AnswerOf<RouteOf<K>>;
export type ModelOptions = Answer<'GET /api/model/options'>;
export type ProviderRow = ModelOptions['providers'][number];
export type ModelRow = ProviderRow['models'][number];
export type EnvRows = Answer<'GET /api/env'>;
export type SignInProvider = Answer<'GET /api/providers/oauth'>['providers'][number];

/** Asked once more when the lists of the providers are there: windows stand in them. */
export function useModelInfo() {
  const profile = useProfile();
  const { isSuccess: listed } = useOptions();
  return useQuery({
    queryKey: ['models', 'info', profile, listed],
    queryFn: ({ signal }) => request('GET /api/model/info', { query: { profile }, signal }),
    placeholderData: keepPreviousData,
  });
}

export function useAuxiliary() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['models', 'auxiliary', profile],
    queryFn: ({ signal }) => request('GET /api/model/auxiliary', { query: { profile }, signal }),
  });
}

/** Providers with what they lack, and their models. */
export function useOptions() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['models', 'options', profile],
    queryFn: ({ signal }) => request('GET /api/model/options', { query: { profile, include_unconfigured: true }, signal }),
    staleTime: 10_000,
  });
}

export function useSignIns() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['models', 'oauth', profile],
    queryFn: ({ signal }) => request('GET /api/providers/oauth', { query: { profile }, signal }),
  });
}

export function useEnv() {
  const profile = useProfile();
  return useQuery({
    queryKey: ['models', 'env', profile],
    queryFn: ({ signal }) => request('GET /api/env', { query: { profile }, signal }),
  });
}

/** After a change everything here may be another. */
export function useAskAgain(): () => Promise<void> {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: ['models'] });
}
