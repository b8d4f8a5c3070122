/**
 * The sign-in outside of /api/: the page with its form, the way to a provider and back, the way out; and the
 * exchange of a login code where the session token serves. Forms of ours need no script and carry no header,
 * so they are told from foreign ones by what the browser says of their origin.
 */
import type { FastifyInstance, FastifyReply } from 'fastify';
import { z } from 'zod';
import { AgentError, isAgentError, messageOf } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { isDirect } from '../guard.ts';
import type { Dashboard } from '../http.ts';
import { parseRequest } from '../problem.ts';
import { requireSameSite } from './csrf.ts';
import type { Door } from './contract.ts';
import { loginPage, loginProblems, safeNext, type LoginProblem } from './loginPage.ts';
import { LOGIN_PATH } from './refusal.ts';
import { identityOf } from './session.ts';

const Credentials = z.object({
  username: z.string().max(limits.signIn.usernameMaxChars),
  password: z.string().max(limits.signIn.passwordMaxChars),
  next: z.string().max(2_000).optional(),
});
const SIGNED_OUT = `${LOGIN_PATH}?problem=over`;
const Code = z.strictObject({ code: z.string().max(200) });

const FORM = 'application/x-www-form-urlencoded';
/** A form of two fields and a place to go. */
const FORM_MAX_BYTES = 16 * 1024;

/** Where somebody signs in who wanted to go to `wanted`. */
export const loginAddress = (wanted: string): string => {
  const next = safeNext(wanted);
  return next === '/' ? LOGIN_PATH : `${LOGIN_PATH}?${new URLSearchParams({ next }).toString()}`;
};

export function addSignInRoutes(app: FastifyInstance, dashboard: Dashboard): void {
  // Forms are read here and nowhere else: another route that took them could be called by any page.
  void app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: FORM_MAX_BYTES }, (_request, body, done) =>
      done(null, Object.fromEntries(new URLSearchParams(body as string))),
    );
    scope.addHook('onRequest', async (_request, reply) => void reply.header('Cache-Control', 'no-store'));
    // Who comes here is about to sign in.
    scope.addHook('onRoute', (route) => void (route.config = { ...route.config, access: 'public' }));
    const { door } = dashboard.gate;
    if (door) addDoor(scope, dashboard, door);
    else addTokenDoor(scope, dashboard);
  });
}

/** Without a gate nobody signs in; a login address is exchanged for the token. */
function addTokenDoor(app: FastifyInstance, { gate, token, binding }: Dashboard): void {
  app.get(LOGIN_PATH, (_request, reply) => reply.redirect('/', 302));
  app.post('/auth/code', (request, reply) => {
    requireSameSite(request.raw, gate.clients.originOf(request.raw));
    if (!gate.codes.take(parseRequest(Code, request.body).code))
      throw new AgentError('UNAUTHENTICATED', 'this login code was used before, or has expired', {
        fix: '`agent dashboard` prints a new one',
      });
    if (isDirect(request.raw, binding)) gate.browsers?.give(request.raw, reply);
    return { token: token.value };
  });
}

function addDoor(app: FastifyInstance, { gate, context: { log } }: Dashboard, door: Door): void {
  app.get(LOGIN_PATH, (request, reply) => {
    const { next, problem } = request.query as { next?: unknown; problem?: string };
    if (problem === undefined && gate.whoIs(request.raw)) return reply.redirect(safeNext(next), 303);
    const known = problem !== undefined && Object.hasOwn(loginProblems, problem) ? (problem as LoginProblem) : undefined;
    const { html, policy } = loginPage({ providers: gate.providers, next: safeNext(next), problem: known });
    return reply.header('Content-Security-Policy', policy).type('text/html; charset=utf-8').send(html);
  });

  app.get('/auth/login', async (request, reply) => {
    const { provider: id, next } = request.query as { provider?: unknown; next?: unknown };
    const redirects = gate.providers.filter((one) => one.kind === 'redirect');
    const provider = id === undefined ? redirects[0] : redirects.find((one) => one.id === id);
    if (!provider) return backToLogin(reply, { next: safeNext(next) });
    try {
      return await reply.redirect((await door.begin(request.raw, reply, provider, safeNext(next))).href, 302);
    } catch (thrown) {
      log.warn(`the sign-in with ${provider.id} cannot begin: ${messageOf(thrown)}`);
      return backToLogin(reply, { next: safeNext(next), problem: problemFor(thrown) });
    }
  });

  app.get('/auth/callback', async (request, reply) => {
    try {
      const { next } = await door.finish(request.raw, reply);
      return await reply.redirect(next, 303);
    } catch (thrown) {
      log.warn(`a sign-in was not finished: ${messageOf(thrown)}`, { from: gate.clients.addressOf(request.raw) });
      return backToLogin(reply, { next: '/', problem: problemFor(thrown) });
    }
  });

  app.post('/auth/password-login', async (request, reply) => {
    const form = (request.headers['content-type'] ?? '').startsWith(FORM);
    const next = safeNext((request.body as { next?: unknown } | null)?.next);
    try {
      requireSameSite(request.raw, gate.clients.originOf(request.raw));
      const session = await door.checkPassword(request.raw, reply, parseRequest(Credentials, request.body));
      return form ? await reply.redirect(next, 303) : { ...identityOf(session), next };
    } catch (thrown) {
      if (!form || !isAgentError(thrown)) throw thrown;
      return backToLogin(reply, { next, problem: problemFor(thrown) });
    }
  });

  app.post('/auth/logout', async (request, reply) => {
    requireSameSite(request.raw, gate.clients.originOf(request.raw));
    const { who, farewell } = await door.close(request.raw, reply);
    if (who) log.info('signed out', { user: who.user_id, from: gate.clients.addressOf(request.raw) });
    const next = farewell?.href ?? SIGNED_OUT;
    // A script cannot read where a redirect leads, and must not follow one to another site.
    return (request.headers.accept ?? '').includes('application/json') ? { next } : reply.redirect(next, 302);
  });

  app.get('/auth/signed-out', (request, reply) => reply.redirect(door.isBack(request.raw, reply) ? SIGNED_OUT : LOGIN_PATH, 303));
}

function backToLogin(reply: FastifyReply, { next, problem }: { next: string; problem?: LoginProblem }): FastifyReply {
  const query = new URLSearchParams({ ...(next === '/' ? {} : { next }), ...(problem ? { problem } : {}) });
  return reply.redirect(query.size ? `${LOGIN_PATH}?${query.toString()}` : LOGIN_PATH, 303);
}

/** In general words: why exactly stands in the log, not on a page that strangers see. */
function problemFor(thrown: unknown): LoginProblem {
  switch (isAgentError(thrown) ? thrown.code : undefined) {
    case 'TOO_MANY_TRIES':
      return 'many';
    case 'QUEUE_FULL':
      return 'busy';
    case 'SIGN_IN_UNAVAILABLE':
      return 'away';
    case 'FORBIDDEN_REQUEST':
      return 'forged';
    case 'BAD_REQUEST':
      return 'wrong';
    default:
      return isAgentError(thrown) && thrown.facts?.page !== undefined ? (thrown.facts.page as LoginProblem) : 'refused';
  }
}
