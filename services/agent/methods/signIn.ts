/** Methods of the gateway RPC about sign-ins at model providers. */
import { signInCancel, signInPoll, signInProviders, signInStart, signInSubmit, signOut } from '../../../ipc/contracts/rpcSignIn.ts';
import { handle, type Handler } from '../../../ipc/link.ts';
import type { SessionParts } from '../sessions.ts';

export function signInHandlers({ desk: { signIns } }: Pick<SessionParts, 'desk'>): Handler[] {
  return [
    handle(signInProviders, () => ({ providers: signIns.providers() })),
    handle(signInStart, ({ provider }) => signIns.start(provider)),
    handle(signInSubmit, ({ flow_id, code }) => signIns.submit(flow_id, code)),
    handle(signInPoll, ({ flow_id }) => signIns.poll(flow_id)),
    handle(signInCancel, ({ flow_id }) => {
      signIns.cancel(flow_id);
      return { ok: true as const };
    }),
    handle(signOut, async ({ provider }) => {
      await signIns.signOut(provider);
      return { ok: true as const, provider };
    }),
  ];
}
