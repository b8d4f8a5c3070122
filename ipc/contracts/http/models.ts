/** Which model answers, over HTTP (reference/clients §1.4): asked of the agent worker of the profile. */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';
import { modelAuxiliary, modelInfo, ModelPick, modelSet } from '../rpcModels.ts';
import { modelOptions, setupRuntimeCheck } from '../rpcSettings.ts';

const Flag = z
  .union([z.boolean(), z.enum(['0', '1', 'true', 'false', ''])])
  .transform((value) => value === true || value === '1' || value === 'true');
const shared = { tag: 'Models', profile: true } as const;

export const getModelInfo = httpRoute('GET /api/model/info', {
  ...shared,
  summary: 'The model that answers new conversations, and what it can.',
  result: modelInfo.result,
});

export const getModelOptions = httpRoute('GET /api/model/options', {
  ...shared,
  summary: 'Providers with their models; with `include_unconfigured` also those that lack something, with what it is.',
  query: z.looseObject({ refresh: Flag.default(false), include_unconfigured: Flag.default(false) }),
  result: modelOptions.result,
});

export const getModelAuxiliary = httpRoute('GET /api/model/auxiliary', {
  ...shared,
  summary: 'Models of side work.',
  result: modelAuxiliary.result,
});

export const setModel = httpRoute('POST /api/model/set', {
  ...shared,
  summary: 'Chooses a model for good; an expensive one only when it is confirmed.',
  body: ModelPick.extend({ profile: z.string().max(64).optional() }),
  result: modelSet.result,
  errors: ['UNKNOWN_MODEL', 'NO_PROVIDER', 'CONFIG_INVALID', 'CONFIG_KEY', 'LOCK_HELD', 'DISK_FULL'],
});

export const checkModel = httpRoute('POST /api/model/check', {
  ...shared,
  summary: 'Whether a provider, or the one in use, can serve now: with the resolver that turns use; `probe` also asks its host.',
  body: z.strictObject({ provider: z.string().max(200).optional(), probe: z.boolean().optional(), profile: z.string().max(64).optional() }),
  result: setupRuntimeCheck.result,
});
