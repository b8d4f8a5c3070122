/**
 * Who is let in (interface spec, Authentication 1 and 2). On loopback, and wherever `--insecure` was said,
 * whoever has the session token; where others can reach the dashboard, whoever a provider has signed in.
 * There is no third way: wide open without a provider, it does not open at all.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { limits } from '../../../base/limits.ts';
import type { WorkerContext } from '../../worker.ts';
import type { Binding } from '../binding.ts';
import { openSessionToken, tokenOf, type SessionToken } from '../guard.ts';
import { pinnedProfile } from '../pinned.ts';
import { createBasic } from './basic.ts';
import { createClients, type Clients } from './client.ts';
import { createCookieGate } from './cookieGate.ts';
import { localIdentity, type Identity } from './identity.ts';
import { createOidc } from './oidc.ts';
import { createOneTime, type OneTime } from './oneTime.ts';
import type { PasswordProvider, Provider, RedirectProvider, SignedIn } from './provider.ts';
import { tokenMissing } from './refusal.ts';
import type { Session } from './session.ts';

/** A WebSocket that may be opened. */
export interface SocketPass {
  who: Identity;
  /** Calls `end` when the session is over or signed out; answers how to stop watching. */
  watch(end: () => void): () => void;
}

export interface Gate extends Disposable {
  mode: 'token' | 'signIn';
  /** Offered on the sign-in page; none with the token. */
  providers: readonly Provider[];
  /** Ways in for programs that ask `/api/status`: `cookie`. */
  flows: readonly string[];
  clients: Clients;
  token: SessionToken;
  /** Codes of login addresses (`agent dashboard`), each good for the session token once. */
  codes: OneTime<true>;
  /** Whose request this is, as it stands: no renewal, no answer. */
  whoIs(request: IncomingMessage): Identity | null;
  /** Whose request this is, or a refusal; renews a session that is about to end. Errors: UNAUTHENTICATED (GateRefusal), FORBIDDEN_REQUEST, SIGN_IN_UNAVAILABLE. */
  admit(request: IncomingMessage, reply: FastifyReply): Promise<Identity>;
  /** A word for one WebSocket, bound to whoever asks. Errors: UNAUTHENTICATED. */
  ticketFor(request: IncomingMessage, reply: FastifyReply): string;
  /** Null: close it with 4401. */
  socketPass(request: IncomingMessage, query: URLSearchParams): SocketPass | null;
  /** Another process has taken over (planned restart). */
  isRelieved(): boolean;
  /** What only signed-in browsers have; undefined with the token. */
  door?: Door;
}

/** Coming in and going out by way of a provider. */
export interface Door {
  /** Cookies of a new session. Errors: SIGN_IN_FAILED. */
  open(request: IncomingMessage, reply: FastifyReply, provider: Provider, signedIn: SignedIn): Session;
  /** Ends the session here and at the provider, with every socket of it. */
  close(request: IncomingMessage, reply: FastifyReply): Promise<Identity | null>;
  begin(request: IncomingMessage, reply: FastifyReply, provider: RedirectProvider, next: string): Promise<URL>;
  /** Errors: SIGN_IN_FAILED, SIGN_IN_UNAVAILABLE. */
  finish(request: IncomingMessage, reply: FastifyReply): Promise<{ session: Session; next: string }>;
  /** Errors: SIGN_IN_FAILED, TOO_MANY_TRIES, QUEUE_FULL. */
  checkPassword(request: IncomingMessage, reply: FastifyReply, given: { username: string; password: string }): Promise<Session>;
}

export function openGate(context: WorkerContext, binding: Binding): Gate {
  const { home, relieves, redact, log } = context;
  const { settings, gated } = binding;
  const fileOf = (path: string) => (pinnedProfile(context) === null ? path : `${path}@${context.profile}`);
  const token = openSessionToken(fileOf(home.run.dashboardToken), { relieves, shown: !gated });
  redact.learn([token.value, ...(settings.secret === undefined ? [] : [settings.secret])]);
  const shared: SharedParts = {
    token,
    clients: createClients(settings),
    codes: createOneTime<true>({ seconds: limits.signIn.loginCodeSeconds }),
  };
  forgetSecrets(process.env);
  if (!gated) return createTokenGate(shared);
  const providers = settings.providers.map((one) => (one.kind === 'basic' ? createBasic(one) : createOidc(one, log)));
  return createCookieGate({ shared, providers, settings, file: fileOf(home.run.dashboardSignIn), log });
}

export interface SharedParts {
  token: SessionToken;
  clients: Clients;
  codes: OneTime<true>;
}

export const isPassword = (provider: Provider): provider is PasswordProvider => provider.kind === 'password';

/** They have been read: nothing that this process might ever start inherits them. */
function forgetSecrets(env: NodeJS.ProcessEnv): void {
  for (const name of ['PASSWORD', 'PASSWORD_HASH', 'SECRET']) delete env[`AGENT_DASHBOARD_BASIC_AUTH_${name}`];
}

function createTokenGate(shared: SharedParts): Gate {
  const { token } = shared;
  const tickets = createOneTime<true>({ seconds: limits.signIn.ticketSeconds });
  const whoIs = (request: IncomingMessage, query?: URLSearchParams) => (token.matches(tokenOf(request, query)) ? localIdentity : null);
  const require = (request: IncomingMessage): Identity => {
    const who = whoIs(request);
    if (!who) throw tokenMissing();
    return who;
  };
  return {
    ...shared,
    mode: 'token',
    providers: [],
    flows: [],
    whoIs: (request) => whoIs(request),
    admit: (request) => Promise.resolve().then(() => require(request)),
    ticketFor(request) {
      require(request);
      return tickets.issue(true);
    },
    socketPass(request, query) {
      const who = tickets.take(query.get('ticket')) ? localIdentity : whoIs(request, query);
      return who && { who, watch: () => () => {} };
    },
    isRelieved: () => token.isRelieved(),
    [Symbol.dispose]: () => token[Symbol.dispose](),
  };
}
