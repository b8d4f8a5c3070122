/** Sign-ins at model providers over HTTP: handed on to the agent worker of the profile, which owns flows and tokens. What is a flow there is a `session_id` here (reference/clients §1.4). */
import { cancelOauth, deleteOauth, listOauthProviders, pollOauth, startOauth, submitOauth } from '../../../ipc/contracts/http/oauth.ts';
import { signInCancel, signInPoll, signInProviders, signInStart, signInSubmit, signOut } from '../../../ipc/contracts/rpcSignIn.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function oauthRoutes({ agentOf, context: { log } }: Dashboard): HttpHandler[] {
  return [
    on(listOauthProviders, ({ profile, signal }) => agentOf(profile).call(signInProviders, {}, { signal })),
    on(startOauth, async ({ params: { id }, profile, request }) => {
      log.info(`sign-in at ${id} begun`, { from: request.ip, profile: profile.name });
      const { flow_id, ...started } = await agentOf(profile).call(signInStart, { provider: id });
      return { session_id: flow_id, ...started };
    }),
    on(submitOauth, ({ body: { session_id, code }, profile }) => agentOf(profile).call(signInSubmit, { flow_id: session_id, code })),
    on(pollOauth, async ({ params: { session }, profile, signal }) => {
      const { flow_id, ...seen } = await agentOf(profile).call(signInPoll, { flow_id: session }, { signal });
      return { session_id: flow_id, ...seen };
    }),
    on(cancelOauth, ({ params: { session }, profile }) => agentOf(profile).call(signInCancel, { flow_id: session })),
    on(deleteOauth, ({ params: { id }, profile, request }) => {
      log.info(`sign-out of ${id} asked for`, { from: request.ip, profile: profile.name });
      return agentOf(profile).call(signOut, { provider: id });
    }),
  ];
}
