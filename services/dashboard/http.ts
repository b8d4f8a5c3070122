/**
 * The HTTP side: one fastify instance, the guard and the token before every route, problem+json for
 * every error. Routes that need no token say so in their config; everything else needs one.
 */
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type FastifyServerOptions } from 'fastify';
import { AgentError, messageOf } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { errorFields, type Logger } from '../../base/log.ts';
import type { Client } from '../../ipc/client.ts';
import type { Access } from '../../ipc/httpRoute.ts';
import type { ProfilePaths } from '../../state/home.ts';
import { isOtherUser } from '../../state/peerUser.ts';
import type { WorkerContext } from '../worker.ts';
import type { Actions } from './actions.ts';
import type { Binding } from './binding.ts';
import type { Gate } from './auth/contract.ts';
import type { Identity } from './auth/identity.ts';
import { addSignInRoutes, loginAddress } from './auth/routes.ts';
import { checkOrigin, tokenOf, type SessionToken } from './guard.ts';
import type { HostFigures } from './hostFigures.ts';
import type { Overview } from './overview.ts';
import { encodingFor, type Page } from './page.ts';
import { pinnedProfile } from './pinned.ts';
import { problemOf, sendProblem } from './problem.ts';
import { addRoutes } from './route.ts';
import { apiHeaders, securityHeaders } from './securityHeaders.ts';
import { addCronFireRoute } from './routes/cronFire.ts';
import { allRoutes } from './routes/table.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Who may call it; absent = signed in. */
    access?: Access;
    /** Its answers bring every header themselves (route.ts). */
    prepared?: boolean;
    /** A file comes in: it may take `limits.files.uploadMs`. */
    upload?: boolean;
  }
  interface FastifyRequest {
    /** Who asks; null on routes that ask nobody. */
    who: Identity | null;
  }
}

export interface Dashboard {
  context: WorkerContext;
  binding: Binding;
  token: SessionToken;
  gate: Gate;
  page: Page;
  overview: Overview;
  actions: Actions;
  /** Memory and disk of the machine. */
  host: () => HostFigures;
  /** The agent worker of a profile; started when it does not run. */
  agentOf(profile: ProfilePaths): Client;
}

export function buildHttp(dashboard: Dashboard): FastifyInstance {
  const { context, binding, gate } = dashboard;
  const app = fastify({
    logger: false,
    bodyLimit: limits.dashboard.bodyMaxBytes,
    requestTimeout: limits.files.uploadMs,
    forceCloseConnections: true,
    schemaController: withoutCompilers,
    // An address that cannot even be parsed: refused before any hook.
    frameworkErrors: (thrown, _request, reply) => void sendProblem(reply as FastifyReply, thrown),
  });

  // Contract §9: a route takes JSON, and a form of another site could send plain text.
  app.removeContentTypeParser('text/plain');
  app.server.maxConnections = limits.dashboard.socketsMax + limits.dashboard.strangersMax + limits.dashboard.requestsMax;
  app.server.headersTimeout = limits.dashboard.headMs;
  app.decorateRequest('who', null);
  app.addHook('onRequest', (request, reply, done) => {
    const { access = 'signedIn', upload = false, prepared = false } = request.routeOptions.config ?? {};
    if (!prepared) void reply.headers(isApi(request) ? apiHeaders : securityHeaders);
    // A target with a host in it is for proxies; this is none.
    if (!request.url.startsWith('/')) throw new AgentError('NOT_FOUND', 'there is no such address');
    if (!upload) endWhenSlow(request);
    if (access !== 'outside') checkOrigin(request.raw, binding);
    // Whatever is no route at all is a place of the page, which asks for the sign-in itself.
    if (access !== 'signedIn' || (request.is404 && !isApi(request))) return done();
    gate.admit(request.raw, reply).then((who) => {
      request.who = who;
      // oxlint-disable-next-line promise/no-callback-in-promise -- the public routes go the short way, without a promise
      done();
    }, done);
  });
  app.setErrorHandler((thrown, request, reply) => {
    logFailure(context.log, request, { thrown, from: gate.clients.addressOf(request.raw) });
    return sendProblem(reply.headers(isApi(request) ? apiHeaders : securityHeaders), thrown);
  });
  app.setNotFoundHandler((request, reply) => {
    if (isApi(request)) throw new AgentError('NOT_FOUND', `there is no ${request.method} ${pathOf(request)}`);
    return servePage(dashboard, request, reply);
  });

  addRoutes(app, allRoutes(dashboard), { home: context.home, pinned: pinnedProfile(context) });
  addCronFireRoute(app, dashboard);
  addSignInRoutes(app, dashboard);
  return app;
}

/** A body that trickles in holds a connection for `limits.dashboard.requestMs`, no longer. */
function endWhenSlow({ raw }: FastifyRequest): void {
  if (raw.complete || !('content-length' in raw.headers || 'transfer-encoding' in raw.headers)) return;
  const late = setTimeout(() => raw.destroy(), limits.dashboard.requestMs).unref();
  const over = () => clearTimeout(late);
  raw.once('end', over).once('close', over);
}

/** Requests are checked with zod: ajv and its sibling, loaded by default, would only cost memory. */
const withoutCompilers = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

const pathOf = (request: FastifyRequest): string => request.url.split('?', 1)[0]!;

/** By the route that serves it, not by its spelling: to the router `/%61pi/x` is `/api/x`. */
function isApi(request: FastifyRequest): boolean {
  const path = request.routeOptions.url ?? pathOf(request);
  return path === '/api' || path.startsWith('/api/');
}

function servePage(dashboard: Dashboard, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const { page, gate } = dashboard;
  const path = pathOf(request);
  if (request.method !== 'GET' && request.method !== 'HEAD') throw new AgentError('NOT_FOUND', `there is no ${request.method} ${path}`);
  const asset = page.asset(path);
  if (asset) {
    void reply.header('ETag', asset.etag).header('Vary', 'Accept-Encoding').type(asset.type);
    void reply.header('Cache-Control', asset.immutable ? 'public, max-age=31536000, immutable' : 'no-cache');
    if (request.headers['if-none-match'] === asset.etag) return reply.status(304).send();
    const { body, encoding } = encodingFor(asset, String(request.headers['accept-encoding'] ?? ''));
    return (encoding ? reply.header('Content-Encoding', encoding) : reply).send(body);
  }
  // A name with an extension is a file that does not exist, not a place of the page.
  if (/\.[a-z0-9]+$/i.test(path)) throw new AgentError('NOT_FOUND', `there is no ${path}`);
  if (gate.mode === 'signIn' && !gate.whoIs(request.raw))
    return reply.header('Cache-Control', 'no-store').redirect(loginAddress(request.url), 302);
  const { html, policy } = page.index(gate.mode === 'signIn' ? { signedIn: true } : { token: tokenFor(dashboard, request) });
  return reply
    .status(page.built ? 200 : 503)
    .headers({ 'Cache-Control': 'no-store', 'Content-Security-Policy': policy })
    .type('text/html; charset=utf-8')
    .send(html);
}

/**
 * On loopback the page is served with the token in it (interface spec, Authentication 1): whoever reads it is a
 * process of this user or his own browser, because the guard has refused foreign names and no other
 * site can read the answer (no CORS, same-origin resource policy). A proxy in front breaks that reasoning, and so does
 * another user of this machine: they, and any wider bind, must bring the token. The login address does.
 */
function tokenFor({ token, binding }: Dashboard, request: FastifyRequest): string | null {
  const forwarded = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'].some((name) => name in request.headers);
  // A proxy that adds none of these speaks HTTP/1.0 to us unless it was told otherwise; no browser does.
  if (binding.loopback && !forwarded && request.raw.httpVersion !== '1.0' && !isStranger(request)) return token.value;
  return token.matches(tokenOf(request.raw, new URLSearchParams(request.url.split('?', 2)[1]))) ? token.value : null;
}

function isStranger({ socket }: FastifyRequest): boolean {
  return isOtherUser({ theirs: socket.remotePort ?? 0, ours: socket.localPort ?? 0 });
}

/** Refusals are worth a line, defects a stack; neither gets the query, which may hold the token. */
function logFailure(log: Logger, request: FastifyRequest, { thrown, from }: { thrown: unknown; from: string }): void {
  const { status, code } = problemOf(thrown);
  const line = `${request.method} ${pathOf(request).slice(0, 200)} answered ${status} ${code}`;
  if (code === 'INTERNAL') log.error(line, errorFields(thrown));
  else if (status === 401 || status === 403)
    log.warn(line, { from, ...(thrown instanceof Error && thrown.cause ? { cause: messageOf(thrown.cause) } : {}) });
  else log.info(line);
}
