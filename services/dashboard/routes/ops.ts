/** Checks, the cost of a prompt, and how far a command of the page has come. */
import { actionStatus, getPromptSize, runDoctor } from '../../../ipc/contracts/http/ops.ts';
import { promptSize } from '../../../ipc/contracts/rpcSessions.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function opsRoutes({ actions, agentOf }: Dashboard): HttpHandler[] {
  return [
    on(actionStatus, ({ params: { name }, query: { lines } }) => actions.status(name, lines)),
    on(runDoctor, ({ body: { online, fix }, profile }) =>
      actions.start('doctor', ['doctor', '--json', ...(online ? ['--online'] : []), ...(fix ? ['--fix'] : [])], profile),
    ),
    on(getPromptSize, ({ query: { platform }, profile, signal }) =>
      agentOf(profile).call(promptSize, platform === undefined ? {} : { platform }, { signal }),
    ),
  ];
}
