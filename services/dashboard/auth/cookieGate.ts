/**
 * The gate of signed-in browsers: cookies in, cookies out. A request is let in by its access cookie; one
 * that is about to end is renewed on the way, once for all requests that come together.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { z } from 'zod';
import { AgentError, isAgentError, messageOf } from '../../../base/errors.ts';
import { digest } from '../../../base/ids.ts';
import { limits } from '../../../base/limits.ts';
import type { Logger } from '../../../base/log.ts';
import type { SignInSettings } from '../../../state/config/signIn.ts';
import { cookiesOf, setCookie, type CookieJar } from './cookies.ts';
import { requireOwnPage } from './csrf.ts';
import type { Door, Gate, SharedParts } from './contract.ts';
import { createOneTime } from './oneTime.ts';
import { isPassword, type Provider, type RedirectProvider } from './provider.ts';
import { sessionOver, signInNeeded } from './refusal.ts';
import { createSeal } from './seal.ts';
import {
  ACCESS_COOKIE,
  createSessions,
  HINT_COOKIE,
  identityOf,
  isOver,
  REFRESH_COOKIE,
  type Renewal,
  type Session,
  type Sessions,
} from './session.ts';
import { createSessionWatch, type SessionWatch } from './sessionWatch.ts';
import { openSignInFile, type SignInFile } from './signInFile.ts';
import { createTries, type Tries } from './tries.ts';

/** One per sign-in under way, so that two tabs do not disturb each other. */
const FLOW_COOKIE = 'agent_signin_';

/** The word that a browser brings back from the provider on its way out. */
const FAREWELL_COOKIE = { name: 'agent_signout', path: '/auth/signed-out' } as const;

const Flow = z.object({
  provider: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
  until: z.number(),
});

interface Parts {
  shared: SharedParts;
  providers: readonly Provider[];
  settings: SignInSettings;
  /** Path of the private file. */
  file: string;
  log: Logger;
}

interface Inside extends Parts {
  sessions: Sessions;
  kept: SignInFile;
  watch: SessionWatch;
  tries: Tries;
  secret: string;
  renew(jar: CookieJar): Promise<Renewed | undefined>;
}

interface Renewed {
  session: Session;
  refresh: string | undefined;
  /** Undefined: what the browser has stays. */
  hint: string | undefined;
}

export function createCookieGate(parts: Parts): Gate {
  const { shared, providers, settings } = parts;
  const kept = openSignInFile(parts.file);
  const secret = settings.secret ?? kept.secret;
  const sessions = createSessions(providers, secret, kept);
  const watch = createSessionWatch(kept);
  const inside: Inside = { ...parts, sessions, kept, watch, secret, tries: createTries(), renew: createRenewal(parts, sessions, watch) };
  const tickets = createOneTime<Session>({ seconds: limits.signIn.ticketSeconds });
  const sessionOf = (request: IncomingMessage): Session | undefined => sessions.read(jarOf(request, shared).get(ACCESS_COOKIE));
  const renewedOn = new WeakMap<FastifyReply, Session>();
  const valid = (request: IncomingMessage): Session | undefined => {
    const session = sessionOf(request);
    return session && !isOver(session) ? session : undefined;
  };
  return {
    ...shared,
    mode: 'signIn',
    providers,
    flows: ['cookie'],
    whoIs(request) {
      const session = valid(request);
      return session ? identityOf(session) : null;
    },
    async admit(request, reply) {
      requireOwnPage(request, shared.clients.originOf(request));
      const session = await admitted(inside, request, reply, sessionOf(request));
      renewedOn.set(reply, session);
      return identityOf(session);
    },
    ticketFor(request, reply) {
      // The request that asks may have been renewed on its way in.
      const session = renewedOn.get(reply) ?? valid(request);
      if (!session) throw signInNeeded();
      return tickets.issue(session, session.sid);
    },
    socketPass(_request, query) {
      const session = tickets.take(query.get('ticket'));
      if (!session || isOver(session) || kept.hasEnded(session.sid)) return null;
      return { who: identityOf(session), watch: (end) => watch.add(session, end) };
    },
    isRelieved: () => kept.isRelieved() || shared.token.isRelieved(),
    door: createDoor(inside),
    [Symbol.dispose]() {
      watch[Symbol.dispose]();
      shared.token[Symbol.dispose]();
    },
  };
}

const isSecure = (request: IncomingMessage, { clients }: SharedParts): boolean => clients.originOf(request).startsWith('https:');
const jarOf = (request: IncomingMessage, shared: SharedParts): CookieJar => cookiesOf(request, isSecure(request, shared));

/** Renews what is over, or nearly. */
async function admitted(inside: Inside, request: IncomingMessage, reply: FastifyReply, session: Session | undefined): Promise<Session> {
  const { shared, renew, sessions } = inside;
  if (session && session.until - Date.now() > limits.signIn.sessionMinSeconds * 1_000) return session;
  const jar = jarOf(request, shared);
  const usable = session && !isOver(session) ? session : undefined;
  try {
    const renewed = await renew(jar);
    if (renewed) {
      writeCookies(reply, isSecure(request, shared), renewed, sessions);
      return renewed.session;
    }
  } catch (thrown) {
    // The provider is away: a session that still counts goes on.
    if (!usable) throw thrown;
  }
  if (usable) return usable;
  if (jar.get(ACCESS_COOKIE) === undefined) throw signInNeeded();
  removeCookies(reply, isSecure(request, shared));
  throw session ? sessionOver() : signInNeeded();
}

/** Undefined when there is nothing to renew with, or the provider refuses. Errors: SIGN_IN_UNAVAILABLE. */
function createRenewal({ providers, log }: Parts, sessions: Sessions, watch: SessionWatch): Inside['renew'] {
  /** Refresh tokens may be good once: whoever comes with the same cookie in these seconds gets the same answer. */
  const shared = new Map<string, Promise<Renewed | undefined>>();
  const ask = async (renewal: Renewal): Promise<Renewed | undefined> => {
    const provider = providers.find(({ id }) => id === renewal.provider);
    if (provider?.kind !== 'redirect') return undefined;
    try {
      const { person, seconds, refreshToken, idToken } = await provider.renew(renewal.refreshToken);
      const session = sessions.renewed(renewal, person, seconds);
      watch.renewed(session);
      const hint = idToken && sessions.sealHint(session, idToken);
      return { session, refresh: refreshToken && sessions.seal(session, refreshToken), hint };
    } catch (thrown) {
      if (isAgentError(thrown) && thrown.code === 'SIGN_IN_UNAVAILABLE') throw thrown;
      log.info(`${renewal.provider} does not renew a session: ${messageOf(thrown)}`);
      return undefined;
    }
  };
  return async (jar) => {
    const cookie = jar.get(REFRESH_COOKIE);
    const renewal = sessions.unseal(cookie);
    if (!renewal || !cookie) return undefined;
    const key = digest(cookie);
    const known = shared.get(key);
    if (known) return known;
    const asking = ask(renewal);
    shared.set(key, asking);
    const forget = () => shared.delete(key);
    asking.then(() => setTimeout(forget, limits.signIn.renewalSharedMs).unref(), forget);
    return asking;
  };
}

function writeCookies(reply: FastifyReply, secure: boolean, { session, refresh, hint }: Renewed, sessions: Sessions): void {
  // The access cookie outlives its session, so that the server can say "over" instead of "nobody".
  const seconds = limits.signIn.renewalsMaxSeconds;
  void reply.header('Set-Cookie', setCookie(ACCESS_COOKIE, sessions.sign(session), { secure, seconds }));
  void reply.header('Set-Cookie', setCookie(REFRESH_COOKIE, refresh ?? '', { secure, seconds: refresh ? seconds : 0 }));
  if (hint) void reply.header('Set-Cookie', setCookie(HINT_COOKIE.name, hint, { secure, seconds, path: HINT_COOKIE.path }));
}

function removeCookies(reply: FastifyReply, secure: boolean): void {
  for (const name of [ACCESS_COOKIE, REFRESH_COOKIE]) void reply.header('Set-Cookie', setCookie(name, '', { secure, seconds: 0 }));
  void reply.header('Set-Cookie', setCookie(HINT_COOKIE.name, '', { secure, seconds: 0, path: HINT_COOKIE.path }));
}

function createDoor(inside: Inside): Door {
  const { shared, providers, sessions, kept, watch, tries, log } = inside;
  const flows = createSeal(inside.secret, 'flow');
  const secureOf = (request: IncomingMessage) => isSecure(request, shared);

  const leave = async (request: IncomingMessage, reply: FastifyReply, provider: RedirectProvider, idToken: string | undefined) => {
    const state = randomBytes(16).toString('base64url');
    const { name, path } = FAREWELL_COOKIE;
    const farewell = await provider.farewell({ back: `${shared.clients.originOf(request)}${path}`, state, idToken });
    const seconds = limits.signIn.farewellSeconds;
    if (farewell) void reply.header('Set-Cookie', setCookie(name, state, { secure: secureOf(request), seconds, path }));
    return farewell;
  };

  const door: Door = {
    open(request, reply, provider, { person, seconds, refreshToken, idToken }) {
      const session = sessions.begin(person, seconds);
      const refresh = refreshToken === undefined ? undefined : sessions.seal(session, refreshToken);
      if (refreshToken !== undefined && refresh === undefined)
        log.warn(`${provider.id}: its refresh token does not fit a cookie, so people sign in again when a session ends`);
      const hint = idToken === undefined ? undefined : sessions.sealHint(session, idToken);
      writeCookies(reply, secureOf(request), { session, refresh, hint }, sessions);
      log.info(`signed in by ${provider.id}`, { user: person.user_id, from: shared.clients.addressOf(request) });
      return session;
    },
    async close(request, reply) {
      const jar = jarOf(request, shared);
      const session = sessions.read(jar.get(ACCESS_COOKIE));
      const renewal = sessions.unseal(jar.get(REFRESH_COOKIE));
      removeCookies(reply, secureOf(request));
      if (session) {
        kept.end(session.sid, Date.now() + limits.signIn.renewalsMaxSeconds * 1_000);
        watch.end(session.sid);
      }
      const provider = providers.find(({ id }) => id === (session ?? renewal)?.provider);
      if (renewal && provider?.kind === 'redirect') await provider.revoke(renewal.refreshToken);
      if (!session) return { who: null, farewell: undefined };
      const idToken = sessions.hintOf(session, jar.get(HINT_COOKIE.name, HINT_COOKIE.path));
      return {
        who: identityOf(session),
        farewell: provider?.kind === 'redirect' ? await leave(request, reply, provider, idToken) : undefined,
      };
    },
    isBack(request, reply) {
      const { name, path } = FAREWELL_COOKIE;
      const state = jarOf(request, shared).get(name, path);
      const given = new URLSearchParams((request.url ?? '').split('?', 2)[1]).get('state');
      void reply.header('Set-Cookie', setCookie(name, '', { secure: secureOf(request), seconds: 0, path }));
      return state !== undefined && state === given;
    },
    async begin(request, reply, provider, wanted) {
      const next = wanted.length > limits.signIn.nextMaxChars ? '/' : wanted;
      const { address, secrets } = await provider.begin(callbackOf(request, shared));
      const seconds = limits.signIn.flowSeconds;
      const flow = { ...secrets, provider: provider.id, next, until: Date.now() + seconds * 1_000 } satisfies z.infer<typeof Flow>;
      const secure = secureOf(request);
      // Each weighs on every request: who is led here again and again must not be locked out by the size of his cookies.
      const older = jarOf(request, shared).names(FLOW_COOKIE);
      for (const name of older.slice(0, Math.max(0, older.length + 1 - limits.signIn.flowsMax)))
        void reply.header('Set-Cookie', setCookie(name, '', { secure, seconds: 0 }));
      const name = FLOW_COOKIE + digest(secrets.state, 16);
      void reply.header('Set-Cookie', setCookie(name, flows.seal(flow), { secure, seconds }));
      return address;
    },
    async finish(request, reply) {
      const query = new URLSearchParams((request.url ?? '').split('?', 2)[1]);
      const name = FLOW_COOKIE + digest(query.get('state') ?? '', 16);
      const flow = Flow.safeParse(flows.unseal(jarOf(request, shared).get(name))).data;
      void reply.header('Set-Cookie', setCookie(name, '', { secure: secureOf(request), seconds: 0 }));
      const provider = providers.find(({ id }) => id === flow?.provider);
      if (!flow || provider?.kind !== 'redirect' || flow.until < Date.now())
        throw new AgentError('SIGN_IN_FAILED', 'this sign-in was not begun in this browser, or too long ago', {
          fix: 'sign in again',
          facts: { page: 'stale' },
        });
      const current = new URL(`${callbackOf(request, shared)}?${query.toString()}`);
      const session = door.open(request, reply, provider, await provider.finish(current, flow));
      return { session, next: flow.next };
    },
    async checkPassword(request, reply, { username, password }) {
      const from = shared.clients.addressOf(request);
      tries.count(from);
      const provider = providers.find(isPassword);
      const person = await provider?.check(username, password);
      if (!provider || !person) {
        log.warn('a sign-in with a password was refused', { from });
        throw new AgentError('SIGN_IN_FAILED', 'the user name or the password is wrong', { facts: { page: 'wrong' } });
      }
      tries.forget(from);
      return door.open(request, reply, provider, { person, seconds: provider.sessionSeconds });
    },
  };
  return door;
}

/** Where providers send browsers back to. Theirs is the list of those that are allowed. */
const callbackOf = (request: IncomingMessage, { clients }: SharedParts): string => `${clients.originOf(request)}/auth/callback`;
