/** Sign-ins at model providers over HTTP: handed on to the agent worker of the profile, which owns flows and tokens. */
import { cancelOauth, deleteOauth, listOauthProviders, pollOauth, startOauth, submitOauth } from '../../../ipc/contracts/http/oauth.ts';
import { signInCancel, signInPoll, signInProviders, signInStart, signInSubmit, signOut } from '../../../ipc/contracts/rpcSignIn.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function oauthRoutes({ agentOf, context: { log } }: Dashboard): HttpHandler[] {
  return [
    on(listOauthProviders, ({ profile, signal }) => agentOf(profile).call(signInProviders, {}, { signal })),
    on(startOauth, ({ params: { id }, profile, request }) => {
      log.info(`sign-in at ${id} begun`, { from: request.ip, profile: profile.name });
      return agentOf(profile).call(signInStart, { provider: id });
    }),
    on(submitOauth, ({ body: { session_id, code }, profile }) => agentOf(profile).call(signInSubmit, { session_id, code })),
    on(pollOauth, ({ params: { session }, profile, signal }) => agentOf(profile).call(signInPoll, { session_id: session }, { signal })),
    on(cancelOauth, ({ params: { session }, profile }) => agentOf(profile).call(signInCancel, { session_id: session })),
    on(deleteOauth, ({ params: { id }, profile, request }) => {
      log.info(`sign-out of ${id} asked for`, { from: request.ip, profile: profile.name });
      return agentOf(profile).call(signOut, { provider: id });
    }),
  ];
}
