/**
 * Signing in at a model provider (reference/clients §1.4, OAuth providers): device code, or a browser with PKCE. The
 * agent worker of the profile runs the flows and owns the tokens; none of them is ever in an answer.
 */
import { z } from '../../base/lazyZod.ts';
import { rpcMethod, type Method } from '../method.ts';

export const signInStates = ['pending', 'approved', 'denied', 'expired', 'error'] as const;
export type SignInState = (typeof signInStates)[number];

export const SignInProvider = z.object({
  id: z.string(),
  name: z.string(),
  flow: z.enum(['pkce', 'device_code', 'external']),
  cli_command: z.string(),
  docs_url: z.string().nullable(),
  status: z.object({
    logged_in: z.boolean(),
    source: z.string().nullable(),
    source_label: z.string().nullable(),
    /** Never more than that there is one. */
    token_preview: z.string().nullable(),
    /** Of the access token; it is renewed by itself. RFC 3339. */
    expires_at: z.string().nullable(),
    /** Why it does not serve, with what to do. */
    error: z.string().nullable(),
  }),
});
export type SignInProvider = z.infer<typeof SignInProvider>;

/** Providers of config.yaml that offer a sign-in (`providers.<name>.oauth`). */
export const signInProviders = rpcMethod('oauth.providers', {
  params: z.strictObject({}),
  result: z.object({ providers: z.array(SignInProvider) }),
});

const Flow = z.string().max(64);

/** What a person needs to go on, by flow. */
export const PkceStarted = z.object({ flow: z.literal('pkce'), auth_url: z.string(), expires_in: z.number() });
export const DeviceStarted = z.object({
  flow: z.literal('device_code'),
  user_code: z.string(),
  verification_url: z.string(),
  /** With the code already in it; null where the provider gives none. */
  verification_url_complete: z.string().nullable(),
  expires_in: z.number(),
  poll_interval: z.number(),
});
const OfFlow = { flow_id: z.string() };
export const SignInStarted = z.discriminatedUnion('flow', [PkceStarted.extend(OfFlow), DeviceStarted.extend(OfFlow)]);
export type SignInStarted = z.infer<typeof SignInStarted>;

/** Begins a flow; another open one of the same provider ends. Errors: NOT_FOUND, PROVIDER_SIGN_IN_FAILED, QUEUE_FULL. */
export const signInStart = rpcMethod('oauth.start', {
  params: z.strictObject({ provider: z.string().max(200) }),
  result: SignInStarted,
  timeoutMs: 30_000,
});

/** The code, or the whole address the browser ended at. Errors: NOT_FOUND. */
export const signInSubmit = rpcMethod('oauth.submit', {
  params: z.strictObject({ flow_id: Flow, code: z.string().min(1).max(4_000) }),
  result: z.object({ ok: z.boolean(), status: z.enum(signInStates), message: z.string().nullable() }),
  timeoutMs: 30_000,
});

export const SignInSeen = z.object({
  status: z.enum(signInStates),
  error_message: z.string().nullable(),
  expires_at: z.string(),
});

/** Errors: NOT_FOUND. */
export const signInPoll = rpcMethod('oauth.poll', {
  params: z.strictObject({ flow_id: Flow }),
  result: SignInSeen.extend(OfFlow),
});

/** Errors: NOT_FOUND. */
export const signInCancel = rpcMethod('oauth.cancel', {
  params: z.strictObject({ flow_id: Flow }),
  result: z.object({ ok: z.literal(true) }),
});

/** Forgets the tokens of a provider. Errors: NOT_FOUND, LOCK_HELD, DISK_FULL. */
export const signOut = rpcMethod('oauth.logout', {
  params: z.strictObject({ provider: z.string().max(200) }),
  result: z.object({ ok: z.literal(true), provider: z.string() }),
});

export const signInMethods: readonly Method[] = [signInProviders, signInStart, signInSubmit, signInPoll, signInCancel, signOut];
