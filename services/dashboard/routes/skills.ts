/** Skills: asked of the agent worker of the profile, which owns them, with the same methods as `agent skills`. */
import * as contract from '../../../ipc/contracts/http/skills.ts';
import { skillSave, skillsList, skillToggle, skillView } from '../../../ipc/contracts/rpcTools.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function skillRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(contract.listSkills, ({ query: { platform }, profile, signal }) =>
      agentOf(profile).call(skillsList, platform === undefined ? {} : { platform }, { signal }),
    ),
    on(contract.toggleSkill, ({ body: { name, enabled }, profile, signal }) =>
      agentOf(profile).call(skillToggle, { name, enabled }, { signal }),
    ),
    on(contract.readSkill, ({ query: { name, file }, profile, signal }) => agentOf(profile).call(skillView, { name, file }, { signal })),
    on(contract.writeSkill, ({ body: { name, file, content, version }, profile, signal }) =>
      agentOf(profile).call(skillSave, { name, file, content, version }, { signal }),
    ),
    on(contract.createSkill, ({ body: { name, category, content }, profile, signal }) =>
      agentOf(profile).call(skillSave, { name, category, content, create: true }, { signal }),
    ),
  ];
}
