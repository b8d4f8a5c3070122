/** Models over HTTP: questions to the agent worker of the profile, which resolves and writes. */
import { checkModel, getModelAuxiliary, getModelInfo, getModelOptions, setModel } from '../../../ipc/contracts/http/models.ts';
import { modelAuxiliary, modelInfo, modelSet } from '../../../ipc/contracts/rpcModels.ts';
import { modelOptions, setupRuntimeCheck } from '../../../ipc/contracts/rpcSettings.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function modelRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(getModelInfo, ({ profile, signal }) => agentOf(profile).call(modelInfo, {}, { signal })),
    on(getModelOptions, ({ query: { refresh, include_unconfigured }, profile, signal }) =>
      agentOf(profile).call(modelOptions, { refresh, include_unconfigured }, { signal }),
    ),
    on(getModelAuxiliary, ({ profile, signal }) => agentOf(profile).call(modelAuxiliary, {}, { signal })),
    // What is written is written: a client that goes away does not leave it half done.
    on(setModel, ({ body: { profile: _profile, ...choice }, profile }) => agentOf(profile).call(modelSet, choice)),
    on(checkModel, ({ body: { provider, probe }, profile, signal }) =>
      agentOf(profile).call(setupRuntimeCheck, { provider, probe }, { signal }),
    ),
  ];
}
