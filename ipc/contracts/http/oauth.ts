/** Signing in at model providers over HTTP (reference/clients §1.4, OAuth providers). The agent worker runs the flows; no token is ever in an answer. */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';
import { Profile } from './profileField.ts';
import { DeviceStarted, PkceStarted, signInCancel, signInProviders, SignInSeen, signInSubmit, signOut } from '../rpcSignIn.ts';

const shared = { tag: 'Provider sign-in', profile: true } as const;
const Id = z.object({ id: z.string().min(1).max(200) });
const OfFlow = { session_id: z.string() };
export const listOauthProviders = httpRoute('GET /api/providers/oauth', {
  ...shared,
  summary: 'Providers that offer a sign-in, and whether one serves.',
  result: signInProviders.result,
});

export const startOauth = httpRoute('POST /api/providers/oauth/:id/start', {
  ...shared,
  summary: 'Begins a sign-in: an address for the browser (pkce), or a code to type elsewhere (device_code).',
  params: Id,
  body: z.strictObject({ profile: Profile }),
  result: z.discriminatedUnion('flow', [PkceStarted.extend(OfFlow), DeviceStarted.extend(OfFlow)]),
  errors: ['NOT_FOUND', 'PROVIDER_SIGN_IN_FAILED', 'QUEUE_FULL'],
});

export const submitOauth = httpRoute('POST /api/providers/oauth/:id/submit', {
  ...shared,
  summary: 'Ends a browser sign-in by hand: the code, or the whole address where the browser ended.',
  params: Id,
  body: z.strictObject({ session_id: z.string().max(64), code: z.string().min(1).max(4_000), profile: Profile }),
  result: signInSubmit.result,
  errors: ['NOT_FOUND'],
});

export const pollOauth = httpRoute('GET /api/providers/oauth/:id/poll/:session', {
  ...shared,
  summary: 'How a sign-in stands.',
  params: Id.extend({ session: z.string().min(1).max(64) }),
  result: SignInSeen.extend(OfFlow),
  errors: ['NOT_FOUND'],
});

export const deleteOauth = httpRoute('DELETE /api/providers/oauth/:id', {
  ...shared,
  summary: 'Signs out: forgets the tokens of a provider.',
  params: Id,
  result: signOut.result,
  errors: ['NOT_FOUND', 'LOCK_HELD', 'DISK_FULL'],
});

export const cancelOauth = httpRoute('DELETE /api/providers/oauth/sessions/:session', {
  ...shared,
  summary: 'Gives up a sign-in that has not ended.',
  params: z.object({ session: z.string().min(1).max(64) }),
  result: signInCancel.result,
  errors: ['NOT_FOUND'],
});
