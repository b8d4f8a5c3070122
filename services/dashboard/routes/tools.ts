/** Toolsets: listed by the agent worker of the profile, switched in its config.yaml as `agent tools` does it. */
import { AgentError } from '../../../base/errors.ts';
import * as contract from '../../../ipc/contracts/http/tools.ts';
import { toolsList } from '../../../ipc/contracts/rpcTools.ts';
import { disabledToolsets, switchToolset } from '../../../state/config/toolsets.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function toolRoutes({ agentOf }: Dashboard): HttpHandler[] {
  return [
    on(contract.listToolsets, async ({ query: { platform }, profile, signal }) => {
      const listed = await agentOf(profile).call(toolsList, platform === undefined ? {} : { platform }, { signal });
      const disabled = disabledToolsets(profile.config);
      const isOff = (name: string) => disabled.includes(name) || (name.startsWith('mcp-') && disabled.includes('mcp'));
      return { platform: listed.platform, toolsets: listed.toolsets.map((row) => ({ ...row, switched_off: isOff(row.name) })) };
    }),
    on(contract.switchToolset, async ({ params: { name }, body: { enabled }, profile, signal }) => {
      if (name !== 'mcp' && !name.startsWith('mcp-')) {
        const known = (await agentOf(profile).call(toolsList, {}, { signal })).toolsets.map((row) => row.name);
        if (!known.includes(name)) throw new AgentError('NOT_FOUND', `there is no toolset ${name}`, { fix: `known: ${known.join(', ')}` });
      }
      const { after } = await switchToolset(profile.config, name, enabled);
      return { ok: true as const, name, disabled_toolsets: after };
    }),
  ];
}
