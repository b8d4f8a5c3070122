/** Who is signed in, tickets for WebSockets, and the providers that are set up. */
import { limits } from '../../../base/limits.ts';
import { createTicket, getMe, listProviders } from '../../../ipc/contracts/http/auth.ts';
import { GateRefusal, LOGIN_PATH } from '../auth/refusal.ts';
import type { Dashboard } from '../http.ts';
import { on, type HttpHandler } from '../route.ts';

export function authRoutes({ gate }: Dashboard): HttpHandler[] {
  return [
    on(getMe, ({ who }) => {
      if (gate.mode === 'signIn' && who) return who;
      throw new GateRefusal('not_gated', null, 'nobody signs in here: the session token is all there is', 'go on as you are');
    }),
    on(createTicket, ({ request, reply }) => ({ ticket: gate.ticketFor(request.raw, reply), ttl_seconds: limits.signIn.ticketSeconds })),
    on(listProviders, () => ({
      providers: gate.providers.map(({ id, label, kind }) => ({
        id,
        label,
        kind,
        login_url: kind === 'redirect' ? `/auth/login?provider=${encodeURIComponent(id)}` : LOGIN_PATH,
      })),
    })),
  ];
}
