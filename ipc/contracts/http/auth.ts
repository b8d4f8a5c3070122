/** Who is signed in, and the words that open a WebSocket (reference/clients §1.1). The sign-in itself stands outside of /api/. */
import { z } from '../../../base/lazyZod.ts';
import { httpRoute } from '../../httpRoute.ts';

export const getMe = httpRoute('GET /api/auth/me', {
  tag: 'Sign-in',
  summary: 'Who is signed in. 401 with `error: not_gated` where the session token is all there is.',
  result: z.object({
    user_id: z.string(),
    /** Empty when the provider does not tell. */
    email: z.string(),
    display_name: z.string(),
    org_id: z.string(),
    provider: z.string(),
    expires_at: z.string().nullable(),
  }),
});

export const createTicket = httpRoute('POST /api/auth/ws-ticket', {
  tag: 'Sign-in',
  summary: 'A word for one WebSocket (`?ticket=`): good once, for half a minute.',
  result: z.object({ ticket: z.string(), ttl_seconds: z.number() }),
});

export const listProviders = httpRoute('GET /api/auth/providers', {
  tag: 'Sign-in',
  summary: 'The ways to sign in that are set up.',
  result: z.object({
    providers: z.array(z.object({ id: z.string(), label: z.string(), kind: z.enum(['password', 'redirect']), login_url: z.string() })),
  }),
});
